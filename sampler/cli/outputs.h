#ifndef JS_CLI_OUTPUTS_H
#define JS_CLI_OUTPUTS_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/cli/options.h"
#include "sampler/output/writer.h"

struct err;
struct named_profile;
struct outfile;

/*
 * The files a recording will write. Opened before the recording starts, so that a name that cannot
 * be written fails at once; they appear under their names only when complete.
 */
struct output {
	char path[4096]; /* with %p and %t replaced; "-": stdout */
	const struct writer *writer;
	struct outfile *file; /* NULL: stdout */
};

struct outputs {
	struct output list[MAX_OUTPUTS];
	size_t n;
};

/* pid: what %p stands for. -EINVAL: wrong usage; others: cannot be written. */
int outputs_open(const struct record_options *o, pid_t pid, struct outputs *ret, struct err *err);
/* Must a directory be written that only CAP_DAC_OVERRIDE lets us write (root, a user's own folder)? */
bool outputs_need_override(const struct outputs *outs);

/* Writes all; goes on after a failure: *err has the first, further ones are logged. */
int outputs_write(struct outputs *outs, const struct named_profile *np,
		  const struct writer_options *wo, struct err *err);
void outputs_done(struct outputs *outs); /* what was not written leaves nothing behind */

#endif
