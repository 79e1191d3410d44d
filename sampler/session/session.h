#ifndef JS_SESSION_SESSION_H
#define JS_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "sampler/engine/engine.h"
#include "sampler/profile/profile.h"
#include "sampler/resolve/resolver.h"
#include "sampler/session/bridge/bridge.h"

struct budget;
struct budget_pool;
struct err;
struct hotspot;
struct named_profile;
struct part_ops;
struct recording;
struct recording_writer;

/*
 * One profiling run of one process: connects target, engine, unwinder, profile and resolver. It
 * knows no command line and never exits; a program may have several.
 */
struct session;

struct session_options {
	/* NULL: perf, or suspend if perf is refused */
	const struct engine_ops *engine;
	const struct recording *replay; /* samples of a recording instead of a process (borrowed) */
	struct recording_writer *snapshot; /* records there everything that is read and sampled (borrowed) */
	uint64_t snapshot_samples; /* with `snapshot`: ends after this many; 0: no limit */
	const struct part_ops *observer; /* one more part (part.h); NULL: none */
	void *observer_ctx; /* its `part`, not NULL */
	/*
	 * Called in session_run(), between two samples; may call session_take(). Returns when to call it again at the
	 * latest (CLOCK_MONOTONIC). NULL: nothing
	 */
	uint64_t (*turn)(void *ctx, struct session *s);
	void *turn_ctx;
	struct engine_options engine_options;
	struct profile_options profile;
	uint64_t slice_ns; /* width of time slices that are counted separately; 0: none */
	uint64_t
		slice_lead_ns; /* the first slice begins this long before sampling, or before the last session_take() */
	struct naming_options show;
	enum bridge_mode bridge;
	/* Until its execve(2) the process runs this program's own code, so earlier samples are not the target's (perf
	 * engine). */
	bool launched;
	bool only_jvm; /* a process that has no libjvm.so mapped is refused; execve(2) ends sampling */
	bool one_program; /* execve(2) ends sampling: see session_executed() */
	bool follow; /* sample the processes that it starts, too (perf engine) */
	const pid_t *apart; /* except these, which have sessions of their own (borrowed) */
	size_t n_apart;
	const char *include_threads; /* extended regular expression, or NULL */
	const char *jsampler_command; /* for the meta data */
	bool command_line; /* store the whole command line of the target, which may hold secrets (command_line.h) */
	struct budget_pool
		*files; /* what this and other sessions may cost together (borrowed); NULL: there are no others */
};

/* What `sessions` sessions that are open at the same time may cost together: as much as a single one (readers.h). */
void session_files_pool(struct budget_pool *ret, size_t sessions);

/* `pid` is ignored with o->replay. */
int session_open(pid_t pid, const struct session_options *o, struct session **ret, struct err *err);
int session_start(struct session *s, struct err *err);
/* Samples until session_stop(), until the target ends, or for duration_ns (0: no limit). */
int session_run(struct session *s, uint64_t duration_ns, struct err *err);
void session_stop(struct session *s); /* async-signal-safe */
bool session_executed(const struct session *s); /* only_jvm, one_program: sampling was ended by execve(2) */

/* Counts so far, and the number of the target's threads. From any thread. */
struct session_live {
	uint64_t samples, lost, threads;
	uint64_t helper_cpu_ns; /* as in struct engine_stats */
	uint64_t children; /* processes that are followed */
};
struct session_live session_live(struct session *s);

/* The result so far, named. The caller frees it (named_profile_free()). */
int session_result(struct session *s, struct named_profile **ret, struct err *err);
/*
 * The same for what was counted since the last call, or since sampling began; counting then starts again. Readers and
 * copies stay, so this costs no more than naming what is new. To be called in the thread of session_run(), between two
 * samples (not from a part); not with children or a snapshot. On failure, nothing changes.
 */
int session_take(struct session *s, struct named_profile **ret, struct err *err);
/*
 * The same, but only if nothing was counted, and there are no names to leave behind; costs almost nothing. Most steps of
 * a JVM that does nothing are like that. false: call session_take().
 */
bool session_take_nothing(struct session *s);
/* The JVM (hotspot.h), to be used in the same thread; NULL: it is not a JVM, or cannot be read yet. */
struct hotspot *session_hotspot(struct session *s);
/* The same, but looks for it first: a target that has no samples is not looked at otherwise. Between two samples. */
struct hotspot *session_look_for_hotspot(struct session *s);
bool session_jvm_starts(const struct session *s); /* it is a JVM, and is to become readable */
/* From any thread: makes naming finish soon. Frames that have no name by then get none, and are counted. */
void session_end_naming(struct session *s);

/*
 * Frees the counted stacks once they are named, before outputs need as much memory again. Only session_summary() and
 * session_close() may follow.
 */
void session_forget_stacks(struct session *s);

/* Writes what o->snapshot collected; call after session_result(), whose reads belong to it. */
int session_write_snapshot(struct session *s, FILE *out, struct err *err);

/* Processes that the target started, and those that they started in turn. */
struct session_children {
	bool followed; /* if not, only cpu_ns and names are known */
	uint64_t processes, sampled; /* seen to start; with samples */
	/*
	 * Samples of processes that ended or could not be read before their first sample was looked
	 * at, or that were too many at the same time; and the weights of these samples.
	 */
	uint64_t unread, unread_weight;
	uint64_t refused; /* processes that were not followed because there were too many */
	uint64_t cpu_ns; /* of those that were waited for or still run */
	char names[80]; /* of some of them; "": not known */
};

struct session_summary {
	struct profile_totals totals;
	struct engine_stats engine;
	const char *engine_name;
	struct session_children children;
	char comm[64]; /* the target's name */
	uint64_t cpu_ns; /* CPU time of the target while it was sampled, by the kernel's account */
	uint64_t own_cpu_ns; /* jsampler's own; 0 of a hosted session, which has no process of its own */
	uint64_t
		first_stack_ns; /* from session_open() to the first walked stack, with its names; 0: none, or the target had yet to start */
	uint64_t elapsed_ns;
	bool is_jvm, target_ended;
	uint64_t unread; /* samples of a program that the target executed and that may not be read */
	/*
	 * What was not read of the target's files because it would cost too much; borrowed from the
	 * session.
	 */
	const struct budget *files;
};
struct session_summary session_summary(const struct session *s);
void session_close(struct session *s);

#endif
