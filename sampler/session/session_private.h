#ifndef JS_SESSION_SESSION_PRIVATE_H
#define JS_SESSION_SESSION_PRIVATE_H

#include <regex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/engine.h"
#include "sampler/profile/profile.h"
#include "sampler/readers/readers.h"
#include "sampler/session/parts/part.h"
#include "sampler/session/session.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/vec.h"

struct gone_code;
struct children;
struct heap_frames;
struct held_samples;
struct kallsyms;
struct last_cpu;
struct named_builder;
struct proc;
struct threads;
struct leftovers;
struct unsampled;
struct wall;

typedef VEC(struct named_profile *) named_profiles;

/*
 * What the files of a session share. session_open.c: everything that takes privileges; session.c: start, run, end;
 * session_sample.c: what the engine delivers; session_requests.c: what the engine is asked for; session_exec.c: one address
 * space after the other; session_take.c: one profile after the other; session_forget.c: frees copies of code and
 * methods; session_name.c: from keys to names, the result; session_bridge.c: the bridge in the target; children.c: the
 * processes that the target starts. Features that only observe samples are parts (part.h).
 */
struct session {
	atomic_bool naming_ends, stopped; /* set by any thread, or signal handler */
	struct session_options o;
	struct proc *proc; /* NULL: replay */
	pid_t pid;
	struct readers *readers;
	struct session *owner; /* of a child process: the target's session; otherwise NULL */
	struct session_children alone; /* children, if they are not followed */
	struct named_child { /* the first few */
		pid_t pid;
		char comm[16];
	} unfollowed_named[8];
	struct children *children; /* NULL: children are not followed, or this is one */
	struct budget *files, own_files; /* limit for the target, its children and their files */
	struct threads *threads;
	struct profile *profile;
	struct engine *engine;
	struct parts parts; /* in the order of their calls; some are also called by name: */
	struct wall *wall; /* -e wall only */
	struct leftovers *drawn; /* gets what engine_sink.rest() delivers; NULL: `unsampled` exists, or is of no use */
	struct last_cpu *last_cpu; /* of a child process, if `unsampled` exists */
	struct unsampled *unsampled; /* NULL: replay, snapshot, -e wall, and without engine_stats.by_thread_time */
	struct heap_frames *heap_frames; /* NULL: replay */
	struct held_samples *held; /* NULL: replay, and -e wall, where a later sample may refer to a held one */
	regex_t *only_threads; /* NULL: all */
	bool hosted; /* one of several sessions that share an engine and `kallsyms` */
	uint64_t same_ns; /* hosted: the program was still the same one then; CLOCK_MONOTONIC */
	uint64_t cut; /* hosted: session_hosted_cut() */
	struct kallsyms *kallsyms; /* opened while that is permitted; NULL: not permitted, not wanted, or the owner's */
	named_profiles epochs; /* what was sampled before an execve(), named */
	struct profile_totals old_totals; /* of these, and of what session_take() has returned */
	struct session_taken { /* what was known at the last session_take() */
		uint64_t ns, realtime_ns; /* 0: there was none */
		uint64_t lost;
		struct profile_totals totals;
		size_t named_threads; /* in the profile that began then */
	} taken;
	bool before_exec; /* launched command, not executed yet: see session_options.launched */
	bool executed; /* another program, which is not sampled */
	uint64_t named_cut; /* samples whose stacks the last naming cut to o.profile.depth */
	struct bridge *bridge; /* NULL: not used */
	struct gone_code *gone_code; /* finds code by time; NULL: no JVM, or no bridge */
	char comm[64];
	char command[4096];
	char program[4096]; /* path; "": unknown */
	char jdk[128];

	uint64_t opened_ns, started_ns, ended_ns;
	struct engine_stats final_stats; /* valid when ended_ns is set: all outputs show the same */
	uint64_t start_realtime_ns, cpu_start_ns, cpu_ns;
	uint64_t first_stack_ns, looked_for_jvm_ns;
	unsigned looks_at_start; /* of a JVM that was starting */
	uint64_t sliced_from_ns; /* start of the first time slice; 0: not yet known */
	uint64_t gone_since_ns; /* time of the first sample whose address space was gone; 0: none */
	bool was_jvm;
	bool unreadable; /* the program that the target has executed */
	uint64_t unread; /* samples of such programs */
	_Atomic uint64_t live_samples; /* for the live line of another thread */
};

/* session_open.c */
/* For a process that the target has started. children.c feeds it with samples of the owner's engine. */
int session_open_child(struct session *owner, pid_t pid, struct session **ret, struct err *err);
struct unwinder_options session_unwinder_options(const struct session *s);
void session_note_identity(struct session *s); /* reads name and command line of the process */
bool session_stops_threads(const struct session *s); /* its engine does */
void session_note_name(struct session *s); /* a part of it: the name that the kernel has for the process */

/* session.c */
void session_end_child(struct session *s); /* it has ended, or sampling has: no sample follows */
void session_find_jvm(struct session *s, uint64_t now);
uint64_t session_live_samples(const struct session *s);

/* session_bridge.c */
/* Needs privileges. Opens the bridge if it is wanted or already loaded. */
int session_open_bridge(struct session *s, struct err *err);
/* Connects once the JVM can be read. `wait`: returns when that has succeeded or failed. */
int session_use_bridge(struct session *s, bool wait, struct err *err);

/* session_sample.c */
bool session_add_sample_parts(struct session *s); /* false: out of memory */
struct engine_sink session_sink(struct session *s);
void session_process_held(struct session *s); /* walks and counts the samples that were held */

/* session_requests.c: which threads the engine samples. Before the engine is opened. */
int session_requests_open(struct session *s, struct err *err);
void session_requests_close(struct session *s);
void session_request_thread(struct session *s, pid_t tid, const char *comm); /* by its current name */
extern const struct part_ops session_requests_part; /* its `part` is the session */

/* session_exec.c */
void session_on_exec(struct session *s);
bool session_missed_exec(struct session *s, const struct raw_sample *sample);
void session_check_exec(struct session *s);

/* session_unfollowed.c: what is known of child processes that are not followed */
void session_unfollowed_begin(struct session *s);
void session_unfollowed_note(struct session *s, pid_t pid, const char *comm);
void session_unfollowed_end(struct session *s);

/* session_take.c */
struct profile *session_new_profile(const struct session *s); /* empty, with the same options; NULL: out of memory */
void session_replace_profile(struct session *s, struct profile *fresh); /* totals are kept */

void session_forget(struct session *s); /* session_forget.c: between two samples */

/* session_name.c */
int session_name_view(struct session *s, struct named_builder *b, bool process_root); /* ... as root frame */
/* Adds a named profile with its counts; `np` still belongs to the caller. 0 or -ENOMEM. */
int session_add_named(struct named_builder *b, struct named_profile *np);
/* Merges all into one, with slices of that width. -ENOMEM: they stay as they are. */
int session_merge_named(named_profiles *all, uint64_t slice_ns);

#endif
