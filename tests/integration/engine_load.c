/*
 * What the perf engine is tested on: `engine_load SCENARIO [THREADS] [SECONDS]`.
 * Prints "ready" when its threads run. Ends after SECONDS or when stdin is closed.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool over;
static volatile unsigned long sink;

static unsigned long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}

static void burn(unsigned long ns)
{
	unsigned long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 2000; i++)
			sink += (unsigned long)i;
}

static void *spin(void *arg)
{
	(void)arg;
	while (!atomic_load(&over))
		for (int i = 0; i < 10000; i++)
			sink += (unsigned long)i;
	return NULL;
}

/*
 * Runs 0.2 ms at a time. Without slack: a sleep that may end 50 us later ends with the next interrupt, which often is that
 * of a sample, just after it.
 */
static void *bursts(void *arg)
{
	unsigned seed = (unsigned)(unsigned long)arg + 1;

	prctl(PR_SET_TIMERSLACK, 1ul);
	while (!atomic_load(&over)) {
		struct timespec pause = {0, 100000 + rand_r(&seed) % 400000};

		burn(200000);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Faults, switches and migrations: some thousand, some hundred, and as many a second. */
static void *stir(void *arg)
{
	struct timespec pause = {0, 1000000};
	cpu_set_t all, one;

	(void)arg;
	if (sched_getaffinity(0, sizeof(all), &all))
		return NULL;
	for (unsigned i = 0; !atomic_load(&over); i++) {
		size_t len = 8 << 12;
		char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return NULL;
		madvise(p, len, MADV_NOHUGEPAGE);
		for (size_t k = 0; k < len; k += 4096)
			p[k] = 1;
		munmap(p, len);
		nanosleep(&pause, NULL);
		for (int c = 0, left = CPU_COUNT(&all) > 1 ? (int)(i % 2) : 0; c < CPU_SETSIZE; c++)
			if (CPU_ISSET(c, &all) && left-- == 0) {
				CPU_ZERO(&one);
				CPU_SET(c, &one);
				sched_setaffinity(0, sizeof(one), &one);
				break;
			}
	}
	return NULL;
}

static void *idle(void *arg)
{
	(void)arg;
	while (!atomic_load(&over))
		sleep(1);
	return NULL;
}

static void *burn_3ms(void *arg)
{
	(void)arg;
	burn(3000000);
	return NULL;
}

/* Makes threads that live for 3 ms of CPU time. */
static void *churn(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		pthread_t t;

		if (pthread_create(&t, NULL, burn_3ms, NULL) == 0)
			pthread_join(t, NULL);
	}
	return NULL;
}

static __attribute__((noinline)) unsigned long deep(int n)
{
	volatile char room[200];

	room[n % 200] = (char)n;
	if (n > 0)
		return deep(n - 1) + (unsigned long)room[n % 200];
	burn(2000000);
	return sink;
}

static void *recurse(void *arg)
{
	int depth = (int)(long)arg;

	while (!atomic_load(&over))
		sink += deep(depth);
	return NULL;
}

static atomic_int depth = 20; /* frames; some 5 KB */

static void deepen(int sig)
{
	(void)sig;
	atomic_store(&depth, 100);
}

/* Shallow until SIGUSR1. */
static void *recurse_later(void *arg)
{
	while (!atomic_load(&over))
		sink += deep(atomic_load(&depth));
	return arg;
}

static void start(void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 20);
	if (pthread_create(&t, &attr, fn, arg)) {
		perror("pthread_create");
		exit(1);
	}
}

/* Threads that are born while the process is being sampled. */
static void *start_late(void *arg)
{
	sleep(2);
	for (long i = 0; i < (long)arg; i++)
		start(spin, NULL);
	return NULL;
}

static void run_for(double seconds)
{
	struct pollfd p = {0, POLLIN, 0};

	puts("ready");
	fflush(stdout);
	while (poll(&p, 1, (int)(seconds * 1000)) < 0) /* a signal */
		;
	atomic_store(&over, true);
}

static void fork_burner(double seconds)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm((unsigned)seconds + 1);
		burn((unsigned long)(seconds * 1e9));
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "spin";
	int threads = argc > 2 ? atoi(argv[2]) : 2;
	double seconds = argc > 3 ? atof(argv[3]) : 10;

	for (int i = 0; i < threads; i++) {
		if (!strcmp(what, "spin") || !strcmp(what, "fork") || !strcmp(what, "exec"))
			start(spin, NULL);
		else if (!strcmp(what, "burst"))
			start(bursts, (void *)(long)i);
		else if (!strcmp(what, "stir"))
			start(stir, NULL);
		else if (!strcmp(what, "churn"))
			start(churn, NULL);
		else if (!strcmp(what, "deep"))
			start(recurse, (void *)200L);
		else if (!strcmp(what, "deepens") && signal(SIGUSR1, deepen) != SIG_ERR)
			start(recurse_later, NULL);
		else if (!strcmp(what, "deeper"))
			start(recurse, (void *)1500L);
		else if (!strcmp(what, "many")) /* 8 of them run */
			start(i < 8 ? bursts : idle, (void *)(long)i);
		else if (strcmp(what, "idle") && strcmp(what, "late"))
			return 2;
	}
	if (!strcmp(what, "late"))
		start(start_late, (void *)(long)threads);
	if (!strcmp(what, "idle"))
		for (int i = 0; i < threads; i++)
			start(idle, NULL);
	if (!strcmp(what, "fork"))
		fork_burner(seconds);
	if (!strcmp(what, "exec")) {
		run_for(seconds / 3);
		execl("/proc/self/exe", "engine_load", "spin", "1", "60", NULL);
		return 1;
	}
	run_for(seconds);
	return 0;
}
