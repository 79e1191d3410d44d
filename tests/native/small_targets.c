/*
 * What packages are tried on, for a glibc or another libc. SPIN names the function of the first:
 *	small_targets spin SECONDS	a function of its own
 *	small_targets zero SECONDS	time in the kernel
 *	small_targets brief SECONDS	threads that end after 1.5 ms
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef SPIN
#define SPIN spin_here
#endif
#define INLINED_NOWHERE __attribute__((noinline))

static volatile unsigned long sink;

static double cpu_seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void SPIN(void);
INLINED_NOWHERE void SPIN(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sink += i;
}

static void read_zeros(void)
{
	static char block[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < 100; i++)
		sink += (unsigned long)read(fd, block, sizeof(block));
	close(fd);
}

void *brief_here(void *arg);
INLINED_NOWHERE void *brief_here(void *arg)
{
	while (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) < 0.0015)
		for (unsigned long i = 0; i < 10000; i++)
			sink += i;
	return arg;
}

static void run_threads(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, brief_here, NULL))
			exit(1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? atof(argv[2]) : 0;
	void (*run)(void) = argc < 2                      ? NULL :
			    strcmp(argv[1], "zero") == 0  ? read_zeros :
			    strcmp(argv[1], "brief") == 0 ? run_threads :
							    SPIN;

	while (run && cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) < seconds)
		run();
	return 0;
}
