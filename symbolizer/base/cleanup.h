#ifndef JS_BASE_CLEANUP_H
#define JS_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

/* The variable is released when it goes out of scope. Initialise it as empty. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void free_at_exit(void *pp)
{
	free(*(void **)pp);
}

static inline void close_at_exit(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void close_all(const int *fds, size_t n)
{
	while (n > 0)
		close(fds[--n]);
}

/* Yields the value and empties the variable, so that its cleanup does nothing. */
#define take_ptr(p)                                                                                                    \
	__extension__({                                                                                                \
		__auto_type t_ = (p);                                                                                  \
		(p) = NULL;                                                                                            \
		t_;                                                                                                    \
	})

static inline int take_fd(int *fd)
{
	int t = *fd;

	*fd = -1;
	return t;
}

#endif
