/*
 * A thread that does nothing but read the clock of its CPU, and counts how long it was kept from it: what an
 * interrupt costs a program, without what it does to its caches. For scripts/bench.
 *
 * usage: gaps FILE BYTES    BYTES of stack in use; FILE: struct counts, kept up to date
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
	BINS = 1000, /* of 0.1 us; what is longer was another thread's turn */
	GAP_MIN_NS = 1500,
	FRAME = 256,
};

struct counts {
	uint64_t gaps[BINS];
};

static struct counts *counts;
static double ticks_per_ns;
static volatile char sink;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void calibrate(void)
{
	uint64_t ns = now_ns(), ticks = __rdtsc();

	while (now_ns() - ns < 200000000)
		;
	ticks_per_ns = (double)(__rdtsc() - ticks) / (double)(now_ns() - ns);
}

static void spin(void)
{
	const uint64_t least = (uint64_t)(GAP_MIN_NS * ticks_per_ns);
	uint64_t before = __rdtsc();

	for (;;) {
		uint64_t now = __rdtsc(), bin;

		if (now - before > least) {
			bin = (uint64_t)((double)(now - before) / ticks_per_ns / 100);
			if (bin < BINS)
				counts->gaps[bin]++;
			now = __rdtsc();
		}
		before = now;
	}
}

/* Not by a tail call: the stack is what matters. */
static __attribute__((noinline)) void deep(long bytes)
{
	volatile char frame[FRAME];

	memset((char *)frame, 1, sizeof(frame));
	if (bytes > FRAME)
		deep(bytes - FRAME - 32);
	else
		spin();
	sink = frame[0];
}

static void *run(void *arg)
{
	deep(*(const long *)arg);
	return NULL;
}

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

int main(int argc, char **argv)
{
	long bytes = argc > 2 ? atol(argv[2]) : 6500;
	pthread_t other, thread;
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0 || ftruncate(fd, sizeof(*counts)) < 0)
		return 1;
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		return 1;
	calibrate();
	/* Its guard page comes behind the second one's stack, as among a JVM's threads. */
	if (pthread_create(&other, NULL, wait_for_ever, NULL) != 0 || pthread_create(&thread, NULL, run, &bytes) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	pthread_join(thread, NULL);
	return 0;
}
