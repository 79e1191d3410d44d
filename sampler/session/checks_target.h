#ifndef JS_SESSION_CHECKS_TARGET_H
#define JS_SESSION_CHECKS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/session/checks.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/target/proc.h"

struct attach;
struct engine;
struct view;

enum { CHECKS_ALL_MS = 9000 }; /* for the whole examination, besides the time in which the child waits for a CPU */

/* Inside of the checks of one process: what they share. */
struct checked {
	struct checks *c;
	struct proc *proc;
	struct proc_status st;
	struct view *view; /* NULL: no access */
	struct budget files; /* of it */
	struct engine *engine; /* NULL: perf events refused */
	struct attach *attach; /* NULL: no attach wanted, or not possible */
	const char *no_attach; /* why it was not even tried; NULL: it may be */
	uint64_t began_ns;
	int out; /* what is found goes there */
	size_t told; /* checks that went there */
	bool may_wake; /* SIGQUIT does no harm: caught, and attaching is not switched off */
};

void checks_jvm(struct checked *t); /* JDK, tables, symbols, records, attach */
void checks_stacks(struct checked *t); /* a short recording */
void checks_dump(struct checked *t); /* waiting threads against the JVM's own dump */

#endif
