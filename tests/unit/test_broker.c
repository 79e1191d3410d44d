#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampler/broker/broker.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/maps.h"

/* A target, and a process beside it that is none. */
struct scene {
	struct broker *b;
	pid_t target, stranger;
	int ready[2];
};

static volatile uint64_t known = UINT64_C(0x1122334455667788);

static pid_t start_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static int setup(void **state)
{
	static struct scene s;
	uint32_t number;

	s = (struct scene){.b = broker_new(false), .target = start_process(), .stranger = start_process()};
	*state = &s;
	if (!s.b || broker_add_target(s.b, s.target, false, &number, NULL) < 0 || number != 0)
		return -1;
	return broker_start(s.b, NULL, NULL);
}

static void end_process(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	broker_free(s->b);
	end_process(&s->target);
	end_process(&s->stranger);
	return 0;
}

static void passes_memory_for_reading(void **state)
{
	struct scene *s = *state;
	int fd = broker_proc(s->b, 0, BROKER_MEM);
	uint64_t got = 0;

	if (fd == -EACCES || fd == -EPERM)
		skip(); /* kernel.yama.ptrace_scope: the broker is no ancestor of the target */
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pread(fd, &got, sizeof(got), (off_t)(uintptr_t)&known), sizeof(got));
	assert_true(got == known);
	assert_int_equal(pwrite(fd, &got, sizeof(got), (off_t)(uintptr_t)&known), -1);
	assert_int_equal(errno, EBADF);
	close(fd);
}

static void expect_text(int fd, const char *begin)
{
	char text[4096] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

/* It runs with PATH, at least. */
static void passes_nothing_else_of_an_environment(void **state)
{
	struct scene *s = *state;
	int fd = broker_proc(s->b, 0, BROKER_ENVIRON);
	char text[4096] = "";
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text));
	assert_true(n == 0 || strncmp(text, "OTEL_", 5) == 0);
	assert_null(memmem(text, (size_t)n, "PATH=", 5));
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

static void passes_files_of_process_and_thread(void **state)
{
	struct scene *s = *state;
	char number[16];

	snprintf(number, sizeof(number), "%d ", (int)s->target);
	expect_text(broker_proc(s->b, 0, BROKER_STAT), number);
	expect_text(broker_proc(s->b, 0, BROKER_STATUS), "Name:");
	expect_text(broker_proc(s->b, 0, BROKER_COMM), program_invocation_short_name);
	expect_text(broker_task(s->b, 0, s->target, BROKER_STAT), number);
	expect_text(broker_task(s->b, 0, s->target, BROKER_COMM), program_invocation_short_name);
}

/* Its registers: the kernel asks whoever reads for the right to them, so the text itself is passed. */
static void passes_where_a_thread_waits(void **state)
{
	struct scene *s = *state;
	int fd = broker_task(s->b, 0, s->target, BROKER_SYSCALL);

	if (fd == -EACCES || fd == -EPERM)
		skip();
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	expect_text(fd, "");
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(broker_task(s->b, 0, s->stranger, BROKER_SYSCALL), -ESRCH);
}

/* The broker has ended, as with everything that the worker of this program does not ask. */
static void assert_gone(struct scene *s)
{
	assert_int_equal(broker_proc(s->b, 0, BROKER_MAPS), -EPIPE);
	broker_free(s->b);
	s->b = NULL;
}

static void restart(struct scene *s)
{
	uint32_t number;

	s->b = broker_new(false);
	assert_int_equal(broker_add_target(s->b, s->target, false, &number, NULL), 0);
	assert_int_equal(broker_start(s->b, NULL, NULL), 0);
}

static void send_wrong(struct scene *s, const struct broker_request *q)
{
	assert_int_equal(channel_send(broker_socket(s->b), q, sizeof(*q), -1), 0);
	assert_gone(s);
	restart(s);
}

static void knows_no_other_request(void **state)
{
	static const struct broker_request wrong[] = {
		{.what = BROKER_WHATS},
		{.what = UINT32_MAX},
		{.what = BROKER_PROC, .target = 1}, /* a foreign process has no number */
		{.what = BROKER_PROC, .target = UINT32_MAX},
		{.what = BROKER_PROC, .name = BROKER_NAMES},
		{.what = BROKER_PROC, .name = UINT32_MAX},
		{.what = BROKER_PROC, .name = BROKER_SYSCALL}, /* a thread's */
		{.what = BROKER_TASK, .name = BROKER_MEM, .tid = 1}, /* a process's */
		{.what = BROKER_TASK, .name = BROKER_STAT, .tid = 0},
		{.what = BROKER_TASK, .name = BROKER_STAT, .tid = -1},
		{.what = BROKER_MAPPED, .target = 1},
		{.what = BROKER_PATH, .target = 1},
		{.what = BROKER_DESCENDANTS, .target = 1},
		{.what = BROKER_FIND, .tid = 0},
		{.what = BROKER_FIND, .tid = -1},
		{.what = BROKER_SIGNAL, .tid = SIGTERM}, /* there is no command */
		{.what = BROKER_SCHEDULE, .tid = 0},
		{.what = BROKER_SCHEDULE, .tid = 1, .name = 2},
		{.what = BROKER_SCHEDULE, .tid = 1, .cpu = -20},
		{.what = BROKER_SCHEDULE, .tid = 1, .cpu = 1}, /* a lower priority than it has */
		{.what = BROKER_EVENTS, .name = 1, .places = {{.tid = 1}}}, /* nothing was allowed */
	};
	struct broker_request right = {.what = BROKER_PROC};
	struct scene *s = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		send_wrong(s, &wrong[i]);
	channel_send(broker_socket(s->b), &right, sizeof(right) - 1, -1);
	assert_gone(s);
	restart(s);
	channel_send(broker_socket(s->b), &right, sizeof(right), STDIN_FILENO);
	assert_gone(s);
	restart(s);
}

static void threads_of_others_are_none(void **state)
{
	struct scene *s = *state;

	assert_int_equal(broker_task(s->b, 0, s->stranger, BROKER_STAT), -ESRCH);
	assert_int_equal(broker_task(s->b, 0, getpid(), BROKER_STAT), -ESRCH);
	assert_int_equal(broker_task(s->b, 0, 1, BROKER_STAT), -ESRCH);
}

static void who_has_ended_is_nobody_else(void **state)
{
	struct scene *s = *state;

	const pid_t was = s->target;

	end_process(&s->target);
	for (int name = BROKER_MEM; name < BROKER_SYSCALL; name++)
		assert_int_equal(broker_proc(s->b, 0, name), -ESRCH);
	assert_int_equal(broker_task(s->b, 0, was, BROKER_STAT), -ESRCH);
	assert_int_equal(broker_mapped(s->b, 0, &(struct mapping){0}), -ESRCH);
	assert_int_equal(broker_path(s->b, 0, "/usr/lib/debug/a.debug"), -ESRCH);
}

/* Another program under the same PID: what was passed before does not lead to it. */
static void memory_is_that_of_the_program(void **state)
{
	struct scene *s = *state;
	int go[2], fd;
	uint32_t number;
	char byte;

	end_process(&s->target);
	broker_free(s->b);
	assert_int_equal(pipe(go), 0);
	s->target = fork();
	if (s->target == 0) {
		(void)!read(go[0], &byte, 1);
		execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	s->b = broker_new(false);
	assert_int_equal(broker_add_target(s->b, s->target, false, &number, NULL), 0);
	assert_int_equal(broker_start(s->b, NULL, NULL), 0);
	fd = broker_proc(s->b, 0, BROKER_MEM);
	if (fd == -EACCES || fd == -EPERM)
		skip();
	assert_int_equal(pread(fd, &byte, 1, (off_t)(uintptr_t)&known), 1);
	assert_int_equal(write(go[1], "x", 1), 1);
	for (int i = 0; i < 1000 && pread(fd, &byte, 1, (off_t)(uintptr_t)&known) == 1; i++)
		usleep(10000);
	assert_int_equal(pread(fd, &byte, 1, (off_t)(uintptr_t)&known), 0);
	close(fd);
	close(go[0]);
	close(go[1]);
}

static int mapped_at(struct scene *s, uint64_t start, uint64_t inode)
{
	return broker_mapped(s->b, 0, &(struct mapping){.start = start, .inode = inode});
}

/* The first mapping of a file, which the target has too: this program's, where no sanitizer has put something before it. */
static struct mapping find_own(void)
{
	struct mapping m = {0};
	unsigned long inode = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096];

	assert_non_null(f);
	while (!inode && fgets(line, sizeof(line), f))
		assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %x:%x %lu", &m.start, &m.end,
					&m.dev_major, &m.dev_minor, &inode),
				 5);
	assert_true(inode != 0);
	fclose(f);
	m.inode = inode;
	return m;
}

static void passes_what_is_mapped(void **state)
{
	struct scene *s = *state;
	struct mapping m = find_own(), other = m;
	struct stat mapped, self;
	int fd = broker_mapped(s->b, 0, &m);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &mapped), 0);
	assert_int_equal(stat("/proc/self/exe", &self), 0);
	assert_true(mapped.st_ino == self.st_ino && mapped.st_dev == self.st_dev);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
	other.inode++;
	assert_int_equal(broker_mapped(s->b, 0, &other), -ESTALE); /* its address, but another file */
	other = m;
	other.dev_minor++;
	assert_int_equal(broker_mapped(s->b, 0, &other), -ESTALE);
	assert_int_equal(mapped_at(s, 0, m.inode), -ESTALE);
	assert_int_equal(mapped_at(s, UINT64_MAX, m.inode), -ESTALE);
	assert_int_equal(mapped_at(s, (uintptr_t)&m, 0), -ESTALE); /* a stack */
}

/* A name in /tmp, which all who are there may take: a file of the target's user, or nothing. */
static void perf_map_is_no_link(void **state)
{
	struct scene *s = *state;
	char path[64], other[80];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)s->target);
	snprintf(other, sizeof(other), "%s.other", path);
	unlink(path);
	unlink(other);
	assert_int_equal(broker_path(s->b, 0, path), -ENOENT);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, "map", 3), 3);
	close(fd);
	expect_text(broker_path(s->b, 0, path), "map");
	assert_int_equal(link(path, other), 0);
	assert_int_equal(broker_path(s->b, 0, path), -EACCES);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(broker_path(s->b, 0, path), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(broker_path(s->b, 0, path), -EACCES);
	assert_int_equal(unlink(path), 0);
	if (geteuid() == 0) {
		assert_int_equal(rename(other, path), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(broker_path(s->b, 0, path), -EACCES);
		assert_int_equal(unlink(path), 0);
	}
	unlink(other);
}

static void other_paths_are_refused(void **state)
{
	static const char *const refused[] = {
		"",
		"/",
		"etc/shadow",
		"/etc/shadow",
		"/tmp/perf-1.map",
		"/proc/1/mem",
		"/root/.bashrc",
		"/usr/lib/debug/../../../etc/shadow.debug",
		"/usr/lib/debug/..",
		"/usr/lib/debug/.dwz/../../../../etc/shadow",
		"/etc/shadow.debug",
		"/home/x/.debug/a.debug",
		"/usr/lib/debug/.build-id/ab/cd",
		"a.debug",
	};
	struct scene *s = *state;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(broker_path(s->b, 0, refused[i]), -EACCES);
	assert_int_equal(broker_path(s->b, 0, "/usr/lib/debug/.build-id/ab/cd.debug"), -ENOENT);
	assert_int_equal(broker_path(s->b, 0, "/usr/lib/debug/no.such.debug"), -ENOENT);
	if (access("/etc/os-release", F_OK) == 0)
		expect_text(broker_path(s->b, 0, "/etc/os-release"), "");
}

/* Beside what is mapped, by the names that debug files have; of the target's own files, as its own user. */
static void debug_files_are_beside_what_is_mapped(void **state)
{
	struct scene *s = *state;
	char dir[4096], path[5000];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	assert_true(n > 0);
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	snprintf(path, sizeof(path), "%s/test_broker.debuginfo", dir);
	unlink(path);
	assert_int_equal(broker_path(s->b, 0, path), -ENOENT);
	close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
	n = broker_path(s->b, 0, path);
	assert_true(n >= 0);
	close((int)n);
	unlink(path);
	snprintf(path, sizeof(path), "%s/test_broker", dir);
	assert_int_equal(broker_path(s->b, 0, path), -EACCES);
}

/* --- other processes --- */

static pid_t wait_for_pid(int fd)
{
	pid_t pid;

	assert_int_equal(read(fd, &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

/* Starts a process that starts another, and ends if `orphan`. The PID of the latter. */
static pid_t start_child_of_target(struct scene *s, bool follow, bool orphan)
{
	uint32_t number;
	int go[2], told[2];
	pid_t pid;

	end_process(&s->target);
	broker_free(s->b);
	assert_true(pipe(go) == 0 && pipe(told) == 0);
	s->target = fork();
	if (s->target == 0) {
		setpgid(0, 0);
		if (read(go[0], &pid, 1) != 1)
			_exit(1);
		pid = start_process();
		if (write(told[1], &pid, sizeof(pid)) != sizeof(pid) || !orphan)
			pause();
		_exit(0);
	}
	setpgid(s->target, s->target);
	s->b = broker_new(follow);
	assert_int_equal(broker_add_target(s->b, s->target, false, &number, NULL), 0);
	assert_int_equal(broker_start(s->b, NULL, NULL), 0);
	assert_int_equal(write(go[1], "x", 1), 1);
	pid = wait_for_pid(told[0]);
	if (orphan)
		end_process(&s->target);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(told[i]);
	}
	return pid;
}

static void expect_found(struct scene *s, pid_t pid, int r)
{
	uint32_t number;
	int pidfd = -1;

	assert_int_equal(broker_find(s->b, pid, &number, &pidfd), r);
	if (r == 0)
		expect_text(broker_proc(s->b, number, BROKER_STATUS), "Name:");
	if (pidfd >= 0)
		close(pidfd);
}

static void finds_what_a_target_started(void **state)
{
	struct scene *s = *state;
	pid_t pid = start_child_of_target(s, false, false);

	expect_found(s, s->target, 0);
	expect_found(s, pid, 0);
	expect_found(s, s->stranger, -EPERM);
	expect_found(s, getpid(), -EPERM);
	expect_found(s, 1, -EPERM);
	expect_found(s, INT32_MAX, -ESRCH);
	kill(pid, SIGKILL);
}

static void finds_orphans_when_following(void **state)
{
	struct scene *s = *state;
	pid_t pid = start_child_of_target(s, true, true);

	expect_found(s, pid, 0);
	expect_found(s, 1, -EPERM); /* older */
	kill(pid, SIGKILL);
	pid = start_child_of_target(s, false, true);
	expect_found(s, pid, -EPERM);
	kill(pid, SIGKILL);
}

/* Makes one in the first hierarchy where that may be done, with this process in it. */
static bool move_to_cgroup(pid_t pid, char *ret, size_t size)
{
	static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer", "/sys/fs/cgroup"};
	char path[200];
	bool moved = false;

	for (size_t i = 0; !moved && i < sizeof(roots) / sizeof(roots[0]); i++) {
		FILE *f;

		snprintf(ret, size, "%s/jsampler-test-%d", roots[i], (int)getpid());
		if (mkdir(ret, 0755) < 0)
			continue;
		snprintf(path, sizeof(path), "%s/cgroup.procs", ret);
		f = fopen(path, "we");
		moved = f && fprintf(f, "%d", (int)pid) > 0 && fflush(f) == 0;
		if (f)
			fclose(f);
		if (!moved)
			rmdir(ret);
	}
	return moved;
}

static void remove_cgroup(const char *path)
{
	for (int i = 0; i < 1000 && rmdir(path) < 0 && errno == EBUSY; i++)
		usleep(10000);
}

static void orphans_are_in_the_targets_cgroup(void **state)
{
	struct scene *s = *state;
	pid_t pid = start_child_of_target(s, true, true);
	char cgroup[160];
	bool moved = move_to_cgroup(pid, cgroup, sizeof(cgroup));

	if (moved)
		expect_found(s, pid, -EPERM);
	kill(pid, SIGKILL);
	if (!moved)
		skip();
	remove_cgroup(cgroup);
}

/* --- events --- */

static int ask(struct scene *s, const struct broker_request *q)
{
	struct broker_answer a;
	int fd = -1, r = channel_send(broker_socket(s->b), q, sizeof(*q), -1);

	if (r == 0)
		r = channel_receive(broker_socket(s->b), &a, sizeof(a), &fd);
	if (fd >= 0)
		close(fd);
	return r < 0 ? r : a.code;
}

/* Whoever could have the number of the command given to another process could have that ended. */
static void signals_are_for_the_command(void **state)
{
	const struct broker_request release = {.what = BROKER_RELEASE};
	struct scene *s = *state;
	pid_t pid = start_child_of_target(s, false, false);
	uint32_t number;
	int pidfd = -1;

	broker_free(s->b);
	s->b = broker_new(false);
	assert_int_equal(broker_add_target(s->b, s->target, true, &number, NULL), 0);
	assert_int_equal(broker_start(s->b, NULL, NULL), 0);
	assert_int_equal(ask(s, &release), 0);
	assert_int_equal(broker_find(s->b, pid, &number, &pidfd), 0);
	assert_int_not_equal(number, 0);
	close(pidfd);
	assert_int_equal(broker_signal(s->b, SIGTERM), -EPIPE);
	assert_int_equal(kill(pid, 0), 0);
	kill(pid, SIGKILL);
}

static struct broker_request event(pid_t tid)
{
	return (struct broker_request){
		.what = BROKER_EVENTS,
		.name = 1,
		.places = {{tid, 0, 0}},
		.attr = {.size = sizeof(struct perf_event_attr),
			 .type = PERF_TYPE_SOFTWARE,
			 .config = PERF_COUNT_SW_CPU_CLOCK,
			 .sample_period = 1000000000,
			 .disabled = 1,
			 .exclude_hv = 1,
			 .exclude_callchain_user = 1,
			 .sample_id_all = 1,
			 .use_clockid = 1,
			 .clockid = CLOCK_MONOTONIC},
	};
}

static void allow(struct scene *s, uint64_t config)
{
	const struct broker_request q = {.what = BROKER_ALLOW_EVENT,
					 .attr = {.type = PERF_TYPE_SOFTWARE, .config = config}};

	assert_int_equal(ask(s, &q), 0);
}

static void expect_refused(struct scene *s, struct broker_request q)
{
	allow(s, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(ask(s, &q), -EPIPE);
	broker_free(s->b);
	restart(s);
}

/* Returns what the request's events gave; their descriptors, which are closed, are counted. */
static int ask_for_events(struct scene *s, const struct broker_request *q, size_t *ret_opened)
{
	int fds[EVENT_PLACES_MAX], r = broker_events(s->b, &q->attr, q->places, q->name, -1, fds, ret_opened);

	for (size_t i = 0; i < *ret_opened; i++) {
		assert_true(fcntl(fds[i], F_GETFD) == FD_CLOEXEC);
		close(fds[i]);
	}
	return r;
}

static void events_are_of_targets(void **state)
{
	struct scene *s = *state;
	struct broker_request q = event(s->target);
	size_t opened;
	int r;

	allow(s, PERF_COUNT_SW_CPU_CLOCK);
	r = ask_for_events(s, &q, &opened);
	if (r == -EACCES || r == -EPERM || r == -ENOSYS)
		skip();
	assert_int_equal(r, 0);
	assert_int_equal(opened, 1);
	q.places[0].tid = s->stranger;
	assert_int_equal(ask_for_events(s, &q, &opened), -EPERM);
	q.places[0].tid = 1;
	assert_int_equal(ask_for_events(s, &q, &opened), -EPERM);
	q.places[0].tid = INT32_MAX;
	assert_int_equal(ask_for_events(s, &q, &opened), -ESRCH);
	assert_int_equal(opened, 0);
	broker_free(s->b);
	restart(s);
}

/* In their order, until one fails; those of a thread that may not be sampled are not among them. */
static void events_are_opened_together(void **state)
{
	struct scene *s = *state;
	struct broker_request q = event(s->target);
	size_t opened;
	int r;

	allow(s, PERF_COUNT_SW_CPU_CLOCK);
	for (q.name = 0; q.name < EVENT_PLACES_MAX; q.name++)
		q.places[q.name] = (struct event_place){s->target, 0, 0};
	r = ask_for_events(s, &q, &opened);
	if (r == -EACCES || r == -EPERM || r == -ENOSYS)
		skip();
	assert_int_equal(r, 0);
	assert_int_equal(opened, EVENT_PLACES_MAX);
	q.places[5].tid = q.places[6].tid = s->stranger;
	assert_int_equal(ask_for_events(s, &q, &opened), -EPERM);
	assert_int_equal(opened, 5);
	q.places[5].tid = q.places[6].tid = INT32_MAX;
	assert_int_equal(ask_for_events(s, &q, &opened), -ESRCH);
	assert_int_equal(opened, 5);
	q.places[5] = (struct event_place){s->target, INT32_MAX, 0}; /* no such CPU */
	assert_true(ask_for_events(s, &q, &opened) < 0);
	assert_int_equal(opened, 5);
	q.name = 0;
	assert_int_equal(ask_for_events(s, &q, &opened), -EINVAL);
	q.name = EVENT_PLACES_MAX + 1;
	assert_int_equal(ask_for_events(s, &q, &opened), -EINVAL);
	broker_free(s->b);
	restart(s);
}

static void other_events_are_refused(void **state)
{
	struct scene *s = *state;
	struct broker_request q = event(s->target);

	q.attr.config = PERF_COUNT_SW_TASK_CLOCK; /* not allowed */
	expect_refused(s, q);
	q = event(s->target);
	q.attr.type = PERF_TYPE_BREAKPOINT;
	expect_refused(s, q);
	q = event(s->target);
	q.attr.sample_type = PERF_SAMPLE_ADDR;
	expect_refused(s, q);
	q = event(s->target);
	q.attr.enable_on_exec = 1;
	expect_refused(s, q);
	expect_refused(s, event(-1)); /* of all processes, without a filter */
	expect_refused(s, event(0)); /* of the broker */
	q = event(s->target);
	q.name = 2;
	q.places[1].tid = -1;
	expect_refused(s, q);
	q.name = 0;
	expect_refused(s, q);
	q.name = EVENT_PLACES_MAX + 1;
	expect_refused(s, q);
	q.name = UINT32_MAX;
	expect_refused(s, q);
	q = (struct broker_request){.what = BROKER_ALLOW_EVENT};
	assert_true(broker_proc(s->b, 0, BROKER_STAT) >= 0);
	assert_int_equal(ask(s, &q), -EPIPE); /* too late */
}

/* In a child: what is appointed is so for good. */
static void appointed_it_allows_no_more_events(void **state)
{
	const struct broker_request q = {.what = BROKER_ALLOW_EVENT, .attr = {.type = PERF_TYPE_BREAKPOINT}};
	struct scene *s = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(broker_use(s->b, NULL) == 0 && ask(s, &q) == -EPIPE ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- the end --- */

/* A process that is left behind has the worker's end of the channel; what it gets when the worker has gone. */
static void stay_behind(struct scene *s, pid_t worker, int out)
{
	const struct broker_request q = {.what = BROKER_PROC, .name = BROKER_STAT};
	int r = 0;

	while (getppid() == worker)
		usleep(1000);
	for (int i = 0; i < 1000 && r == 0; i++) {
		usleep(1000);
		r = ask(s, &q);
	}
	(void)!write(out, &r, sizeof(r));
	_exit(0);
}

static void ends_with_the_worker(void **state)
{
	struct scene *s = *state;
	int out[2], r = 0;
	pid_t worker;

	broker_free(s->b);
	assert_int_equal(pipe(out), 0);
	worker = fork();
	if (worker == 0) {
		restart(s);
		worker = getpid();
		if (fork() == 0)
			stay_behind(s, worker, out[1]);
		kill(worker, SIGKILL);
	}
	s->b = NULL;
	close(out[1]);
	assert_int_equal(waitpid(worker, NULL, 0), worker);
	assert_int_equal(read(out[0], &r, sizeof(r)), sizeof(r));
	assert_int_equal(r, -EPIPE);
	close(out[0]);
}

/* --- priorities --- */

struct held {
	int end[2];
	_Atomic pid_t tid;
};

static void *wait_for_end(void *arg)
{
	struct held *h = arg;
	char byte;

	atomic_store(&h->tid, gettid());
	(void)!read(h->end[0], &byte, 1);
	return NULL;
}

static void priorities_are_of_the_workers_threads(void **state)
{
	struct scene *s = *state;
	struct broker_request q = {.what = BROKER_SCHEDULE, .cpu = 0};
	struct held h = {.tid = 0};
	pthread_t t;

	q.tid = s->stranger;
	assert_int_equal(ask(s, &q), -ESRCH);
	q.tid = s->target;
	assert_int_equal(ask(s, &q), -ESRCH);
	assert_int_equal(pipe(h.end), 0);
	assert_int_equal(pthread_create(&t, NULL, wait_for_end, &h), 0);
	while (!(q.tid = atomic_load(&h.tid)))
		usleep(1000);
	assert_int_equal(ask(s, &q), 0);
	close(h.end[1]);
	pthread_join(t, NULL);
	assert_int_equal(ask(s, &q), -ESRCH);
	close(h.end[0]);
}

/* --- too many messages --- */

/* Each unread answer has a descriptor; only whoever leaves them waits. */
static void unread_answers_hold_up_nobody_else(void **state)
{
	const struct broker_request connect = {.what = BROKER_CONNECT},
				    comm = {.what = BROKER_PROC, .name = BROKER_COMM};
	struct scene *s = *state;
	struct broker_answer a;
	int mine, sent = 0;

	assert_int_equal(channel_send(broker_socket(s->b), &connect, sizeof(connect), -1), 0);
	assert_int_equal(channel_receive(broker_socket(s->b), &a, sizeof(a), &mine), 0);
	assert_int_equal(fcntl(mine, F_SETFL, O_NONBLOCK), 0);
	while (sent < 100000 && channel_send(mine, &comm, sizeof(comm), -1) == 0)
		sent++;
	assert_in_range(sent, 1, 99999);
	expect_text(broker_proc(s->b, 0, BROKER_COMM), program_invocation_short_name);
	close(mine);
	expect_text(broker_proc(s->b, 0, BROKER_COMM), program_invocation_short_name);
}

/* More are refused, and those that there are go on. */
static void channels_are_limited(void **state)
{
	enum { ENOUGH = 1100 };
	const struct broker_request connect = {.what = BROKER_CONNECT};
	struct rlimit limit = {4096, 4096};
	struct scene *s = *state;
	struct broker_answer a;
	int fds[ENOUGH], n = 0, r;

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		skip();
	broker_free(s->b);
	restart(s);
	do {
		assert_int_equal(channel_send(broker_socket(s->b), &connect, sizeof(connect), -1), 0);
		assert_int_equal(channel_receive(broker_socket(s->b), &a, sizeof(a), &fds[n]), 0);
	} while (a.code == 0 && ++n < ENOUGH);
	assert_true(a.code < 0 && a.code != -EPROTO);
	assert_in_range(n, 500, 1024);
	assert_int_equal(ask(s, &(struct broker_request){.what = BROKER_PROC, .name = BROKER_COMM}), 0);
	while (n)
		close(fds[--n]);
	for (int i = 0; (r = ask(s, &connect)) < 0 && i < 5000; i++)
		usleep(1000);
	assert_int_equal(r, 0);
}

/* The list of events has an end, and a worker that asks beyond it gets nothing more. */
static void allowed_events_are_limited(void **state)
{
	struct scene *s = *state;
	int n = 0;

	while (n < 10000 && ask(s, &(struct broker_request){.what = BROKER_ALLOW_EVENT}) == 0)
		n++;
	assert_in_range(n, 1, 1000);
	assert_gone(s);
	restart(s);
}

/* --- whatever comes --- */

static void random_requests_end_it(void **state)
{
	struct scene *s = *state;

	srand(1);
	for (int i = 0; i < 200; i++) {
		struct broker_request q = {.what = BROKER_PROC};
		uint8_t *bytes = (uint8_t *)&q;

		for (int k = rand() % 64; k > 0; k--)
			bytes[(size_t)rand() % (rand() % 2 ? 32 : sizeof(q))] =
				(uint8_t)(rand() % 3 ? rand() % 20 : rand());
		if (q.what == BROKER_FIND && q.tid == 1)
			continue;
		if (ask(s, &q) == -EPIPE) {
			broker_free(s->b);
			restart(s);
		}
	}
	assert_int_equal(kill(s->target, 0), 0);
	assert_int_equal(kill(s->stranger, 0), 0);
	assert_int_equal(waitpid(s->target, NULL, WNOHANG), 0);
	assert_int_equal(waitpid(s->stranger, NULL, WNOHANG), 0);
}

/* Taken back more often than asked for: nobody's, and of no use, but no harm. */
static void numbers_are_given_back(void **state)
{
	const struct broker_request release = {.what = BROKER_RELEASE},
				    mem = {.what = BROKER_PROC, .name = BROKER_MAPS};
	struct scene *s = *state;

	assert_int_equal(ask(s, &mem), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(s, &release), 0);
	assert_int_equal(ask(s, &mem), -EPIPE);
}

/* A setuid program, as it were: the ids are others than when the target was chosen. */
static void more_rights_are_refused(void **state)
{
	struct scene *s = *state;
	int go[2];
	uint32_t number;
	char byte;

	if (geteuid() != 0)
		skip();
	end_process(&s->target);
	broker_free(s->b);
	assert_int_equal(pipe(go), 0);
	s->target = fork();
	if (s->target == 0) {
		if (setresuid(65534, 65534, 0) < 0 || write(go[1], "x", 1) != 1)
			_exit(1);
		sleep(1);
		_exit(setresuid(0, 0, 0) < 0 || write(go[1], "x", 1) != 1 || pause());
	}
	assert_int_equal(read(go[0], &byte, 1), 1);
	s->b = broker_new(false);
	assert_int_equal(broker_add_target(s->b, s->target, false, &number, NULL), 0);
	assert_int_equal(broker_start(s->b, NULL, NULL), 0);
	expect_text(broker_proc(s->b, 0, BROKER_COMM), program_invocation_short_name);
	assert_int_equal(read(go[0], &byte, 1), 1);
	assert_int_equal(broker_proc(s->b, 0, BROKER_MEM), -EPERM);
	assert_int_equal(broker_proc(s->b, 0, BROKER_COMM), -EPERM);
	assert_int_equal(broker_path(s->b, 0, "/usr/lib/debug/a.debug"), -EPERM);
	close(go[0]);
	close(go[1]);
}

/* --- while something is opened --- */

static pid_t changes_ids; /* 0: none */
static const char *opens_with;

static void change_ids(const char *path)
{
	if (!changes_ids || strcmp(path, opens_with) != 0)
		return;
	kill(changes_ids, SIGUSR1);
	usleep(200000);
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap___openat_2(int dir, const char *path, int flags);

static atomic_uint *openings; /* of all processes; NULL: not counted */

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	change_ids(path);
	if (openings)
		atomic_fetch_add(openings, 1);
	return __real_openat(dir, path, flags, 0);
}

int __wrap___openat_2(int dir, const char *path, int flags)
{
	return __wrap_openat(dir, path, flags);
}

static void be_root_again(int signal)
{
	(void)signal;
	(void)!setresuid(0, 0, 0);
}

/* Started with the test's program in memory, root's for now; *s: its broker. */
static void start_as_nobody(struct scene *s, int (*drop)(struct err *err))
{
	uint32_t number;
	int ready[2];
	char byte;

	end_process(&s->target);
	broker_free(s->b);
	assert_int_equal(pipe(ready), 0);
	s->target = fork();
	if (s->target == 0) {
		signal(SIGUSR1, be_root_again);
		if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 0) < 0 ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	s->b = broker_new(false);
	assert_int_equal(broker_add_target(s->b, s->target, false, &number, NULL), 0);
	changes_ids = opens_with ? s->target : 0;
	assert_int_equal(broker_start(s->b, drop, NULL), 0);
	changes_ids = 0;
}

static void rights_gained_meanwhile_are_refused(void **state)
{
	struct scene *s = *state;

	if (geteuid() != 0)
		skip();
	opens_with = "mem";
	start_as_nobody(s, NULL);
	opens_with = NULL;
	assert_int_equal(broker_proc(s->b, 0, BROKER_MEM), -EPERM);
}

/* How many files the broker opens for one request. */
static unsigned openings_for(struct scene *s, struct broker_request q)
{
	unsigned before = atomic_load(openings);

	assert_int_equal(ask(s, &q), 0);
	return atomic_load(openings) - before;
}

static struct broker_request of_thread(struct scene *s, enum broker_name name)
{
	return (struct broker_request){.what = BROKER_TASK, .name = name, .tid = s->target};
}

/* There are hundreds of these when a recording begins: no text is read to see whose they are. */
static void what_all_may_read_costs_one_opening(void **state)
{
	struct scene *s = *state;
	const struct broker_request list = {.what = BROKER_PROC, .name = BROKER_TASKS}, of_target = event(s->target);

	openings = mmap(NULL, sizeof(*openings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(openings, MAP_FAILED);
	broker_free(s->b);
	restart(s);
	allow(s, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(openings_for(s, of_thread(s, BROKER_STAT)), 1);
	assert_int_equal(openings_for(s, of_thread(s, BROKER_COMM)), 1);
	assert_int_equal(openings_for(s, list), 1);
	if (ask(s, &of_target) == 0) /* where events are permitted; and status, unless it is root's */
		assert_int_equal(openings_for(s, of_target), geteuid() == 0 ? 1 : 2);
	munmap(openings, sizeof(*openings));
	openings = NULL;
}

static int says_root; /* where to write once it is root again */

static void be_root_and_say(int signal)
{
	be_root_again(signal);
	(void)!write(says_root, "x", 1);
}

/* Such a program shows by the owner of its files that it has become another user's. */
static void who_may_be_dumped_is_looked_at_too(void **state)
{
	struct scene *s = *state;
	int ready[2];
	char byte;

	if (geteuid() != 0)
		skip();
	end_process(&s->target);
	broker_free(s->b);
	assert_int_equal(pipe(ready), 0);
	s->target = fork();
	if (s->target == 0) {
		says_root = ready[1];
		signal(SIGUSR1, be_root_and_say);
		if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 0) < 0 ||
		    prctl(PR_SET_DUMPABLE, 1) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	restart(s);
	expect_text(broker_task(s->b, 0, s->target, BROKER_COMM), program_invocation_short_name);
	kill(s->target, SIGUSR1);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(broker_task(s->b, 0, s->target, BROKER_COMM), -EPERM);
	assert_int_equal(broker_proc(s->b, 0, BROKER_TASKS), -EPERM);
	close(ready[0]);
	close(ready[1]);
}

/* A service's user, with capabilities: no id changes from 0 then, and with it no capability. */
static int be_a_service(struct err *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}, {0}};

	(void)err;
	sets[0].permitted = sets[0].effective =
		1u << CAP_DAC_READ_SEARCH | 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_SYS_PTRACE;
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setresgid(64001, 64001, 64001) < 0 || setresuid(64001, 64001, 64001) < 0)
		return -errno;
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

static void files_are_opened_as_the_target(void **state)
{
	struct scene *s = *state;
	char dir[4096], path[5000];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	int r;

	if (geteuid() != 0)
		skip();
	assert_true(n > 0);
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	snprintf(path, sizeof(path), "%s/test_broker_private.debuginfo", dir);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	start_as_nobody(s, be_a_service);
	r = broker_path(s->b, 0, path);
	unlink(path);
	assert_int_equal(r, -EACCES);
}

static void who_is_not_there_is_no_target(void **state)
{
	struct scene *s = *state;
	struct err err = {0};

	assert_int_equal(broker_add_target(s->b, INT32_MAX, false, &(uint32_t){0}, &err), -ESRCH);
	assert_true(err.msg[0]);
}

/* --- programs that execve(2) gives rights which the target's user has not --- */

#define SLEEPER "broker_sleeper"

/* A shell of nobody's, which reads a line and then starts that copy of sleep(1). */
static pid_t start_shell(const char *script, const char *mode, char *path, size_t size, int *ret_go)
{
	char command[PATH_MAX + 64], dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	int go[2];
	pid_t pid;

	assert_true(n > 0);
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	assert_true((size_t)snprintf(path, size, "%s/" SLEEPER, dir) < size);
	snprintf(command, sizeof(command), "install -m %s /bin/sleep '%s'", mode, path);
	assert_int_equal(system(command), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(go[0], STDIN_FILENO);
		if (setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0)
			execl("/bin/sh", "sh", "-c", script, path, (char *)NULL);
		_exit(1);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

static bool is_called(pid_t pid, const char *name)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "r");
	if (f && fgets(text, sizeof(text), f))
		text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
	return strcmp(text, name) == 0;
}

static pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%d", &child) != 1)
		child = 0;
	if (f)
		fclose(f);
	return child;
}

static void sample_shell(struct scene *s, pid_t shell)
{
	uint32_t number;

	end_process(&s->target);
	broker_free(s->b);
	s->target = shell;
	while (!is_called(shell, "sh"))
		usleep(1000);
	s->b = broker_new(true);
	assert_int_equal(broker_add_target(s->b, shell, false, &number, NULL), 0);
	assert_int_equal(broker_start(s->b, NULL, NULL), 0);
}

/* Answers for what the target starts, with that mode. */
static int find_started(struct scene *s, const char *mode)
{
	char path[PATH_MAX];
	uint32_t number;
	int go, pidfd = -1, r;
	pid_t child;

	sample_shell(s, start_shell("read x; \"$0\" 60 & wait", mode, path, sizeof(path), &go));
	assert_int_equal(write(go, "\n", 1), 1);
	while (!is_called(child = child_of(s->target), SLEEPER))
		usleep(1000);
	r = broker_find(s->b, child, &number, &pidfd);
	if (pidfd >= 0)
		close(pidfd);
	kill(child, SIGKILL);
	close(go);
	unlink(path);
	return r;
}

static void programs_with_more_rights_are_no_targets(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(find_started(*state, "4755"), -EPERM);
	assert_int_equal(find_started(*state, "2755"), -EPERM);
	assert_int_equal(find_started(*state, "0755"), 0);
}

/* The ids of a process in a set-group-ID program are as before. */
static void a_target_that_gains_a_group_is_refused(void **state)
{
	struct scene *s = *state;
	char path[PATH_MAX];
	int go;

	if (geteuid() != 0)
		skip();
	sample_shell(s, start_shell("read x; exec \"$0\" 60", "2755", path, sizeof(path), &go));
	expect_text(broker_proc(s->b, 0, BROKER_COMM), "sh");
	assert_int_equal(write(go, "\n", 1), 1);
	while (!is_called(s->target, SLEEPER))
		usleep(1000);
	assert_int_equal(broker_proc(s->b, 0, BROKER_MEM), -EPERM);
	close(go);
	unlink(path);
}

/* It is one until its parent has waited for it; its files belong to root meanwhile. */
static void a_zombie_has_accounts_and_no_memory(void **state)
{
	struct scene *s = *state;
	siginfo_t info;
	char path[PATH_MAX];
	int go;

	if (geteuid() != 0)
		skip();
	sample_shell(s, start_shell("read x", "0755", path, sizeof(path), &go));
	assert_int_equal(write(go, "\n", 1), 1);
	assert_int_equal(waitid(P_PID, (id_t)s->target, &info, WEXITED | WNOWAIT), 0);
	expect_text(broker_proc(s->b, 0, BROKER_STATUS), "Name:");
	assert_true(broker_proc(s->b, 0, BROKER_MEM) < 0);
	close(go);
	unlink(path);
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* One that is killed leaves an answer behind, which is none for its parent. */
static void a_child_has_a_channel_of_its_own(void **state)
{
	struct scene *s = *state;
	int status;
	pid_t child;

	expect_text(broker_proc(s->b, 0, BROKER_COMM), program_invocation_short_name);
	child = fork();
	if (child == 0) {
		int before = count_descriptors(), fd = broker_proc(s->b, 0, BROKER_COMM);

		_exit(fd < 0 || close(fd) < 0 || count_descriptors() != before + 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	expect_text(broker_proc(s->b, 0, BROKER_COMM), program_invocation_short_name);
}

static int refuse(struct err *err)
{
	(void)err;
	return -EPERM;
}

/* One that kept its rights would be worse than none. */
static void who_cannot_give_up_rights_does_not_start(void **state)
{
	struct broker *b = broker_new(false);
	struct err err = {0};

	(void)state;
	assert_int_equal(broker_start(b, refuse, &err), -EPERM);
	assert_non_null(strstr(err.msg, "capabilities"));
	broker_free(b);
}

static int try_setting(struct scene *s, const char *path)
{
	int fd = broker_host_path(s->b, path);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void settings_may_be_read(void **state)
{
	struct scene *s = *state;

	assert_int_equal(try_setting(s, "/proc/sys/kernel/perf_event_paranoid"), 0);
	assert_int_equal(try_setting(s, "/proc/sys/kernel/perf_event_max_sample_rate"), 0);
	assert_int_equal(try_setting(s, "/proc/sys/kernel/core_pattern"), -EACCES);
	assert_int_equal(try_setting(s, "/proc/sys/kernel/"), -EACCES);
	assert_int_equal(try_setting(s, "/proc/sys/kernel/yama/../core_pattern"), -EACCES);
	assert_int_equal(try_setting(s, "/usr/lib/debug/.build-id/../../../../etc/shadow.debug"), -EACCES);
}

/* --- targets that come later --- */

enum { REMOVED = 1000 }; /* in the table of divisors: how many were removed */

/* In the broker: slot 7 has no room. */
static int take_slot(void *ctx, pid_t pid, uint32_t slot, uint32_t divisor)
{
	_Atomic uint32_t *divisors = ctx;

	(void)pid;
	if (slot == 7)
		return -EEXIST;
	atomic_store(&divisors[slot], divisor);
	return 0;
}

static void give_up_slot(void *ctx, pid_t pid)
{
	_Atomic uint32_t *divisors = ctx;

	(void)pid;
	atomic_fetch_add(&divisors[REMOVED], 1);
}

static uint64_t start_of(pid_t pid)
{
	char path[32], text[1024] = "", *p;
	uint64_t start = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	p = strrchr(text, ')');
	assert_non_null(p);
	for (int field = 2; field < 22 && p; field++)
		p = strchr(p + 1, ' ');
	assert_non_null(p);
	sscanf(p, "%" SCNu64, &start);
	return start;
}

/* What the worker gets, or, with `answered`, whoever has admitted. */
static struct broker_admission offer(int admit, int from, const struct broker_admission *m)
{
	struct broker_admission got = {0};

	assert_int_equal(channel_send(admit, m, sizeof(*m), -1), 0);
	assert_int_equal(channel_receive(from, &got, sizeof(got), NULL), 0);
	assert_int_equal(got.slot, m->slot);
	return got;
}

static void targets_are_admitted_and_dismissed(void **state)
{
	static struct scene s;
	_Atomic uint32_t *divisors = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct broker_admissions a = {
		.set = take_slot, .change = take_slot, .remove = give_up_slot, .keep = -1, .ctx = divisors};
	struct broker_admission m = {.what = BROKER_ADMIT, .slot = 3, .divisor = 1, .note = "root"}, got;
	int admit[2], to[2], pidfd = -1;
	uint32_t number, removed;
	pid_t child;

	*state = &s;
	s = (struct scene){.stranger = start_process()};
	child = start_child_of_target(&s, false, false);
	broker_free(s.b);
	s.b = broker_new(false);
	assert_ptr_not_equal(divisors, MAP_FAILED);
	assert_int_equal(channel_pair(admit), 0);
	assert_int_equal(channel_pair(to), 0);
	a.from = admit[1];
	a.to = to[1];
	broker_admit_from(s.b, &a);
	assert_int_equal(broker_start(s.b, NULL, NULL), 0);
	close(admit[1]);
	close(to[1]);
	assert_int_equal(broker_find(s.b, s.target, &number, &pidfd), -EPERM);

	/* The PID of another process than was found. */
	m.pid = s.target;
	m.start_ticks = start_of(s.target) + 1;
	got = offer(admit[0], admit[0], &m);
	assert_int_equal(got.what, BROKER_REFUSED);
	assert_int_equal(got.code, -ESRCH);
	assert_int_equal(broker_find(s.b, s.target, &number, &pidfd), -EPERM);

	m.start_ticks--;
	got = offer(admit[0], to[0], &m);
	assert_int_equal(got.what, BROKER_ADMIT);
	assert_int_equal(got.pid, s.target);
	assert_string_equal(got.note, "root");
	assert_int_equal(broker_find(s.b, s.target, &number, &pidfd), 0);
	close(pidfd);
	assert_int_equal(broker_find(s.b, s.stranger, &number, &pidfd), -EPERM);
	assert_int_equal(broker_find(s.b, child, &number, &pidfd), 0);
	close(pidfd);
	assert_int_equal(ask(&s, &(struct broker_request){.what = BROKER_RELEASE, .target = number}), 0);

	/* Another divisor: the worker learns of it before it holds. */
	m.divisor = 4;
	m.at_ns = clock_monotonic_ns() + 300000000;
	got = offer(admit[0], to[0], &m);
	assert_int_equal(got.divisor, 4);
	for (int i = 0; i < 10000 && atomic_load(&divisors[3]) == 1; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&divisors[3]), 4);
	assert_true(clock_monotonic_ns() >= m.at_ns);

	/* No room in the table, and a slot that another one has. */
	m.pid = s.stranger;
	m.start_ticks = start_of(s.stranger);
	assert_int_equal(offer(admit[0], admit[0], &m).code, -EEXIST);
	m.slot = 7;
	assert_int_equal(offer(admit[0], admit[0], &m).code, -EEXIST);
	assert_int_equal(broker_find(s.b, s.stranger, &number, &pidfd), -EPERM);

	/* Another one has its PID before its end is known: that stays in the table. */
	removed = atomic_load(&divisors[REMOVED]);
	m.pid = s.target;
	m.start_ticks = start_of(s.target);
	m.slot = 5;
	assert_int_equal(offer(admit[0], to[0], &m).what, BROKER_ADMIT);
	m.what = BROKER_DISMISS;
	assert_int_equal(offer(admit[0], to[0], &m).what, BROKER_DISMISS);
	assert_int_equal(atomic_load(&divisors[REMOVED]), removed);

	m.slot = 3;
	assert_int_equal(offer(admit[0], to[0], &m).what, BROKER_DISMISS);
	assert_int_equal(broker_find(s.b, s.target, &number, &pidfd), 0); /* found before, and not yet released */
	close(pidfd);
	assert_int_equal(atomic_load(&divisors[REMOVED]), removed + 1);
	assert_int_equal(broker_find(s.b, child, &number, &pidfd), -EPERM);
	kill(child, SIGKILL);
	close(admit[0]);
	close(to[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(passes_memory_for_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(passes_files_of_process_and_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(passes_nothing_else_of_an_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(passes_where_a_thread_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(knows_no_other_request, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_of_others_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_ended_is_nobody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_is_that_of_the_program, setup, teardown),
		cmocka_unit_test_setup_teardown(passes_what_is_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(perf_map_is_no_link, setup, teardown),
		cmocka_unit_test_setup_teardown(other_paths_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(debug_files_are_beside_what_is_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(finds_what_a_target_started, setup, teardown),
		cmocka_unit_test_setup_teardown(finds_orphans_when_following, setup, teardown),
		cmocka_unit_test_setup_teardown(orphans_are_in_the_targets_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(signals_are_for_the_command, setup, teardown),
		cmocka_unit_test_setup_teardown(events_are_of_targets, setup, teardown),
		cmocka_unit_test_setup_teardown(events_are_opened_together, setup, teardown),
		cmocka_unit_test_setup_teardown(other_events_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(appointed_it_allows_no_more_events, setup, teardown),
		cmocka_unit_test_setup_teardown(ends_with_the_worker, setup, teardown),
		cmocka_unit_test_setup_teardown(priorities_are_of_the_workers_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(unread_answers_hold_up_nobody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(channels_are_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(allowed_events_are_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(random_requests_end_it, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_are_given_back, setup, teardown),
		cmocka_unit_test_setup_teardown(more_rights_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(rights_gained_meanwhile_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_all_may_read_costs_one_opening, setup, teardown),
		cmocka_unit_test_setup_teardown(who_may_be_dumped_is_looked_at_too, setup, teardown),
		cmocka_unit_test_setup_teardown(files_are_opened_as_the_target, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_not_there_is_no_target, setup, teardown),
		cmocka_unit_test_setup_teardown(programs_with_more_rights_are_no_targets, setup, teardown),
		cmocka_unit_test_setup_teardown(a_target_that_gains_a_group_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_zombie_has_accounts_and_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(a_child_has_a_channel_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(settings_may_be_read, setup, teardown),
		cmocka_unit_test_teardown(targets_are_admitted_and_dismissed, teardown),
		cmocka_unit_test(who_cannot_give_up_rights_does_not_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
