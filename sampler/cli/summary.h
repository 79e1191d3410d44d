#ifndef JS_CLI_SUMMARY_H
#define JS_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct named_profile;
struct outputs;
struct session_live;
struct session_summary;

/* Updates the line shown while recording: time, samples, lost samples, jsampler's own CPU time. */
void summary_live_line(uint64_t elapsed_ns, const struct session_live *l, uint64_t own_cpu_ns);
void summary_live_line_clear(void);

/* Printed to stderr when the recording has ended. `unfiltered`: as in closing.h; `verbose`: number of -v. */
void summary_print(const struct session_summary *s, const struct named_profile *np, const struct outputs *outs,
		   bool unfiltered, int verbose);

#endif
