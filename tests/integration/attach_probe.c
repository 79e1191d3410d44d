/*
 * The attach client by itself. usage: attach_probe [--wake] [--times N] [--cancel MS] PID COMMAND
 *                                     attach_probe [--wake] [--times N] PID load LIBRARY
 *                                     attach_probe [--wake] [--times N] PID loaded LIBRARY
 * Prints the answer, or what comes over the agent's connection; "failed: MESSAGE" and exit status 1.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jvm-bridge/attach/attach.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

static int ask(struct attach *a, bool wake, struct err *err)
{
	char *text;
	size_t len;
	int r = attach_ask(a, wake, &text, &len, err);

	if (r < 0)
		return r;
	if (text[len])
		abort();
	fwrite(text, 1, len, stdout);
	free(text);
	return 0;
}

static int load(struct attach *a, bool wake, struct err *err)
{
	char block[4096];
	int fd, code;
	ssize_t n;
	int r = attach_load(a, wake, &fd, &code, err);

	if (r < 0)
		return r;
	while ((n = read(fd, block, sizeof(block))) > 0)
		fwrite(block, 1, (size_t)n, stdout);
	close(fd);
	return 0;
}

static struct attach_task task_of(char **argv)
{
	if (strcmp(argv[1], "load") == 0)
		return (struct attach_task){.library = argv[2]};
	if (strcmp(argv[1], "loaded") == 0)
		return (struct attach_task){.loaded = argv[2]};
	return (struct attach_task){.command = argv[1]};
}

static unsigned cancel_ms; /* 0: never */

static void *cancel(void *a)
{
	usleep(cancel_ms * 1000);
	attach_cancel(a);
	return NULL;
}

static int once(struct proc *proc, char **argv, bool wake, struct err *err)
{
	const struct attach_task task = task_of(argv);
	struct attach *a = NULL;
	int r = attach_start(proc, &task, &a, err);
	pthread_t thread;
	bool started = r == 0 && cancel_ms && pthread_create(&thread, NULL, cancel, a) == 0;

	if (r == 0)
		r = task.command ? ask(a, wake, err) : load(a, wake, err);
	if (started)
		pthread_join(thread, NULL);
	attach_stop(a);
	return r;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	struct proc *proc;
	bool wake = false;
	int times = 1, r;

	for (; argc > 1 && argv[1][0] == '-'; argv++, argc--) {
		if (strcmp(argv[1], "--wake") == 0) {
			wake = true;
		} else if (strcmp(argv[1], "--times") == 0 && argc > 2) {
			times = atoi(argv[2]);
			argv++;
			argc--;
		} else if (strcmp(argv[1], "--cancel") == 0 && argc > 2) {
			cancel_ms = (unsigned)atoi(argv[2]);
			argv++;
			argc--;
		}
	}
	if (argc < 3 || (argc < 4 && strncmp(argv[2], "load", 4) == 0))
		return 2;
	r = proc_open(atoi(argv[1]), &proc, &err);
	for (int i = 0; r == 0 && i < times; i++) {
		r = once(proc, argv + 1, wake, &err);
		/* A sanitizer's _exit() writes what a child of fork() has inherited. */
		fflush(stdout);
	}
	if (r < 0)
		printf("failed: %s\n", err.msg);
	proc_close(proc);
	return r < 0;
}
