#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/perf/events/map_watch.h"
#include "symbolizer/base/err.h"

enum { PATIENCE_MS = 60000, FLOOD = 20000 };

static char dir[] = "/tmp/jsampler-maps-XXXXXX", wanted[80], other[80], longer[80];

static void map(const char *path, int prot, int times)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < times; i++) {
		void *p = mmap(NULL, 4096, prot, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED || munmap(p, 4096) < 0)
			_exit(1);
	}
	close(fd);
}

/* Maps files, and waits. */
static pid_t start(int flood)
{
	pid_t child = fork();

	if (child == 0) {
		map(other, PROT_READ | PROT_EXEC, 1 + flood);
		map(longer, PROT_READ | PROT_EXEC, 1);
		map(wanted, PROT_READ, 1);
		map(wanted, PROT_READ | PROT_EXEC, 2);
		for (;;)
			pause();
	}
	return child;
}

static bool is_readable(const struct map_watch *w, int ms)
{
	struct pollfd p[1024];
	size_t n = w->n < 1024 ? w->n : 1024;

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = w->fds[i], .events = POLLIN};
	return poll(p, n, ms) > 0;
}

/* All on one CPU, and so in one ring. */
static void open_or_skip(struct map_watch *w)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	if (map_watch_open(w, "libwanted.so", NULL) < 0) {
		map_watch_close(w);
		skip();
	}
}

static bool is_told_of(struct map_watch *w, pid_t pid, int rounds)
{
	pid_t pids[8];

	for (int i = 0; i < rounds; i++) {
		size_t n = is_readable(w, PATIENCE_MS / rounds) ? map_watch_read(w, pids, 8) : 0;

		assert_in_range(n, 0, 1); /* each once */
		if (n && pids[0] == pid)
			return true;
	}
	return false;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_process_is_told_of(void **state)
{
	struct map_watch w;
	pid_t child;

	(void)state;
	open_or_skip(&w);
	child = start(0);
	assert_true(is_told_of(&w, child, 600));
	end(child);
	map_watch_close(&w);
}

static void a_flood_is_over_some_time(void **state)
{
	struct map_watch w;
	pid_t pids[8], child;
	int status;

	(void)state;
	open_or_skip(&w);
	child = fork();
	if (child == 0) {
		map(other, PROT_READ | PROT_EXEC, FLOOD);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child); /* nobody reads meanwhile */
	assert_int_equal(map_watch_read(&w, pids, 8), 0);
	child = start(0);
	assert_true(is_told_of(&w, child, 600));
	end(child);
	map_watch_close(&w);
}

static int make(char *path, size_t size, const char *name)
{
	static const char page[4096];
	int fd;

	snprintf(path, size, "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 || write(fd, page, sizeof(page)) != sizeof(page) || close(fd) < 0 ? -1 : 0;
}

static int set_up(void **state)
{
	(void)state;
	return !mkdtemp(dir) || make(wanted, sizeof(wanted), "libwanted.so") < 0 ||
			       make(other, sizeof(other), "libother.so") < 0 ||
			       make(longer, sizeof(longer), "xlibwanted.so") < 0 ?
		       -1 :
		       0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(wanted) < 0 || unlink(other) < 0 || unlink(longer) < 0 || rmdir(dir) < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_told_of),
		cmocka_unit_test(a_flood_is_over_some_time),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
