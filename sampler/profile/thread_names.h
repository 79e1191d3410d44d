#ifndef JS_PROFILE_THREAD_NAMES_H
#define JS_PROFILE_THREAD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"

struct strtab;

/* Last known name of every thread, including ended ones. Zero-initialise. */
struct thread_name {
	pid_t pid, tid;
	uint32_t name; /* into strings */
};

struct thread_names {
	VEC(struct thread_name) list;
	struct slots slots;
	struct strtab *strings;
};

/* false: out of memory, or `full`, which accepts no new names. */
bool thread_names_set(struct thread_names *t, pid_t pid, pid_t tid, const char *name, bool full);
const char *thread_names_get(const struct thread_names *t, pid_t pid, pid_t tid); /* NULL: none */
size_t thread_names_bytes(const struct thread_names *t);
void thread_names_done(struct thread_names *t);

#endif
