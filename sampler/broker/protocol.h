#ifndef JS_BROKER_PROTOCOL_H
#define JS_BROKER_PROTOCOL_H

#include <stdint.h>

/*
 * What a worker, which has no privileges, asks of the broker, which has (symbolizer/base/channel.h). Each request has one
 * answer; a code of 0 comes with a descriptor that is open for reading and nothing else. There are no paths and no PIDs:
 * targets are numbered from 0 in the order in which the program chose them, before the worker read anything.
 */

enum broker_what {
	BROKER_PROC, /* name, of the process */
	BROKER_TASK, /* name, of its thread `tid` */
	BROKER_MAPPED, /* the file that is mapped from start to end, as maps has it now */
	BROKER_PERF_MAP, /* /tmp/perf-PID.map in the target's root */
	BROKER_DEBUG_FILE, /* by build id, below /usr/lib/debug in the target's root */
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
	BROKER_SYSCALL,
	BROKER_NAMES
};

enum { BROKER_BUILD_ID_MAX = 64 };

struct broker_request {
	uint32_t what; /* enum broker_what */
	uint32_t target;
	uint32_t name; /* enum broker_name */
	int32_t tid;
	uint64_t start, end;
	uint32_t build_id_len;
	uint8_t build_id[BROKER_BUILD_ID_MAX];
	uint32_t unused;
};
_Static_assert(sizeof(struct broker_request) == 104, "no padding, which would have bytes of the sender's stack");

struct broker_answer {
	int32_t code; /* 0, or a negative errno */
};

#endif
