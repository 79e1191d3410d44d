#ifndef JS_BROKER_PROTOCOL_H
#define JS_BROKER_PROTOCOL_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "symbolizer/base/channel.h"
#include "symbolizer/target/deputy.h"

/*
 * Requests from a worker, which has no privileges, to the broker, which has (symbolizer/base/channel.h). Each request
 * has one answer; a descriptor that comes with it is open for reading only, except those of events and channels. Only
 * the answer to BROKER_EVENTS has more than one.
 * Processes are numbered from 0 in the order in which the program chose them, before the worker read anything; those
 * that they started get numbers when asked for by PID. Paths are checked by the rules in rules.c.
 */

enum broker_what {
	BROKER_ALLOW_EVENT, /* allows attr.type, attr.config. Only before all other requests */
	BROKER_CONNECT, /* a channel for one more thread, which does not wait for other threads' requests */
	BROKER_FIND, /* the process with PID `tid`, if it is a target, or was started by one: its number and a pidfd */
	BROKER_RELEASE, /* undoes one BROKER_FIND of `target` */
	BROKER_PROC, /* name, of the process */
	BROKER_TASK, /* name, of its thread `tid` */
	BROKER_DESCENDANTS, /* PIDs of its descendants, as an array of int32_t */
	BROKER_MAPPED, /* the file mapped at `start`, if it is `inode` on that device according to the present maps */
	BROKER_PATH, /* perf map or debug file, in the target's root */
	BROKER_HOST_PATH, /* debug file of this host, by build ID */
	/* perf_event_open(2) of attr in the first `name` of `places`, see struct deputy; the eBPF program comes with it */
	BROKER_EVENTS,
	BROKER_SCHEDULE, /* thread `tid` of the worker: real time if name is 1, otherwise the nice value in `cpu` */
	BROKER_SIGNAL, /* sends SIGTERM or SIGHUP (`tid`) to the command that this program has started */
	BROKER_OWN_STAT, /* the file `stat` in proc(5) of the thread that answers: shows whether it waits for a file or for a CPU */
	BROKER_WHATS
};

/* proc(5). */
enum broker_name {
	BROKER_MEM,
	BROKER_MAPS,
	BROKER_STAT,
	BROKER_STATUS,
	BROKER_CMDLINE,
	BROKER_COMM,
	BROKER_SCHEDSTAT,
	BROKER_SYSCALL, /* its text, in a file */
	BROKER_CHILDREN,
	BROKER_CGROUP,
	BROKER_TASKS, /* the directory */
	BROKER_EXE, /* the text of the link, in a file */
	BROKER_ENVIRON, /* what service_names.h keeps of it, in a file */
	BROKER_NS_PID, /* opened with O_PATH, as are the next three */
	BROKER_NS_MNT,
	BROKER_NS_USER,
	BROKER_NS_NET,
	BROKER_NAMES
};

enum { BROKER_PATH_MAX = 1024 };

struct broker_request {
	uint32_t what; /* enum broker_what */
	uint32_t target;
	uint32_t name; /* enum broker_name, or a number */
	int32_t tid;
	int32_t cpu;
	uint32_t dev_minor, dev_major, unused;
	uint64_t start, inode;
	struct perf_event_attr attr;
	union {
		char path[BROKER_PATH_MAX]; /* with its NUL */
		struct event_place places[EVENT_PLACES_MAX];
	};
};
_Static_assert(sizeof(struct broker_request) == 48 + sizeof(struct perf_event_attr) + BROKER_PATH_MAX,
	       "no padding, which would contain bytes of the sender's stack");

struct broker_answer {
	int32_t code; /* 0, or a negative errno */
	uint32_t
		target; /* its number; of BROKER_EVENTS: how many descriptors come with the answer, even if one failed */
};
_Static_assert((int)EVENT_PLACES_MAX <= (int)CHANNEL_FDS_MAX, "one answer has them all");

#endif
