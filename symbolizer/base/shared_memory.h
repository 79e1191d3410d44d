#ifndef JS_BASE_SHARED_MEMORY_H
#define JS_BASE_SHARED_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

/* Whole pages, zeroed, that this process shares with the children that it forks. NULL: out of memory. */
void *shared_memory_new(size_t size);
void shared_memory_free(void *p, size_t size); /* p NULL: nothing */

/* Children that are forked from now on do not get it, except with shared_memory_fork(). */
void shared_memory_hide(void *p, size_t size);
/* fork(2); the child gets these hidden pages. */
pid_t shared_memory_fork(void *p, size_t size);

#endif
