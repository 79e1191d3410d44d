#ifndef JS_BROKER_PRIVATE_H
#define JS_BROKER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/broker/protocol.h"

struct err;
struct proc;

enum { BROKER_TARGETS_MAX = 4096 };

struct broker_target {
	struct proc *proc;
	uid_t uid, euid; /* when it was added */
};

struct broker {
	int socket; /* -1: not started */
	pid_t child;
	int (*drop)(struct err *err); /* what the child gives up first; NULL: nothing */
	struct broker_target *targets;
	size_t n_targets;
};

/* The child: until the other end is closed, or sends what is no request. */
void broker_serve(struct broker *b, int socket);

/* What the answer to a request is: a descriptor, the caller's, or -errno; -EPROTO: no worker of this program asks that. */
int broker_open(struct broker *b, const struct broker_request *q);

#endif
