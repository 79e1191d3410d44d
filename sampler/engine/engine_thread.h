#ifndef JS_ENGINE_ENGINE_THREAD_H
#define JS_ENGINE_ENGINE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Starts a thread of an engine with all signals blocked: those are for the threads of others. `name`: at
 * most 15 bytes. `stack_bytes`: 0 is the system's default. 0 or -errno.
 */
int engine_thread_start(pthread_t *ret, const char *name, size_t stack_bytes, void *(*body)(void *),
			void *arg);

#endif
