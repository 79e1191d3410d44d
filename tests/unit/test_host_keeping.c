#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/config/config.h"
#include "sampler/daemon/host/keeping.h"
#include "symbolizer/base/err.h"

enum { OWNER = 61234, OTHER = 61235 };

static char top[] = "/tmp/jsampler-keeping-XXXXXX", history[64];

/* Whether a directory of that owner and mode may become the history. uid -1: there is none yet. */
static int open_history(uid_t uid, mode_t mode, const char *user, struct err *err)
{
	struct config c = {0};
	struct keeping k;
	int r;

	snprintf(c.directory, sizeof(c.directory), "%s", history);
	snprintf(c.user, sizeof(c.user), "%s", user);
	if (uid != (uid_t)-1) {
		assert_int_equal(mkdir(history, mode), 0);
		assert_int_equal(chmod(history, mode), 0);
		assert_int_equal(chown(history, uid, uid), 0);
	}
	r = keeping_open(&k, &c, err);
	keeping_close(&k);
	return r;
}

static int tear_down(void **state)
{
	(void)state;
	rmdir(history);
	return 0;
}

static void assert_refused(uid_t uid, mode_t mode, const char *user, const char *why)
{
	struct err err = {0};

	if (geteuid() != 0)
		skip();
	assert_true(open_history(uid, mode, user, &err) < 0);
	assert_non_null(strstr(err.msg, why));
}

static void a_directory_is_made_for_its_user(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(open_history((uid_t)-1, 0, "61234", NULL), 0);
	assert_int_equal(stat(history, &st), 0);
	assert_int_equal(st.st_uid, OWNER);
	assert_int_equal(st.st_mode & 07777, 0750);
}

static void its_own_is_used_again(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(open_history(OWNER, 0750, "61234", NULL), 0);
}

/* A user who has made the directory before would get the history of all JVMs. */
static void another_users_is_refused(void **state)
{
	(void)state;
	assert_refused(OTHER, 0700, "61234", "belongs to user 61235, not to 61234");
}

static void roots_is_refused(void **state)
{
	(void)state;
	assert_refused(0, 0750, "61234", "belongs to user 0, not to 61234");
}

static void what_others_may_write_is_refused(void **state)
{
	(void)state;
	assert_refused(OWNER, 0777, "61234", "others may write");
}

static void root_is_no_user_for_it(void **state)
{
	(void)state;
	assert_refused((uid_t)-1, 0, "root", "cannot belong to root");
	assert_refused((uid_t)-1, 0, "0", "cannot belong to root");
}

static void a_missing_user_is_named(void **state)
{
	(void)state;
	assert_refused((uid_t)-1, 0, "jsampler-nobody-has-this", "there is no user 'jsampler-nobody-has-this'");
}

/* --- a keeper that hangs --- */

static void start(struct keeping *k)
{
	struct config c = {.user = "61234", .ring_bytes = 1 << 20};

	snprintf(c.directory, sizeof(c.directory), "%s", history);
	assert_int_equal(keeping_open(k, &c, NULL), 0);
	assert_int_equal(keeping_start(k, NULL), 0);
}

static void answers(struct keeping *k)
{
	const struct daemon_numbers n = {.jvms = 1};
	struct keeper_message m;
	uint64_t told = k->told;

	keeping_numbers(k, &n);
	assert_int_equal(k->told, told + 1);
	for (int i = 0; i < 6000 && k->answered != k->told; i++) {
		keeping_asked(k, &m);
		poll(NULL, 0, 5);
	}
	assert_int_equal(k->answered, k->told);
}

static void hang(const struct keeping *k)
{
	int status;

	kill(k->pid, SIGSTOP);
	assert_int_equal(waitpid(k->pid, &status, WUNTRACED), k->pid);
	assert_true(WIFSTOPPED(status));
}

static void remove_history(struct keeping *k)
{
	unlinkat(k->o.store, "lock", 0);
	keeping_close(k);
}

static void one_that_hangs_is_replaced(void **state)
{
	const struct daemon_numbers n = {.jvms = 1};
	struct keeping k;
	int status;
	pid_t old;

	(void)state;
	start(&k);
	answers(&k);
	hang(&k);
	assert_int_equal(keeping_turn(&k, NULL), 0); /* it has nothing to do */
	k.stuck.idle_ns -= UINT64_C(30000000000);
	assert_int_equal(keeping_turn(&k, NULL), 0);
	keeping_numbers(&k, &n);
	assert_int_equal(keeping_turn(&k, NULL), 0);
	assert_true(k.control >= 0);
	k.stuck.idle_ns -= UINT64_C(30000000000);
	assert_int_equal(keeping_turn(&k, NULL), 0);
	assert_int_equal(k.control, -1);
	old = k.pid;
	assert_int_equal(waitpid(old, &status, 0), old);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(keeping_ended(&k, old, status));
	k.again_ns = 0;
	assert_int_equal(keeping_turn(&k, NULL), 0);
	assert_true(k.pid > 0 && k.pid != old);
	answers(&k);
	keeping_stop(&k);
	remove_history(&k);
}

/* The first process has other things to do, and a watchdog of its own. */
static void nobody_waits_for_one_that_hangs(void **state)
{
	const struct config c = {.ring_bytes = 1 << 20};
	struct keeping k;
	unsigned n = 0;
	int socket[2];

	(void)state;
	start(&k);
	answers(&k);
	hang(&k);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, socket), 0);
	while (n < 100000 && keeping_feed(&k, 0, socket[0]) == 0)
		n++;
	assert_true(n > 0 && n < 100000);
	keeping_refuse(&k, 1, &(struct err){.msg = "no"});
	keeping_limits(&k, &c); /* the next one begins with them */
	assert_int_equal(k.control, -1);
	assert_int_equal(k.o.ring_bytes, 1 << 20);
	keeping_stop(&k);
	close(socket[0]);
	close(socket[1]);
	remove_history(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_directory_is_made_for_its_user, tear_down),
		cmocka_unit_test_teardown(its_own_is_used_again, tear_down),
		cmocka_unit_test_teardown(another_users_is_refused, tear_down),
		cmocka_unit_test_teardown(roots_is_refused, tear_down),
		cmocka_unit_test_teardown(what_others_may_write_is_refused, tear_down),
		cmocka_unit_test_teardown(root_is_no_user_for_it, tear_down),
		cmocka_unit_test_teardown(a_missing_user_is_named, tear_down),
		cmocka_unit_test_teardown(one_that_hangs_is_replaced, tear_down),
		cmocka_unit_test_teardown(nobody_waits_for_one_that_hangs, tear_down),
	};
	int failed;

	if (!mkdtemp(top))
		return 1;
	snprintf(history, sizeof(history), "%s/history", top);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(top) < 0 || failed;
}
