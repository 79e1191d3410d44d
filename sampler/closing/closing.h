#ifndef JS_CLOSING_CLOSING_H
#define JS_CLOSING_CLOSING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct broker;
struct broker_admissions;
struct broker_command;
struct err;
struct opener;

/*
 * For commands that only read and write saved files: starts the opener, which knows all inputs and outputs, and
 * closes this process (sampler/closed/closed.h). Call before the first byte of input is parsed. 0 or -errno.
 */
int close_with(struct opener *o, struct err *err);

/* For commands that sample: the processes that keep the rights that this one gives up. Zero-initialise. */
struct closing {
	struct opener *opener; /* names the outputs */
	struct broker *broker; /* opens what belongs to targets */
	bool closed; /* this process is closed */
	bool unfiltered; /* but no filter of system calls was accepted */
};

/* Call before anything but outputs is opened. The caller then adds the outputs to c->opener. 0 or -errno. */
int closing_init(struct closing *c, struct err *err);
/* What the broker has to know about the targets. */
struct closing_targets {
	const pid_t *pids;
	size_t n;
	bool command; /* the only target is a command that was started here */
	bool follow; /* processes that the targets start are sampled, too */
	const struct broker_admissions *admissions; /* more targets come later (broker.h); NULL: none do */
};
/*
 * Without CAP_SYS_PTRACE, a process may be allowed to read only its descendants (Yama). Then a command is a child of
 * the broker, and closing_start_command() starts both; call it before closing_init(). `command` is borrowed for as long
 * as the broker runs. 0 or -errno.
 */
bool closing_starts_commands(void);
int closing_start_command(struct closing *c, bool follow, const struct broker_command *command, struct err *err);
/*
 * Forks those processes that do not exist yet; without closing_init(), only the broker. Call while single-threaded. 0
 * or -errno.
 */
int closing_fork(struct closing *c, const struct closing_targets *t, struct err *err);
/* What a process that only stops threads calls first (engine_options.confine_tracer). */
int closing_tracer(int socket, struct err *err);
/*
 * Call when everything is open, before the first byte of a target is parsed: closes this process. Call while
 * single-threaded. 0 or -errno.
 */
int closing_close(struct closing *c, struct err *err);
void closing_done(struct closing *c); /* call after the outputs are done */

/* For a child that looks at one process and has opened nothing of it: closing_fork(), closing_close(). 0 or -errno. */
int closing_for_one_process(struct closing *c, pid_t pid, struct err *err);
/* Logs which protections such children would lack here, because their own messages are lost. */
void closing_say_gaps(void);
/*
 * For a child that reads what the kernel says about processes, but parses nothing of theirs: keeps only the privileges
 * needed for this.
 */
void closing_for_names(void);

#endif
