#ifndef JS_ENGINE_ENGINE_THREAD_H
#define JS_ENGINE_ENGINE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Threads of engines, and how soon they get a CPU. */

/*
 * Starts a thread of an engine with all signals blocked: those are for other threads. `name`: at
 * most 15 bytes. `stack_bytes`: 0 is the system's default. 0 or -errno.
 */
int engine_thread_start(pthread_t *ret, const char *name, size_t stack_bytes, void *(*body)(void *), void *arg);

/*
 * Puts the calling thread ahead of others, as far as that is permitted: into the real-time class, else a higher priority and a
 * time slice of ENGINE_THREAD_SLICE_NS, the shortest that Linux grants.
 */
enum { ENGINE_THREAD_SLICE_NS = 100000 };
void engine_thread_raise_priority(void);

/*
 * The same for a while, and only among the threads that share its part of the machine (its session, say). Returns what
 * engine_thread_unboost() needs to end it.
 */
int engine_thread_boost(void);
void engine_thread_unboost(int before);

/* Is the calling thread in the real-time class? Then it runs as soon as it is woken, before what it interrupts goes on. */
bool engine_thread_is_realtime(void);

/* How often the calling thread has left its CPU. As long as this stays the same, nothing else has run there. */
uint64_t engine_thread_switches(void);

#endif
