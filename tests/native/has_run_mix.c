/*
 * has_run_mix SECONDS: threads of every way to run or not to, named after it. Never signalled.
 * has_run_mix SECONDS RUNNING BLOCKED FILE: so many threads that compute and that wait; FILE holds what
 * each of the first has done so far, a u64 every 64 bytes.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int wake_fd, nothing[2], zero;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void running(void)
{
	volatile unsigned x = 1;

	for (;;)
		x = x * 7 + 1;
}

static void one_insn(void)
{
	for (;;)
		__asm__ volatile("1: jmp 1b");
}

static void in_epoll(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	for (;;)
		epoll_wait(fd, &e, 1, -1);
}

static void in_poll(void)
{
	struct pollfd p = {.fd = nothing[0], .events = POLLIN};

	for (;;)
		poll(&p, 1, -1);
}

static void in_read(void)
{
	char c;

	while (read(nothing[0], &c, 1) >= 0)
		;
}

static void in_futex(void)
{
	for (;;)
		syscall(SYS_futex, &zero, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void in_cond(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&m);
	for (;;)
		pthread_cond_wait(&never, &m);
}

static void in_mutex(void)
{
	pthread_mutex_lock(&held);
	pause();
}

static void in_sleep(void)
{
	for (;;)
		sleep(1000);
}

/* 50 us of work each 5 ms, then epoll_wait at the same place as before. */
static void short_burst(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	for (;;) {
		uint64_t until;

		epoll_wait(fd, &e, 1, 5);
		until = now_ns() + 50000;
		while (now_ns() < until)
			;
	}
}

static void waking(void)
{
	uint64_t n;

	while (read(wake_fd, &n, sizeof(n)) == sizeof(n))
		;
}

static void waker(void)
{
	uint64_t one = 1;

	for (;;) {
		usleep(3000);
		(void)!write(wake_fd, &one, sizeof(one));
	}
}

static const struct kind {
	const char *name;
	void (*body)(void);
} kinds[] = {
	{"running", running}, {"one-insn-loop", one_insn},  {"epoll", in_epoll}, {"poll", in_poll},
	{"read", in_read},    {"futex", in_futex},          {"cond", in_cond},   {"mutex", in_mutex},
	{"sleep", in_sleep},  {"short-burst", short_burst}, {"waking", waking},  {"waker", waker},
};

static void *start(void *arg)
{
	const struct kind *k = arg;

	prctl(PR_SET_NAME, k->name);
	k->body();
	return NULL;
}

enum { COUNTER = 64 };

static void *count(void *arg)
{
	volatile uint64_t *done = arg;
	unsigned x = 1;

	for (;;) {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("imul $69069, %0, %0" : "+r"(x));
		++*done;
	}
	return NULL;
}

static void *block(void *arg)
{
	in_poll();
	return arg;
}

static int work(char **argv)
{
	int running = atoi(argv[2]), fd = open(argv[4], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	size_t size = (size_t)running * COUNTER;
	pthread_attr_t small;
	pthread_t t;
	char *counters;

	if (running <= 0 || fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return 2;
	counters = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		return 2;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < running; i++)
		pthread_create(&t, &small, count, counters + (size_t)i * COUNTER);
	for (int i = 0; i < atoi(argv[3]); i++)
		pthread_create(&t, &small, block, NULL);
	puts("ready");
	fflush(stdout);
	sleep((unsigned)atoi(argv[1]));
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc == 5 && pipe(nothing) == 0)
		return work(argv);
	if (argc != 2 || pipe(nothing) < 0)
		return 2;
	wake_fd = eventfd(0, 0);
	pthread_mutex_lock(&held);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		pthread_create(&t, NULL, start, (void *)&kinds[i]);
	puts("ready");
	fflush(stdout);
	sleep((unsigned)atoi(argv[1]));
	return 0;
}
