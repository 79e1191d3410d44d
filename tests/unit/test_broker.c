#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/broker/broker.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/err.h"

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

	s = (struct scene){.b = broker_new(), .target = start_process(), .stranger = start_process()};
	*state = &s;
	if (!s.b || broker_add_target(s.b, s.target, &number, NULL) < 0 || number != 0)
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

	s->b = broker_new();
	assert_int_equal(broker_add_target(s->b, s->target, &number, NULL), 0);
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
		{.target = 1}, /* a foreign process has no number */
		{.target = UINT32_MAX},
		{.name = BROKER_NAMES},
		{.name = UINT32_MAX},
		{.name = BROKER_SYSCALL}, /* a thread's */
		{.what = BROKER_TASK, .name = BROKER_MEM, .tid = 1}, /* a process's */
		{.what = BROKER_TASK, .name = BROKER_STAT, .tid = 0},
		{.what = BROKER_TASK, .name = BROKER_STAT, .tid = -1},
		{.what = BROKER_MAPPED, .target = 1},
		{.what = BROKER_PERF_MAP, .target = 1},
		{.what = BROKER_DEBUG_FILE, .build_id_len = 1},
		{.what = BROKER_DEBUG_FILE, .build_id_len = BROKER_BUILD_ID_MAX + 1},
		{.what = BROKER_DEBUG_FILE, .build_id_len = UINT32_MAX},
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
	assert_int_equal(broker_mapped(s->b, 0, 0, 4096), -ESRCH);
	assert_int_equal(broker_perf_map(s->b, 0), -ESRCH);
	assert_int_equal(broker_debug_file(s->b, 0, (const uint8_t *)"ab", 2), -ESRCH);
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
	s->b = broker_new();
	assert_int_equal(broker_add_target(s->b, s->target, &number, NULL), 0);
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

/* The first mapping of a file, which the target has too: this program's, where no sanitizer has put something before it. */
static void find_own(uint64_t *start, uint64_t *end)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long inode = 0;
	char line[4096];

	assert_non_null(f);
	while (!inode && fgets(line, sizeof(line), f))
		assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %lu", start, end, &inode), 3);
	assert_true(inode != 0);
	fclose(f);
}

static void passes_what_is_mapped(void **state)
{
	struct scene *s = *state;
	struct stat mapped, self;
	uint64_t start, end;
	int fd;

	find_own(&start, &end);
	fd = broker_mapped(s->b, 0, start, end);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &mapped), 0);
	assert_int_equal(stat("/proc/self/exe", &self), 0);
	assert_true(mapped.st_ino == self.st_ino && mapped.st_dev == self.st_dev);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
	assert_int_equal(broker_mapped(s->b, 0, start, end + 4096), -ENOENT);
	assert_int_equal(broker_mapped(s->b, 0, start + 4096, end), -ENOENT);
	assert_int_equal(broker_mapped(s->b, 0, 0, UINT64_MAX), -ENOENT);
	assert_int_equal(broker_mapped(s->b, 0, UINT64_MAX, 0), -ENOENT);
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
	assert_int_equal(broker_perf_map(s->b, 0), -ENOENT);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, "map", 3), 3);
	close(fd);
	expect_text(broker_perf_map(s->b, 0), "map");
	assert_int_equal(link(path, other), 0);
	assert_int_equal(broker_perf_map(s->b, 0), -EACCES);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(broker_perf_map(s->b, 0), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(broker_perf_map(s->b, 0), -EACCES);
	assert_int_equal(unlink(path), 0);
	if (geteuid() == 0) {
		assert_int_equal(rename(other, path), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(broker_perf_map(s->b, 0), -EACCES);
		assert_int_equal(unlink(path), 0);
	}
	unlink(other);
}

static void debug_files_are_named_by_their_id(void **state)
{
	struct scene *s = *state;
	uint8_t id[BROKER_BUILD_ID_MAX];

	memcpy(id, "../../../../../../../../etc/shadow", 34); /* bytes of a number, not of a name */
	assert_int_equal(broker_debug_file(s->b, 0, id, 34), -ENOENT);
	memset(id, 0xff, sizeof(id));
	assert_int_equal(broker_debug_file(s->b, 0, id, sizeof(id)), -ENOENT);
	assert_int_equal(broker_debug_file(s->b, 0, id, 2), -ENOENT);
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
	s->b = broker_new();
	assert_int_equal(broker_add_target(s->b, s->target, &number, NULL), 0);
	assert_int_equal(broker_start(s->b, NULL, NULL), 0);
	expect_text(broker_proc(s->b, 0, BROKER_COMM), program_invocation_short_name);
	assert_int_equal(read(go[0], &byte, 1), 1);
	assert_int_equal(broker_proc(s->b, 0, BROKER_MEM), -EPERM);
	assert_int_equal(broker_proc(s->b, 0, BROKER_COMM), -EPERM);
	assert_int_equal(broker_perf_map(s->b, 0), -EPERM);
	close(go[0]);
	close(go[1]);
}

static void who_is_not_there_is_no_target(void **state)
{
	struct scene *s = *state;
	struct err err = {0};

	assert_int_equal(broker_add_target(s->b, INT32_MAX, &(uint32_t){0}, &err), -ESRCH);
	assert_true(err.msg[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(passes_memory_for_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(passes_files_of_process_and_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(knows_no_other_request, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_of_others_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_ended_is_nobody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_is_that_of_the_program, setup, teardown),
		cmocka_unit_test_setup_teardown(passes_what_is_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(perf_map_is_no_link, setup, teardown),
		cmocka_unit_test_setup_teardown(debug_files_are_named_by_their_id, setup, teardown),
		cmocka_unit_test_setup_teardown(more_rights_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_not_there_is_no_target, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
