#ifndef JS_SESSION_SESSION_H
#define JS_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "sampler/engine/engine.h"
#include "sampler/profile/profile.h"
#include "sampler/session/bridge.h"

struct budget;
struct err;
struct hotspot;
struct named_profile;
struct recording;
struct recording_writer;
struct walk;

/*
 * One profiling run of one process: wires target, engine, unwinder, profile and resolver. No
 * command line, no exit; several sessions may live in one program.
 */
struct session;

/* Told of every walk when it was made. hs is NULL while there is no JVM. */
typedef void session_walked_fn(void *ctx, const struct raw_sample *sample, const struct walk *w,
			       struct hotspot *hs);

struct session_options {
	/* NULL: perf, or suspend where perf is refused */
	const struct engine_ops *engine;
	const struct recording *replay; /* instead of a process: its samples (borrowed) */
	struct recording_writer *snapshot; /* note all that is read and sampled there (borrowed) */
	uint64_t snapshot_samples; /* then end after so many; 0: no limit */
	session_walked_fn *walked; /* NULL: none */
	void *walked_ctx;
	struct engine_options engine_options;
	struct profile_options profile;
	uint64_t slice_ns; /* keep time slices of that width apart; 0: none */
	bool kernel, raw_names, lines;
	bool thread_root, process_root, state_root;
	enum bridge_mode bridge;
	bool bridge_symbols; /* names of compiled code come from the bridge alone */
	/* Until its execve(2) the process runs this program's own code, so samples before that are not the target's (perf
	 * engine). */
	bool launched;
	bool follow; /* sample the processes that it starts, too (perf engine) */
	const pid_t *apart; /* but not these, which have sessions of their own (borrowed) */
	size_t n_apart;
	const char *include_threads; /* extended regular expression, or NULL */
	const char *jsampler_command; /* for the meta data */
	bool command_line; /* keep the target's whole: it may hold secrets (command_line.h) */
};

/* With o->replay, pid is not looked at. */
int session_open(pid_t pid, const struct session_options *o, struct session **ret,
		 struct err *err);
/* Does its engine stop threads: does ptrace(2) have to stay permitted (privs.h)? */
bool session_traces(const struct session *s);
int session_start(struct session *s, struct err *err);
/* Samples until session_stop(), the target's end or duration_ns (0: none). */
int session_run(struct session *s, uint64_t duration_ns, struct err *err);
void session_stop(struct session *s); /* async-signal-safe */

/* So far; threads: of the target, now. From any thread. */
struct session_live {
	uint64_t samples, lost, threads;
	uint64_t children; /* processes that are followed */
};
struct session_live session_live(struct session *s);

/* The result so far, named; the caller's (named_profile_free()). */
int session_result(struct session *s, struct named_profile **ret, struct err *err);
/* From any thread: naming ends soon; what has no name yet gets none, and is counted. */
void session_end_naming(struct session *s);

/*
 * What was counted is named: frees it, before outputs need as much memory again. Only session_summary() and
 * session_close() may follow.
 */
void session_forget_stacks(struct session *s);

/* Writes what o->snapshot collected; call after session_result(), whose reads belong to it. */
int session_write_snapshot(struct session *s, FILE *out, struct err *err);

/* Of processes that the target started, and those that they did. */
struct session_children {
	bool followed; /* else only cpu_ns and names are known */
	uint64_t processes, sampled; /* that were seen to start; that have samples */
	/* Samples of processes that had ended, or were not permitted to be read, before the first was looked at; beyond the limit of processes at a
	 * time. Their weights. */
	uint64_t unread, unread_weight;
	uint64_t refused; /* processes that were not followed: too many at a time */
	uint64_t cpu_ns; /* of those that were waited for, or are still there */
	char names[80]; /* of some; "": not known */
};

struct session_summary {
	struct profile_totals totals;
	struct engine_stats engine;
	const char *engine_name;
	struct session_children children;
	char comm[64]; /* the target's name */
	uint64_t cpu_ns; /* CPU time that the kernel accounted to the target in the meantime */
	uint64_t own_cpu_ns; /* ours */
	uint64_t first_stack_ns; /* from session_open() to the first walked stack; 0: none */
	uint64_t elapsed_ns;
	bool is_jvm, target_ended;
	/* What was not read of the target's files, because of its cost; borrowed from the session. */
	const struct budget *files;
};
struct session_summary session_summary(const struct session *s);
void session_close(struct session *s);

#endif
