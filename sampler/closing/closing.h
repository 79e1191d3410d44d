#ifndef JS_CLOSING_CLOSING_H
#define JS_CLOSING_CLOSING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct broker;
struct err;
struct opener;

/*
 * For commands that only read and write saved files: starts the opener, which knows all inputs and outputs, and
 * closes this process (sampler/closed/closed.h). Call before the first byte of input is parsed. 0 or -errno.
 */
int close_with(struct opener *o, struct err *err);

/*
 * For commands that sample: the processes that keep what this one gives up. Zero-initialise.
 */
struct closing {
	struct opener *opener; /* names the outputs */
	struct broker *broker; /* opens what belongs to targets; NULL: this process stays open */
	bool closed; /* this process is */
};

/* Before anything is opened but outputs. The caller tells c->opener of the outputs then. 0 or -errno. */
int closing_init(struct closing *c, struct err *err);
/* What the broker is to know of the targets. */
struct closing_targets {
	const pid_t *pids;
	size_t n;
	bool command; /* the only one is a command that was started here */
	bool follow; /* what they start is sampled, too */
};
/* Forks both; without closing_init(), the broker alone. Call with one thread. 0 or -errno. */
int closing_fork(struct closing *c, const struct closing_targets *t, struct err *err);
/*
 * When everything is open, before the first byte of a target is parsed: closes this process; or gives up what it does not need, if
 * it stops threads itself (tracing), or its broker could not do its work. Call with one thread. 0 or -errno.
 */
int closing_close(struct closing *c, bool tracing, struct err *err);
void closing_done(struct closing *c); /* after the outputs */

/* In a child that looks at one process, and has opened nothing of it: both at once. 0 or -errno. */
int closing_to_one(struct closing *c, pid_t pid, struct err *err);
/* In a child that looks at what the kernel tells of many processes, and parses nothing of theirs: keeps what reading takes. */
void closing_to_names(void);

#endif
