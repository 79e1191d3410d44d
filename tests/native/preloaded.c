/*
 * A library for LD_PRELOAD, whose thread works in a function of its own and in the kernel. Its file is removed after the
 * start by packages_daemon.py, so its function is named only by who may read map_files.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static volatile unsigned sink;

static __attribute__((noinline)) void removed_here(void)
{
	for (unsigned i = 0; i < 3000000; i++)
		sink += i;
}

static void *work(void *fd)
{
	static char page[1 << 20];

	for (;;) {
		removed_here();
		for (int i = 0; i < 20; i++)
			if (read((int)(long)fd, page, sizeof(page)) < 0)
				return NULL;
	}
}

static __attribute__((constructor)) void begin(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, (void *)(long)open("/dev/zero", O_RDONLY | O_CLOEXEC));
}
