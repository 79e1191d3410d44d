/*
 * eintr_churn MODE SECONDS: processes that change while they are sampled. Prints "MODE done N bad M".
 *
 * threads: threads that begin and end, as many as possible; fork, vfork: children that end at once, beside
 * threads that compute; exec: calls execve() with eight busy threads, again and again (N times).
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUSY = 8, CREATORS = 2, EXEC_US = 20000 };

static _Atomic bool stop;
static _Atomic unsigned long done, bad;

static void *busy(void *arg)
{
	volatile unsigned x = 1;

	while (!stop)
		x = x * 5 + 1;
	return arg;
}

static void *nothing(void *arg)
{
	done++;
	return arg;
}

static void *create(void *arg)
{
	pthread_t t;

	while (!stop)
		if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
			bad++;
	return arg;
}

static void wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		bad++;
	done++;
}

static void *do_fork(void *arg)
{
	while (!stop) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		wait_for(child);
	}
	return arg;
}

static void *do_vfork(void *arg)
{
	while (!stop) {
		pid_t child = vfork();

		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		wait_for(child);
	}
	return arg;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* argv: exec END_MS N */
static int do_exec(char **argv)
{
	char n[32];
	pthread_t t;

	if (now_ms() >= atol(argv[2])) {
		printf("exec done %s bad 0\n", argv[3]);
		return 0;
	}
	for (int i = 0; i < BUSY; i++)
		pthread_create(&t, NULL, busy, NULL);
	usleep(EXEC_US);
	snprintf(n, sizeof(n), "%ld", atol(argv[3]) + 1);
	execl("/proc/self/exe", argv[0], "exec", argv[2], n, (char *)NULL);
	return 1;
}

int main(int argc, char **argv)
{
	void *(*body)(void *);
	pthread_t t[CREATORS + 1];
	char end[32];
	int n;

	if (argc == 4)
		return do_exec(argv);
	if (argc != 3)
		return 2;
	puts("ready");
	fflush(stdout);
	if (strcmp(argv[1], "exec") == 0) {
		snprintf(end, sizeof(end), "%ld", now_ms() + atol(argv[2]) * 1000);
		return do_exec((char *[]){argv[0], "exec", end, "0", NULL});
	}
	body = strcmp(argv[1], "threads") == 0 ? create : strcmp(argv[1], "fork") == 0 ? do_fork : do_vfork;
	n = body == create ? CREATORS : 1;
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, body, NULL);
	pthread_create(&t[n], NULL, busy, NULL);
	sleep((unsigned)atoi(argv[2]));
	stop = true;
	for (int i = 0; i <= n; i++)
		pthread_join(t[i], NULL);
	printf("%s done %lu bad %lu\n", argv[1], done, bad);
	return 0;
}
