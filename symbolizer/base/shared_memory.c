#include "symbolizer/base/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

void *shared_memory_new(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void shared_memory_free(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

void shared_memory_hide(void *p, size_t size)
{
	madvise(p, size, MADV_DONTFORK);
}

pid_t shared_memory_fork(void *p, size_t size)
{
	pid_t child;

	madvise(p, size, MADV_DOFORK);
	child = fork();
	if (child)
		madvise(p, size, MADV_DONTFORK);
	return child;
}
