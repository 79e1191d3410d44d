#ifndef JS_ENGINE_ENGINE_THREAD_H
#define JS_ENGINE_ENGINE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Engine threads, and how soon they get a CPU. */

/*
 * Starts an engine thread with all signals blocked, which leaves them to other threads. `name`: at most 15 bytes.
 * `stack_bytes`: 0 is the system's default. 0 or -errno.
 */
int engine_thread_start(pthread_t *ret, const char *name, size_t stack_bytes, void *(*body)(void *), void *arg);

/*
 * Puts the calling thread ahead of others as far as permitted: into the real-time class, or else to a higher priority
 * and a time slice of ENGINE_THREAD_SLICE_NS, the shortest that Linux grants.
 */
enum { ENGINE_THREAD_SLICE_NS = 100000 };
void engine_thread_raise_priority(void);

/*
 * The same temporarily, and only among the threads that share its part of the machine (its session, say). Returns the
 * argument for engine_thread_unboost().
 */
int engine_thread_boost(void);
void engine_thread_unboost(int before);

/* Is the calling thread in the real-time class, so that it runs as soon as it is woken, ahead of what it interrupts? */
bool engine_thread_is_realtime(void);

/* How often the calling thread has left its CPU. While this stays the same, nothing else has run there. */
uint64_t engine_thread_switches(void);

#endif
