#ifndef JS_TESTS_JVM_TARGET_H
#define JS_TESTS_JVM_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hotspot;
struct mem;
struct proc;

/* A running JVM opened by nothing but libelf and the modules below symbolizer/hotspot. */
struct jvm_target {
	struct proc *proc;
	struct mem *mem;
	struct jvm_symbols *symbols; /* of libjvm.so, run-time addresses */
};

int jvm_target_open(pid_t pid, struct jvm_target *ret); /* prints what went wrong */
void jvm_target_close(struct jvm_target *t);

/* A hs_symbol_fn; ctx is the jvm_target. */
bool jvm_target_symbol(void *ctx, const char *name, uint64_t *ret);

#endif
