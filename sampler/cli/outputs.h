#ifndef JS_CLI_OUTPUTS_H
#define JS_CLI_OUTPUTS_H

#include <stdbool.h>
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
	size_t process; /* 0: of all processes; else only of the one with that number, from 1 */
};

struct outputs {
	struct output *list;
	size_t n;
};

/*
 * pids: what %p stands for; with several, each name that has it becomes one file a process. -EINVAL: wrong usage;
 * others: cannot be written.
 */
int outputs_open(const struct record_options *o, const pid_t *pids, size_t n_pids, struct outputs *ret,
		 struct err *err);
bool outputs_are_split(const struct outputs *outs); /* is one of them of a single process? */
/* Must a directory be written that only CAP_DAC_OVERRIDE lets us write (root, a user's own folder)? */
bool outputs_need_override(const struct outputs *outs);

/*
 * Writes all; goes on after a failure, *err has the first, further ones are logged. each: profiles of the processes,
 * in the order of `pids`; NULL where no output is split.
 */
int outputs_write(struct outputs *outs, const struct named_profile *np, struct named_profile *const *each,
		  const struct writer_options *wo, struct err *err);
void outputs_done(struct outputs *outs); /* what was not written leaves nothing behind */

#endif
