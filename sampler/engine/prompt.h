#ifndef JS_ENGINE_PROMPT_H
#define JS_ENGINE_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Threads that take samples at once: one a CPU, on that CPU alone, in the real-time class where that
 * is permitted. The sample of a CPU wakes its thread, which so runs in place of the sampled one: that
 * goes no further before its stack is read.
 */
struct prompt;

/* From the thread of that ring, whenever there may be something in it. */
typedef void prompt_fn(void *ctx, size_t ring);

/* `fds[i]` is readable when ring i, that of CPU cpus[i], has something. Both are copied. 0 or -errno. */
int prompt_start(const int *cpus, const int *fds, size_t n, prompt_fn *fn, void *ctx,
		 struct prompt **ret);
void prompt_stop(struct prompt *p); /* joins; NULL is accepted */

/* The calling thread ahead of others, as far as that is permitted: in the real-time class, or with a time slice of
 * PROMPT_SLICE_NS, the shortest that Linux grants. */
enum { PROMPT_SLICE_NS = 100000 };
void prompt_raise_priority(void);

/* For a while, the calling thread ahead of those that it shares its part of the machine with, its session say, as far as that
 * is permitted. Returns what prompt_calm() takes to end it. */
int prompt_hurry(void);
void prompt_calm(int before);

/* Is the calling thread in the real-time class? Then it runs as soon as it is woken, before what it interrupts goes on. */
bool prompt_is_ahead(void);

/* How often the calling thread has left its CPU. As long as this stays the same, nothing else has run there. */
uint64_t prompt_switches(void);

#endif
