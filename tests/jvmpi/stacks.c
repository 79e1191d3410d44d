/*
 * Suspends a thread again and again, with stacks=signal. Options: "WHAT FILE", the file being written when it is known;
 * WHAT is
 *
 *     calls    what the thread sees of it: how many of its system calls that can wait, and do not restart, were
 *              interrupted, how many were made, and whether its stack was shown meanwhile
 *     handler  the program takes SIGURG for itself: how many of the signals its handler gets after the next suspension
 *     closed   the program closes all that it did not open, and opens files of its own: how many of these are left
 *              when the thread has been suspended and has ended
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "tests/jvmpi/check.h"

enum { FIRST = 3, LAST = 1000, MANY = 5, ROUNDS_MAX = 20000 };

static struct {
	char what[16], path[4000];
	JNIEnv *_Atomic env;
	_Atomic bool stop;
	_Atomic long made, interrupted, others;
} o;

static void made(int r)
{
	o.made++;
	o.interrupted += r < 0 && errno == EINTR;
}

static void busy(void *arg)
{
	int pipes[2], epoll = epoll_create1(EPOLL_CLOEXEC);
	const struct timespec moment = {0, 1000};
	struct epoll_event event;
	volatile unsigned long sum = 0;

	(void)arg;
	if (pipe2(pipes, O_CLOEXEC))
		return;
	o.env = env_here();
	while (!o.stop) {
		struct pollfd fd = {pipes[0], POLLIN, 0};

		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
		for (int i = 0; i < 50; i++) {
			made(poll(&fd, 1, 0));
			made(epoll_wait(epoll, &event, 1, 0));
		}
		made(poll(&fd, 1, 1));
		made(nanosleep(&moment, NULL));
	}
	close(pipes[0]);
	close(pipes[1]);
	close(epoll);
	o.env = NULL;
}

static void spin(void *arg)
{
	volatile unsigned long sum = 0;

	(void)arg;
	o.env = env_here();
	while (!o.stop)
		sum++;
	o.env = NULL;
}

static void wait_for(bool there)
{
	for (int i = 0; i < 30000 && (o.env != NULL) != there; i++)
		usleep(1000);
}

/* Until it had run as often as is wanted, or n times: how often it had. */
static int suspend_until(int wanted, int n)
{
	int shown = 0;

	for (int i = 0; i < n && shown < wanted; i++) {
		JNIEnv *env = o.env;
		jint r = -1;

		usleep(2000);
		jvmpi->SuspendThreadList(1, &env, &r);
		if (r)
			continue;
		shown += jvmpi->ThreadHasRun(env);
		jvmpi->ResumeThreadList(1, &env, &r);
	}
	return shown;
}

static void begin(void (*f)(void *))
{
	char name[] = "busy";

	jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, f);
	wait_for(true);
}

static void end(void)
{
	o.stop = true;
	wait_for(false);
	usleep(100000); /* it ends in the JVM, too */
}

static void calls(void)
{
	int shown;

	begin(busy);
	shown = suspend_until(MANY, ROUNDS_MAX);
	end();
	say(o.path, "interrupted %ld, made %d, shown %d", o.interrupted, o.made > 1000, shown == MANY);
}

static void on_other(int sig)
{
	(void)sig;
	o.others++;
}

static void handler(void)
{
	const struct sigaction other = {.sa_handler = on_other};
	char text[96];
	int before, after;
	long once;

	begin(spin);
	before = suspend_until(MANY, ROUNDS_MAX);
	sigaction(SIGURG, &other, NULL);
	suspend_until(1, 1);
	once = o.others;
	after = suspend_until(MANY, ROUNDS_MAX);
	snprintf(text, sizeof(text), "before %d, then %ld, has run %d", before == MANY, o.others - once, after == MANY);
	end();
	say(o.path, "%s", text);
}

static void closed(void)
{
	int left = 0, opened = 0;

	begin(spin);
	suspend_until(MANY, ROUNDS_MAX);
	for (int fd = FIRST; fd < LAST; fd++) {
		char link[64], to[64] = "";

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (readlink(link, to, sizeof(to) - 1) > 0 && strstr(to, "perf_event")) {
			close(fd);
			opened += open("/dev/null", O_RDONLY | O_CLOEXEC) == fd;
		}
	}
	suspend_until(MANY, 100);
	end();
	for (int fd = FIRST; fd < LAST; fd++) {
		char link[64], to[64] = "";

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		left += readlink(link, to, sizeof(to) - 1) > 0 && !strcmp(to, "/dev/null");
	}
	say(o.path, "opened %d, lost %d", opened > 0, left < opened);
}

static void notify(JVMPI_Event *e)
{
	if (e->event_type != JVMPI_EVENT_JVM_INIT_DONE)
		return;
	if (!strcmp(o.what, "calls"))
		calls();
	if (!strcmp(o.what, "handler"))
		handler();
	if (!strcmp(o.what, "closed"))
		closed();
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	if (!options || sscanf(options, "%15s %3999s", o.what, o.path) != 2 || !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	jvmpi->NotifyEvent = notify;
	return jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL) ? JNI_ERR : JNI_OK;
}
