/*
 * eintr_signals SECONDS: a program that lives on signals. SIGTERM ends it too. Prints one line a way:
 *
 *     faults done 81234 bad 0
 *     queued done 54321 bad 0
 *     woken done 4321 bad 0
 *     quit done 1234 bad 0
 *
 * faults: SIGSEGV with its address; queued: real-time signals with numbers, all and in their order;
 * woken: each signal ends one epoll_wait with EINTR; quit: SIGQUIT to the process, one by one.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { IN_FLIGHT = 64, PAGE = 4096 };

struct tally {
	_Atomic uint64_t done, bad;
};

static struct tally faults, queued, woken, quits;
static _Atomic uint64_t received, wakes, quits_seen, woken_up;
static _Atomic bool stop;
static _Atomic bool all_queued; /* and received, or given up: a thread that ends takes its signals along */
static char *page;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_addr != page + 8)
		faults.bad++;
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void on_queued(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if ((uint64_t)info->si_value.sival_int != (received & 0x7fffffff) || info->si_code != SI_QUEUE)
		queued.bad++;
	received++;
}

static void on_wake(int sig)
{
	(void)sig;
	wakes++;
}

static void on_quit(int sig)
{
	(void)sig;
	quits_seen++;
}

static void *fault_thread(void *arg)
{
	while (!stop) {
		mprotect(page, PAGE, PROT_NONE);
		((volatile char *)page)[8] = 1;
		faults.done++;
	}
	return arg;
}

static void *queued_thread(void *arg)
{
	volatile uint64_t x = 0;

	while (!all_queued)
		x = x * 3 + 1;
	return arg;
}

static void *woken_thread(void *arg)
{
	int fd = epoll_create1(0);
	struct epoll_event e;

	while (!stop) {
		/* Longer than a machine stands still. */
		int r = epoll_wait(fd, &e, 1, 200000);

		if (r != -1 || errno != EINTR) {
			if (!stop)
				woken.bad++;
		} else {
			woken_up++;
		}
	}
	close(fd);
	return arg;
}

static void pause_us(long us)
{
	struct timespec t = {0, us * 1000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Each signal must have its EINTR; one more than signals would be somebody else's. The wake may come before
 * the thread is in the call again: then it is sent once more. */
static void wake_one(pthread_t t)
{
	uint64_t sent = wakes, up = woken_up;

	pthread_kill(t, SIGUSR1);
	for (int i = 0; i < 20000 && wakes == sent && !stop; i++)
		pause_us(100);
	if (wakes != sent + 1 && !stop)
		woken.bad++;
	/* Where others want the CPU, the thread may come back late from the call; counted with the next wake, it would be one
	 * too many there. */
	for (int i = 0; i < 100 && woken_up == up && !stop; i++)
		pause_us(200);
	pause_us(200);
	if (woken_up > up + 1)
		woken.bad++;
	woken.done++;
}

static void *waker(void *arg)
{
	pthread_t t = *(pthread_t *)arg;

	while (!stop)
		wake_one(t);
	return NULL;
}

static void *queuer(void *arg)
{
	pthread_t t = *(pthread_t *)arg;
	uint64_t sent = 0;

	while (!stop) {
		while (sent - received >= IN_FLIGHT && !stop)
			pause_us(50);
		if (pthread_sigqueue(t, SIGRTMIN + 5, (union sigval){.sival_int = (int)(sent & 0x7fffffff)}) == 0)
			sent++;
	}
	for (int i = 0; i < 20000 && received != sent; i++)
		pause_us(100);
	queued.done = sent;
	if (received != sent)
		queued.bad += sent - received;
	all_queued = true;
	return NULL;
}

static void *quitter(void *arg)
{
	while (!stop) {
		uint64_t seen = quits_seen;

		kill(getpid(), SIGQUIT);
		for (int i = 0; i < 20000 && quits_seen == seen; i++)
			pause_us(100);
		if (quits_seen != seen + 1)
			quits.bad++;
		quits.done++;
		pause_us(500);
	}
	return arg;
}

static void handle(int sig, void (*plain)(int), void (*full)(int, siginfo_t *, void *))
{
	struct sigaction a = {0};

	if (plain) {
		a.sa_handler = plain;
	} else {
		a.sa_sigaction = full;
		a.sa_flags = SA_SIGINFO;
	}
	sigaction(sig, &a, NULL);
}

static void on_term(int sig)
{
	(void)sig;
	stop = true;
}

/* In threads but `t`'s own SIGQUIT is blocked where a call would see it; SIGTERM is the first thread's. */
static pthread_t start(void *(*body)(void *), void *arg, bool quit)
{
	sigset_t set, old;
	pthread_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	sigdelset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	pthread_sigmask(quit ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, body, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return t;
}

static void print(const char *name, const struct tally *t)
{
	printf("%s done %llu bad %llu\n", name, (unsigned long long)t->done, (unsigned long long)t->bad);
}

int main(int argc, char **argv)
{
	pthread_t f, q, w, senders[3];
	struct timespec left;

	if (argc != 2)
		return 2;
	page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	handle(SIGSEGV, NULL, on_fault);
	handle(SIGRTMIN + 5, NULL, on_queued);
	handle(SIGUSR1, on_wake, NULL);
	handle(SIGQUIT, on_quit, NULL);
	handle(SIGTERM, on_term, NULL);
	f = start(fault_thread, NULL, false);
	q = start(queued_thread, NULL, true); /* SIGQUIT meets the one that computes */
	w = start(woken_thread, NULL, false);
	senders[0] = start(queuer, &q, false);
	senders[1] = start(waker, &w, false);
	senders[2] = start(quitter, NULL, false);
	puts("ready");
	fflush(stdout);
	left = (struct timespec){atoi(argv[1]), 0};
	while (!stop && nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	/* The senders first: what they wait for still has to come. */
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(senders[i], NULL);
	pthread_join(f, NULL);
	pthread_join(q, NULL);
	/* One that comes just before the thread waits does not wake it. */
	while (pthread_tryjoin_np(w, NULL) == EBUSY) {
		pthread_kill(w, SIGUSR1);
		pause_us(1000);
	}
	print("faults", &faults);
	print("queued", &queued);
	print("woken", &woken);
	print("quit", &quits);
	return 0;
}
