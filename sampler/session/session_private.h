#ifndef JS_SESSION_SESSION_PRIVATE_H
#define JS_SESSION_SESSION_PRIVATE_H

#include <regex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/engine.h"
#include "sampler/profile/profile.h"
#include "sampler/session/session.h"
#include "sampler/session/view.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/vec.h"

struct by_time;
struct children;
struct compile_watch;
struct heap_frames;
struct held;
struct kallsyms;
struct named_builder;
struct proc;
struct threads;
struct virtual_names;
struct unsampled;
struct wall;

/*
 * What the files of a session share. session_open.c: with privileges, before any of it; session.c: from its
 * start to its end; session_sample.c: what the engine delivers; session_wish.c: what it is asked for;
 * session_exec.c: one address space after the other; session_forget.c: what of the JVM is not kept;
 * session_name.c: keys to names, the result; children.c: the processes that the target starts.
 */
struct session {
	atomic_bool naming_ends; /* set by any thread */
	struct session_options o;
	struct proc *proc; /* NULL: replay */
	pid_t pid;
	struct view *view;
	struct session *owner; /* of a child process that is followed: the session of the target; else NULL */
	struct session_children alone; /* children that are not followed */
	struct named_child { /* some of them */
		pid_t pid;
		char comm[16];
	} alone_named[8];
	struct children *children; /* NULL: not followed, or this is one */
	struct budget *files, own_files; /* what they, and all else that the target and its children make, may cost, in all views */
	struct threads *threads;
	struct profile *profile;
	struct compile_watch *compiles; /* of the view's JVM; NULL: none yet */
	struct engine *engine;
	struct wall *wall; /* wall-clock profiles only */
	struct unsampled *unsampled; /* NULL: replay, recordings, wall-clock profiles, and where it is not known (engine.h) */
	struct heap_frames *heap_frames; /* NULL: replay */
	struct held *held; /* NULL: replay; wall-clock profiles, where the next sample may say: as the one before */
	struct virtual_names *virtual_names; /* NULL: threads are no roots */
	regex_t *only_threads; /* NULL: all */
	uint64_t heap_refused; /* copies of frozen frames that made no sense */
	int kallsyms_fd; /* opened while it may be; -1: read, or not wanted */
	struct kallsyms *kallsyms; /* NULL: not permitted, or kernel frames not wanted */
	VEC(struct named_profile *) epochs; /* what was sampled before an execve(), named */
	struct profile_totals old_totals; /* of those */
	bool naming_epoch; /* it is not known yet whether children will have samples */
	bool before_exec; /* of a launched command: see session_options.launched */
	uint64_t named_cut; /* samples that the last naming cut to the depth asked for */
	struct bridge *bridge; /* NULL: not used */
	struct by_time *by_time; /* of the view's JVM and the bridge */
	char comm[64];
	char command[4096];
	char program[4096]; /* path; "": unknown */
	char jdk[128];

	uint64_t opened_ns, started_ns, ended_ns;
	struct engine_stats final_stats; /* when ended_ns is set: every output says the same */
	uint64_t start_realtime_ns, cpu_start_ns, cpu_ns;
	uint64_t first_stack_ns, looked_for_jvm_ns;
	uint64_t sliced_from_ns; /* begin of the first time slice; 0: not yet known */
	uint64_t gone_since_ns; /* time of the first sample whose address space was gone; 0: none */
	bool was_jvm;
	_Atomic uint64_t live_samples; /* for the live line of another thread */
};

/* session_open.c */
/* Of a process that the target has started: fed by the owner's engine, by children.c. */
int session_open_child(struct session *owner, pid_t pid, struct session **ret, struct err *err);
struct unwinder_options session_unwinder_options(const struct session *s);
void session_note_identity(struct session *s); /* the process's name and command line, now */

/* session.c */
/* Of a child process, when it has ended or sampling has: no sample follows. */
void session_end_child(struct session *s);
void session_find_jvm(struct session *s, uint64_t now);
/* `wait`: before sampling begins, so that what goes wrong is told in time. */
int session_use_bridge(struct session *s, bool wait, struct err *err);
uint64_t session_live_samples(const struct session *s);

/* session_sample.c */
struct engine_sink session_sink(struct session *s);
void session_give_held(struct session *s); /* walks and counts the samples that were held */

/* session_wish.c: what the engine is asked for, thread by thread. Before the engine is opened. */
int session_wish_open(struct session *s, struct err *err);
void session_wish_close(struct session *s);
/* By its name as it is now: is the thread to be sampled? */
void session_wish_thread(struct session *s, pid_t tid, const char *comm);
/* The walk lacked registers that are there when the thread is stopped. */
void session_wish_regs(struct session *s, const struct raw_sample *sample, const struct walk *w);

/* session_exec.c */
void session_on_exec(void *ctx, pid_t pid);
bool session_missed_exec(struct session *s, const struct raw_sample *sample);

/* session_alone.c: what is known of processes that the target starts and that are not followed. */
void session_begin_alone(struct session *s);
void session_on_child(void *ctx, pid_t parent, pid_t pid);
void session_note_alone(struct session *s, pid_t pid, const char *comm);
void session_end_alone(struct session *s);

/* session_forget.c: between two samples; frees what has become useless. */
void session_forget(struct session *s);

/* session_name.c */
void session_read_kallsyms(struct session *s);
int session_name_view(struct session *s, struct named_builder *b);
int session_merge_epochs(struct session *s); /* into one; 0 or -ENOMEM, which leaves them as they are */

#endif
