#ifndef JS_OUTPUT_FOLDED_LINES_H
#define JS_OUTPUT_FOLDED_LINES_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct named_profile;
struct writer_options;

/*
 * The folded lines of a profile: root first, `;` between frames, a space, the number of samples, a newline. Sorted by
 * frames in byte order; stacks with equal text are one line. The text is produced piece by piece: the whole would
 * take ten times the memory of the profile.
 */
typedef int folded_sink_fn(void *ctx, const char *bytes, size_t len); /* 0 or negative errno */

/* *ret_lines (may be NULL): number of lines. An error of the sink is returned without a message. */
int folded_lines(const struct named_profile *np, const struct writer_options *o, folded_sink_fn *sink, void *ctx,
		 uint64_t *ret_lines, struct err *err);

#endif
