/*
 * Large frames at the moment when nothing of them was touched yet: threads that have just been started move the stack
 * pointer some pages down, and work there. Two ways down that never mix; each returns soon.
 *
 * holes SECONDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STACK = 1 << 20, CALLS = 50, ROUNDS = 200000 };

/* In functions without frame pointer (-fomit-frame-pointer). */
#define WORK_BELOW(rounds)                                                                                             \
	__asm__ volatile("sub $40960, %%rsp\n .cfi_adjust_cfa_offset 40960\n1: dec %0\n jnz 1b\n add $40960, %%rsp\n"  \
			 ".cfi_adjust_cfa_offset -40960"                                                               \
			 : "+r"(rounds)                                                                                \
			 :                                                                                             \
			 : "memory", "cc")

__attribute__((noinline)) static void hole_left(long rounds)
{
	WORK_BELOW(rounds);
}

__attribute__((noinline)) static void hole_right(long rounds)
{
	WORK_BELOW(rounds);
}

__attribute__((noinline)) static int left(int i)
{
	hole_left(ROUNDS);
	return i + 1;
}

__attribute__((noinline)) static int right(int i)
{
	hole_right(ROUNDS);
	return i + 2;
}

static void *run(void *arg)
{
	int sum = 0;

	for (int i = 0; i < CALLS; i++)
		sum += left(i) + right(i);
	*(int *)arg = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	pthread_attr_t attr;
	int sum;

	/* Too large for the cache of stacks: each is new. */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * STACK);
	while (time(NULL) < end) {
		pthread_t t;

		if (pthread_create(&t, &attr, run, &sum))
			return 1;
		pthread_join(t, NULL);
	}
	return 0;
}
