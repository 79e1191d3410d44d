#ifndef JS_CLI_OUTPUTS_H
#define JS_CLI_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sampler/cli/options/options.h"
#include "sampler/output/writer.h"

struct err;
struct named_profile;
struct opener;
struct outfile;

/*
 * The files that a recording will write. They are opened before it starts, so that a bad name fails at once, and
 * appear under their names only when they are complete.
 */
struct output {
	char path[4096]; /* with %p and %t replaced; "-": stdout */
	const struct writer *writer;
	struct outfile *file; /* NULL: stdout */
	size_t process; /* 0: all processes; otherwise the process with that number, from 1 */
};

struct outputs {
	struct output *list;
	size_t n;
	struct opener *opener; /* gives the files their names, borrowed; NULL: this process does */
};

/*
 * pids: for %p; if there are several, each name with %p becomes one file per process. -EINVAL: wrong usage; other
 * errors: cannot be written.
 */
int outputs_open(const struct record_options *o, const pid_t *pids, size_t n_pids, struct outputs *ret,
		 struct err *err);
/* Lets the opener name them; call before opener_start(). 0 or -ENOMEM. */
int outputs_hand_over(struct outputs *outs, struct opener *o);
bool outputs_are_split(const struct outputs *outs); /* is one of them for a single process? */

/*
 * Writes all of them, even after a failure: *err has the first error, further ones are logged. each: profiles of the
 * processes, in the order of `pids`; NULL if no output is per process.
 */
int outputs_write(struct outputs *outs, const struct named_profile *np, struct named_profile *const *each,
		  const struct writer_options *wo, struct err *err);
void outputs_done(struct outputs *outs); /* unwritten files disappear */

#endif
