#ifndef JS_DOCTOR_CHECKS_TARGET_H
#define JS_DOCTOR_CHECKS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/closing/closing.h"
#include "sampler/doctor/checks.h"
#include "sampler/engine/engine.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/target/proc.h"

struct attach;
struct readers;

enum { CHECKS_ALL_MS = 9000 }; /* for the whole examination, without the time that the child waits for a CPU */

/* State shared by the checks of one process. */
struct checked {
	struct checks *c;
	struct proc *proc;
	struct proc_status st;
	struct readers *readers; /* NULL: no access */
	struct budget files; /* memory for its readers' files */
	struct engine *engine; /* NULL: perf events refused */
	struct attach *attach; /* NULL: attaching is not wanted, or impossible */
	const char *no_attach; /* why attaching is not tried; NULL: no reason against it */
	struct closing closing; /* its broker */
	uint64_t began_ns;
	int out; /* socket for sending checks */
	size_t n_sent; /* how many have been sent */
	bool ended; /* the process has, and that has been said */
	bool may_wake; /* SIGQUIT is harmless: it is caught, and attaching is not disabled */
};

/* A sink for recordings that need only samples. */
struct engine_sink checks_sink(void *ctx, void (*sample)(void *ctx, const struct raw_sample *s));

void checks_jvm(struct checked *t); /* JDK, tables, symbols, records, attach */
void checks_stacks(struct checked *t); /* a short recording */
void checks_dump(struct checked *t); /* waiting threads compared with the JVM's own dump */

#endif
