#ifndef JS_ENGINE_SUSPEND_TELL_H
#define JS_ENGINE_SUSPEND_TELL_H

#include <stdint.h>

#include "sampler/engine/suspend/suspend_msg.h"
#include "sampler/model/raw_sample.h"

struct suspend_thread;
struct suspend_tick;

/* What a tick tells the consumer, and how observations that are alike are told as one. */

void suspend_tell(struct suspend_tick *t, const struct suspend_msg *m);

/* A thread has not run since the tick before: one more observation as its last sample (wall only). */
void suspend_tell_still(struct suspend_tick *t, struct suspend_thread *th, enum thread_state state);
/* So it was in all ticks since th->told_tick, up to and with `tick`, which began at `ns`. */
void suspend_tell_idle(struct suspend_tick *t, struct suspend_thread *th, uint64_t tick, uint64_t ns);
/* What of that has not been told yet. */
void suspend_tell_again(struct suspend_tick *t, struct suspend_thread *th);

/* Wall-clock time since the thread's last sample, of which it is told once. */
uint64_t suspend_tell_elapsed(struct suspend_thread *th, uint64_t now_ns);

#endif
