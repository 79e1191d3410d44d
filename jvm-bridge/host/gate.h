#ifndef JS_BRIDGE_GATE_H
#define JS_BRIDGE_GATE_H

#include "jvm-bridge/host/event.h"

/* Waits during GC windows. false: do not send; the JVM is ending, or GC_FREES and GC is disabled. */
bool gate_enter(struct agent *a, struct thread *t, enum gc_mode mode, bool requested);
void gate_passed(struct agent *a, enum gc_mode mode); /* call right after gate_enter(), just before calling the agent */
void gate_leave(struct agent *a, enum gc_mode mode);
void gate_shut(struct agent *a, struct thread *t); /* only by the holder of the turn */
void gate_open(struct agent *a);
bool gate_quiet(struct agent *a); /* waits briefly until no GC_NOT event is in progress; false: still some */
bool gate_turn_take(struct agent *a, struct thread *t); /* false: another thread has it, or the JVM is ending */
void gate_turn_drop(struct agent *a);
bool gate_turn_wait(struct agent *a, uint64_t ns); /* until no thread has it; false: timeout */
bool gate_disabled(const struct thread *t); /* another thread has called DisableGC, for any agent */
/* A thread that has called DisableGC waits for a raw monitor of the calling thread, and cannot call EnableGC. */
bool gate_disabled_for_caller(void);
/* Runs f(arg) unless GC is disabled, and keeps it enabled meanwhile; f must not call the agent or the JVM. */
bool gate_free(const struct thread *t, void (*f)(void *), void *arg);
void gate_end(struct thread *t); /* from now on only t gets events; waits for those in progress, at most 2 s */
void gc_disable(struct agent *a);
void gc_enable(struct agent *a);
void gc_enable_all(struct thread *t); /* enables what an ending thread left disabled */

#endif
