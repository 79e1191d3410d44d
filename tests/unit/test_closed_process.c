#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampler/closed/closed.h"
#include "sampler/closed/landlock.h"
#include "symbolizer/base/log.h"

enum { NOBODY = 65534 };

/* In a child with stderr in a pipe: its status, and what it said. */
static int run(void (*body)(void), char *ret, size_t size)
{
	int out[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], STDERR_FILENO);
		close(out[0]);
		close(out[1]);
		body();
		_exit(0);
	}
	close(out[1]);
	while ((n = read(out[0], ret + len, size - 1 - len)) > 0)
		len += (size_t)n;
	ret[len] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void begin(struct closed_gaps *g)
{
	if (closed_begin(CLOSED_FILES, -1, g, NULL) < 0)
		_exit(2);
	closed_say_gaps(g);
}

static void work(void)
{
	struct closed_gaps g;
	char *p;

	begin(&g);
	if (g.filter)
		_exit(3);
	for (size_t size = 1; size < (64 << 20); size *= 3) {
		p = malloc(size);
		if (!p)
			_exit(4);
		memset(p, 1, size);
		free(p);
	}
	_exit(open("/dev/null", O_RDONLY) < 0 && errno == EACCES ? 0 : 5);
}

static void works_on(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(run(work, said, sizeof(said)), 0);
	assert_string_equal(said, "");
}

/* isatty(3), as old and new versions of glibc ask. */
static void ask_for_terminal(void)
{
	static const unsigned long requests[] = {TCGETS, 0x802c542a /* TCGETS2 */};
	struct closed_gaps g;
	char settings[64];

	begin(&g);
	for (int i = 0; i < 2; i++)
		if (ioctl(STDERR_FILENO, requests[i], settings) == 0 || errno != ENOTTY)
			_exit(3);
}

static void a_terminal_is_recognised(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(run(ask_for_terminal, said, sizeof(said)), 0);
	assert_string_equal(said, "");
}

static void try_socket(void)
{
	struct closed_gaps g;

	begin(&g);
	syscall(SYS_socket, 0x1234, 0xabcd, 0);
}

static void dies_with_a_line(void **state)
{
	char said[512], expected[128];
	int status = run(try_socket, said, sizeof(said));

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	snprintf(expected, sizeof(expected), "jsampler: system call %d (0x1234, 0xabcd) is not allowed", SYS_socket);
	assert_int_equal(strncmp(said, expected, strlen(expected)), 0);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one */
}

static void wait_to_be_stopped(void)
{
	struct closed_gaps g;

	begin(&g);
	if (write(STDERR_FILENO, "", 1) == 1)
		poll(NULL, 0, -1);
}

/* kill(2) from a process of nobody's: its errno. */
static int stop_as_nobody(pid_t pid)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(setresuid(NOBODY, NOBODY, NOBODY) < 0 ? 255 : kill(pid, SIGSTOP) < 0 ? errno : 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

static void no_user_stops_what_root_parses_with(void **state)
{
	int out[2], refused;
	char byte;
	pid_t pid;

	(void)state;
	if (geteuid() != 0 || getenv("SUDO_UID"))
		skip();
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], STDERR_FILENO);
		wait_to_be_stopped();
		_exit(0);
	}
	assert_int_equal(read(out[0], &byte, 1), 1);
	refused = stop_as_nobody(pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(out[0]);
	close(out[1]);
	assert_int_equal(refused, EPERM);
}

/* --- while keeping --- */

static char own[] = "/tmp/jsampler-keeping-XXXXXX";

static void begin_keeping(struct closed_gaps *g)
{
	int dir = open(own, O_RDONLY | O_DIRECTORY);

	if (fchdir(dir) < 0 || closed_begin_keeping(dir, g, NULL) < 0 || g->filter)
		_exit(2);
	close(dir);
}

/* What SQLite does in the directory, and what it does not need. */
static void keep_files(void)
{
	struct closed_gaps g;
	int fd;

	begin_keeping(&g);
	fd = open("a", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || fdatasync(fd) < 0 || ftruncate(fd, 0) < 0 || rename("a", "b") < 0 ||
	    unlink("b") < 0)
		_exit(3);
	if (g.landlock)
		_exit(77);
	if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES || open("../x", O_WRONLY | O_CREAT, 0600) >= 0 ||
	    errno != EACCES || open("/proc/self/mem", O_RDONLY) >= 0 || errno != EACCES)
		_exit(4);
	_exit(0);
}

static void keep_and_connect(void)
{
	struct closed_gaps g;

	begin_keeping(&g);
	syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static void keep_and_fork(void)
{
	struct closed_gaps g;

	begin_keeping(&g);
	fork();
}

static void keep_and_link(void)
{
	struct closed_gaps g;

	begin_keeping(&g);
	if (symlink("/etc/passwd", "x") < 0)
		_exit(5);
}

static void trace_with_options(uintptr_t options)
{
	struct closed_gaps g;

	if (closed_begin_tracing(-1, &g, NULL) < 0 || g.filter)
		_exit(3);
	_exit(ptrace(PTRACE_SEIZE, getppid(), NULL, (void *)options) == 0 || errno == EPERM ? 0 : 4);
}

static void trace_and_kill_at_exit(void)
{
	trace_with_options(PTRACE_O_EXITKILL);
}

static void trace(void)
{
	trace_with_options(0);
}

/* The end of the process that stops threads must not be the target's. Its own parent is what it seizes here. */
static void tracing_sets_no_options(void **state)
{
	char said[512];
	int status = run(trace_and_kill_at_exit, said, sizeof(said));

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	assert_int_equal(run(trace, said, sizeof(said)), 0);
}

static void keeping_reaches_one_directory(void **state)
{
	static void (*const tries[])(void) = {keep_and_connect, keep_and_fork, keep_and_link};
	char said[512];
	int status;

	(void)state;
	assert_non_null(mkdtemp(own));
	status = run(keep_files, said, sizeof(said));
	assert_true(status == 0 || (landlock_version() < 0 && WEXITSTATUS(status) == 77));
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		status = run(tries[i], said, sizeof(said));
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
	assert_int_equal(rmdir(own), 0);
}

/* --- while sampling --- */

static void begin_sampling(void)
{
	struct closed_gaps g;

	if (closed_begin(CLOSED_SAMPLING, -1, &g, NULL) < 0 || g.filter)
		_exit(2);
}

static void make_datagrams(void)
{
	int pair[2];

	begin_sampling();
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
}

static void send_to_a_name(void)
{
	const struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/nonexistent"};
	int pair[2];

	begin_sampling();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 && send(pair[0], "x", 1, MSG_NOSIGNAL) == 1)
		sendto(pair[0], "x", 1, 0, (const struct sockaddr *)&to, sizeof(to));
}

/* No group has that number. */
static void kill_a_group(void)
{
	begin_sampling();
	kill(-INT32_MAX, SIGKILL);
}

static void sampling_reaches_nobody_else(void **state)
{
	static void (*const tries[])(void) = {make_datagrams, send_to_a_name, kill_a_group};
	static const int calls[] = {SYS_socketpair, SYS_sendto, SYS_kill};
	char said[512], expected[64];

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		int status = run(tries[i], said, sizeof(said));

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
		snprintf(expected, sizeof(expected), "jsampler: system call %d (", calls[i]);
		assert_int_equal(strncmp(said, expected, strlen(expected)), 0);
	}
}

/* libc would look for the file of the time zone once more, and take UTC where it cannot. */
static void tell_time(void)
{
	static const time_t moment = 1700000000;
	struct closed_gaps g;
	struct tm before, after;
	char text[64];

	unsetenv("TZ");
	localtime_r(&moment, &before);
	begin(&g);
	localtime_r(&moment, &after);
	_exit(strftime(text, sizeof(text), "%F %T %z", &after) && before.tm_hour == after.tm_hour &&
			      before.tm_gmtoff == after.tm_gmtoff ?
		      0 :
		      14);
}

static void keeps_the_time_zone(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(run(tell_time, said, sizeof(said)), 0);
	assert_string_equal(said, "");
}

static void abort_it(void)
{
	struct closed_gaps g;

	begin(&g);
	abort();
}

static void abort_is_abort(void **state)
{
	char said[512];
	int status = run(abort_it, said, sizeof(said));

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* A container's filter, around this process, that answers `call` with `error`. */
static void refuse(int call, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		_exit(6);
}

static void without_filter(void)
{
	struct closed_gaps g;

	refuse(SYS_seccomp, EPERM);
	begin(&g);
	_exit(g.filter ? 0 : 7);
}

static void without_landlock(void)
{
	struct closed_gaps g;

	log_set_level(LOG_LEVEL_INFO);
	refuse(SYS_landlock_create_ruleset, ENOSYS);
	begin(&g);
	_exit(g.landlock == -ENOSYS && !g.filter ? 0 : 8);
}

static void what_is_refused_is_said(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(run(without_filter, said, sizeof(said)), 0);
	assert_non_null(strstr(said, "without a filter of system calls"));
	assert_int_equal(run(without_landlock, said, sizeof(said)), 0);
	assert_non_null(strstr(said, "no Landlock here"));
	assert_null(strstr(said, "without a filter"));
}

/* Landlock alone, without the filter: neither a file nor a directory can be opened or made any more. */
static void close_files(void)
{
	int null = open("/dev/null", O_WRONLY);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_close(-1) < 1)
		_exit(9);
	if (open("/dev/null", O_RDONLY) >= 0 || errno != EACCES)
		_exit(10);
	if (open("/tmp/jsampler-closed-test", O_WRONLY | O_CREAT, 0600) >= 0 || errno != EACCES)
		_exit(11);
	if (open("/tmp", O_RDONLY | O_DIRECTORY) >= 0 || errno != EACCES)
		_exit(12);
	_exit(write(null, "x", 1) == 1 ? 0 : 13);
}

static void landlock_closes_files(void **state)
{
	char said[512];

	(void)state;
	if (landlock_version() < 0)
		skip();
	assert_int_equal(run(close_files, said, sizeof(said)), 0);
}

static char kept[] = "/tmp/jsampler-closed-XXXXXX";

/* errno of opening; 0: it worked. */
static int opens(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* With the directory as an exception: a store can be kept in it, and nothing else. */
static void close_but(void)
{
	int dir = open(kept, O_RDONLY | O_DIRECTORY);

	if (dir < 0 || chdir(kept) < 0 || symlink("/etc/passwd", "out") < 0)
		_exit(9);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_close(dir) < 1)
		_exit(10);
	if (opens("a", O_RDWR | O_CREAT) || opens("a", O_RDWR) || truncate("a", 10) < 0 || rename("a", "b") < 0)
		_exit(11);
	if (opens(kept, O_RDONLY | O_DIRECTORY) || unlink("b") < 0)
		_exit(12);
	if (opens("out", O_RDONLY) != EACCES || opens("../x", O_WRONLY | O_CREAT) != EACCES ||
	    opens("/tmp", O_RDONLY) != EACCES)
		_exit(13);
	if (mkdir("d", 0700) == 0 || symlink("x", "s") == 0 || mkfifo("f", 0600) == 0 || rename("out", "../out") == 0)
		_exit(14);
	_exit(unlink("out") == 0 ? 0 : 15);
}

static void landlock_leaves_a_directory(void **state)
{
	char said[512];

	(void)state;
	if (landlock_version() < 0)
		skip();
	assert_non_null(mkdtemp(kept));
	assert_int_equal(run(close_but, said, sizeof(said)), 0);
	assert_int_equal(rmdir(kept), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(works_on),
		cmocka_unit_test(a_terminal_is_recognised),
		cmocka_unit_test(keeps_the_time_zone),
		cmocka_unit_test(dies_with_a_line),
		cmocka_unit_test(no_user_stops_what_root_parses_with),
		cmocka_unit_test(tracing_sets_no_options),
		cmocka_unit_test(keeping_reaches_one_directory),
		cmocka_unit_test(sampling_reaches_nobody_else),
		cmocka_unit_test(abort_is_abort),
		cmocka_unit_test(what_is_refused_is_said),
		cmocka_unit_test(landlock_closes_files),
		cmocka_unit_test(landlock_leaves_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
