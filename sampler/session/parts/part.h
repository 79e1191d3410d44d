#ifndef JS_SESSION_PARTS_PART_H
#define JS_SESSION_PARTS_PART_H

#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/raw_sample.h"
#include "sampler/model/walk.h"

struct hotspot;
struct profile;
struct resolver_sources;
struct readers;

/* A sample whose stack was walked. */
struct sampled {
	const struct raw_sample *raw;
	struct walk *walk;
	int32_t ns_tid; /* in the target's PID namespace; 0: unknown */
	struct readers *readers;
	struct profile *profile; /* where it is counted */
	enum thread_state state; /* the state to count; a part may change it in walked() */
	uint32_t stack; /* number of the stack in the profile; in counted() only */
};

/*
 * A part of a session is a feature that observes its samples. The session calls its parts in the
 * order in which they were added, always in its own thread. A part leaves NULL the operations that
 * it does not need.
 */
struct part_ops {
	void (*before_walk)(void *part);
	void (*walked)(void *part, struct sampled *s); /* may add a root to the walk, or change the state */
	void (*counted)(void *part, const struct sampled *s);
	void (*thread_ended)(void *part, pid_t tid);
	/*
	 * Frees copies of code and methods that nothing needs (hotspot/forget.h): keep() says what the part still
	 * needs, then forgotten() is called.
	 */
	void (*keep)(void *part, struct hotspot *hs);
	void (*forgotten)(void *part, struct hotspot *hs);
	/* The stacks in `p` are about to be named: adds what the part knows. */
	void (*name)(void *part, const struct profile *p, struct resolver_sources *sources);
	/*
	 * The target has called execve(2): old samples are named, and the readers are about to be
	 * closed.
	 */
	void (*exec)(void *part);
	/* What was counted in `old` is named; counting begins anew in `fresh`, with other numbers of stacks and frames. */
	void (*renewed)(void *part, const struct profile *old, struct profile *fresh);
	void (*ended)(void *part); /* sampling has ended */
	void (*close)(void *part); /* the last call: frees the part */
};

struct part {
	const struct part_ops *ops;
	void *self;
};

enum { PARTS_MAX = 12 };

struct parts {
	struct part list[PARTS_MAX];
	size_t n;
};

/*
 * Adds a part, which is closed with the others. Returns false if `self` is NULL because it could not be created, or if
 * PARTS_MAX is reached.
 */
static inline bool parts_add(struct parts *p, const struct part_ops *ops, void *self)
{
	bool ok = self && p->n < PARTS_MAX;

	if (ok)
		p->list[p->n++] = (struct part){ops, self};
	return ok;
}

/* Calls one operation of all parts that have it: parts_call(&s->parts, thread_ended, tid). */
#define parts_call(parts, op, ...)                                                                                     \
	do {                                                                                                           \
		for (size_t part_i = 0; part_i < (parts)->n; part_i++) {                                               \
			const struct part *part_p = &(parts)->list[part_i];                                            \
			if (part_p->ops->op)                                                                           \
				part_p->ops->op(part_p->self __VA_OPT__(, ) __VA_ARGS__);                              \
		}                                                                                                      \
	} while (0)

#endif
