#ifndef JS_BROKER_PRIVATE_H
#define JS_BROKER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/broker/broker.h"
#include "sampler/broker/protocol.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/proc_owner.h"

struct broker_maps;
struct err;
struct perf_event_attr;
struct proc;
struct proc_status;

enum {
	BROKER_TARGETS_MAX = 4096,
	BROKER_CHANNELS_MAX = 1024,
	BROKER_MAPS_KEPT = 4, /* processes whose mappings are kept */
	BROKER_BYTES = 1 << 30, /* limit for all channels together */
	BROKER_COPY_MAX = 256 << 20, /* bytes of files that are being copied (far.c), for one user */
	BROKER_COPIES_MAX = 1 << 30, /* for all users */
	BROKER_OPENS_MAX = 256, /* files that are being opened or copied: each may block its thread forever */
	BROKER_OPENS_OF_USER = 64,
	BROKER_KIN = 4096, /* processes remembered after their end, because of those that they started */
	BROKER_REFUSAL = 64, /* the child's exit status, plus the number of the request that was against the rules */
};

struct broker_target {
	struct proc *proc; /* NULL: the number is free */
	pid_t pid;
	struct proc_owner owner; /* when it was added */
	uint32_t finds; /* BROKER_FIND without BROKER_RELEASE */
	uint32_t uses; /* broker_target_use() without broker_target_release() */
};

/* A process that is or was a target: processes that it started may have lost their parent. */
struct broker_kin {
	pid_t pid;
	uid_t uid;
	uint64_t start;
	char *cgroup; /* text of /proc/PID/cgroup when it was added; NULL: none */
};

/* A file that is being opened as a user, and copied if it is far. */
struct broker_opening {
	bool used;
	uid_t uid;
	uint64_t bytes; /* of the copy */
};

/* One per thread, from malloc(3). */
struct own_channel {
	int fd, stat; /* stat: of the broker's thread that answers (BROKER_OWN_STAT) */
};

struct broker {
	struct broker_admissions admissions; /* set NULL: all targets are known from the start */
	struct broker_command starts; /* start NULL: it starts none */
	/* In the worker: */
	int socket; /* -1: not started */
	pid_t child;
	pthread_mutex_t lock; /* worker: of `socket`; child: of targets and kin */
	pthread_key_t channel; /* struct own_channel */
	pid_t worker;
	atomic_bool hurried, end_said;
	_Atomic uint64_t late_ns; /* when a file system last did not answer in time; 0: not lately */
	_Atomic uint8_t late[BROKER_TARGETS_MAX + 1]; /* how often, by target; the last is for this host's files */
	int (*drop)(struct err *err); /* what the child gives up first; NULL: nothing */
	/* In the child: */
	struct broker_target targets[BROKER_TARGETS_MAX];
	size_t n_targets; /* numbers given so far */
	uint32_t n_chosen; /* the first of them: those that the program chose */
	struct broker_kin kin[BROKER_KIN];
	size_t n_kin; /* added so far; the oldest are overwritten */
	bool follow;
	int64_t command; /* the number of its target; -1: none */
	struct deputy_event events[DEPUTY_EVENTS];
	size_t n_events;
	atomic_bool begun; /* no more events are allowed */
	size_t n_channels; /* under `lock` */
	struct broker_opening openings[BROKER_OPENS_MAX]; /* under `lock` */
	pthread_mutex_t maps_lock;
	struct broker_maps *maps[BROKER_MAPS_KEPT];
};

/* The file's name in /proc/PID or /proc/PID/task/TID; NULL: not one that is opened. */
const char *broker_name(uint32_t name, bool task);

/* --- targets.c --- */

int broker_add_pid(struct broker *b, pid_t pid, uint32_t *ret, struct err *err);
/* The process with that PID, a target or started by one. It keeps its number until forgotten as often as found. */
int broker_target_find(struct broker *b, pid_t pid, uint32_t *ret);
/*
 * Is the target the process that was added, with no more rights than it had then? Release it if 0 is returned.
 * ret_status NULL: not asked now; broker_target_recheck() follows.
 */
int broker_target_use(struct broker *b, uint32_t number, struct broker_target **ret, struct proc_status *ret_status);
/*
 * To be called once something is open, since it may belong to a setuid program that the process executed before that.
 * `open_to_all`: /proc shows it to every user. 0 or -EPERM.
 */
int broker_target_recheck(const struct broker_target *t, bool open_to_all);
void broker_target_release(struct broker *b, uint32_t number);
void broker_target_forget(struct broker *b, uint32_t number);
/* From now on, processes that it started are not targets. */
void broker_kin_forget(struct broker *b, pid_t pid);

/* --- rules.c: what may be opened below a target's root, and which events --- */

/* "/tmp/perf-PID.map", "/etc/os-release", a debug file by build ID, or one next to a mapped file. */
int broker_open_path(struct broker *b, struct broker_target *t, const struct proc_status *st, const char *path);
int broker_open_host_path(const char *path);
/* As struct deputy's events(); -EPROTO: nothing was opened, because the worker may not request all of them. */
int broker_open_events(struct broker *b, const struct broker_request *q, int filter_fd, int *fds, size_t *ret_opened);

/* --- far.c --- */

/*
 * To be called around each opening of a file as that user, so that file systems that do not answer block few threads
 * and little memory. Returns a number for the two functions below, or -ETIMEDOUT: too many files do not answer.
 */
int broker_opening_begin(struct broker *b, uid_t uid);
void broker_opening_end(struct broker *b, int opening);
/*
 * `fd`, or a copy of the file (target_file_is_copy()) if it is on a file system that may not answer. Consumes fd, which
 * may be a negative errno. -ENOBUFS: too large for a copy, together with the copies being made for this user. May never
 * return.
 */
int broker_bring_near(struct broker *b, int opening, int fd);

/* --- admit.c --- */

/* Starts the thread that admits targets. 0 or -errno. */
int broker_admit_start(struct broker *b);

/* --- serve.c --- */

/* A file in memory, to be passed instead of a real one, or -errno. `flags`: further ones of memfd_create(2). */
int broker_memory_file(unsigned flags);

/* The child: serves until the other end is closed, or sends an invalid request. */
void broker_serve(struct broker *b, int socket);

#endif
