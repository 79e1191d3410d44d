#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/closed/caller.h"

/* A /proc of processes that are not there. */
struct fake {
	char dir[64];
	int fd;
};

static int setup(void **state)
{
	static struct fake f;

	f = (struct fake){.dir = "/tmp/jsampler-caller-XXXXXX"};
	*state = &f;
	if (!mkdtemp(f.dir))
		return -1;
	f.fd = open(f.dir, O_PATH | O_DIRECTORY);
	return f.fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fake *f = *state;
	char command[128];

	close(f->fd);
	snprintf(command, sizeof(command), "rm -r %s", f->dir);
	return system(command);
}

/* uid, gid: the real ones; the others are root's, as sudo has them. */
static void process(struct fake *f, int pid, int parent, unsigned uid, unsigned gid)
{
	char path[96];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%d", f->dir, pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%d/status", f->dir, pid);
	out = fopen(path, "w");
	assert_non_null(out);
	fprintf(out,
		"Name:\tx\\nUid:\\t1\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\n",
		pid, pid, parent);
	fprintf(out, "TracerPid:\t0\nUid:\t%u\t0\t0\t0\nGid:\t%u\t0\t0\t0\nFDSize:\t64\n", uid, gid);
	fclose(out);
}

static void expect(struct fake *f, const char *sudo_uid, unsigned uid, unsigned gid)
{
	struct ids ids;

	assert_true(caller_ids(f->fd, 30, sudo_uid, &ids));
	assert_int_equal(ids.uid, uid);
	assert_int_equal(ids.gid, gid);
}

static void expect_none(struct fake *f, const char *sudo_uid)
{
	struct ids ids;

	assert_false(caller_ids(f->fd, 30, sudo_uid, &ids));
}

/* A shell of user 1000, sudo, jsampler. */
static void chain(struct fake *f)
{
	process(f, 1, 0, 0, 0);
	process(f, 10, 1, 1000, 100);
	process(f, 20, 10, 0, 0);
	process(f, 30, 20, 0, 0);
}

static void takes_the_user_of_sudo(void **state)
{
	chain(*state);
	expect(*state, "1000", 1000, 100);
}

static void believes_no_environment(void **state)
{
	static const char *const lies[] = {
		"1001", "0", "", "-1", "4294967295", "1000 ", "0x3e8", "nobody", "99999999999999999999"};

	chain(*state);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		expect_none(*state, lies[i]);
	expect_none(*state, NULL);
}

static void root_all_the_way_is_none(void **state)
{
	chain(*state);
	process(*state, 10, 1, 0, 0);
	expect_none(*state, "1000");
}

/* The nearest one counts: who has called that with sudo in turn is not asked. */
static void the_nearest_user_counts(void **state)
{
	chain(*state);
	process(*state, 20, 10, 1002, 102);
	expect_none(*state, "1000");
	expect(*state, "1002", 1002, 102);
}

/* sudo(8) of Debian 12: the caller's real uid, and real gid 0. */
static void sudo_itself_has_no_gid(void **state)
{
	chain(*state);
	process(*state, 20, 10, 1000, 0);
	expect(*state, "1000", 1000, 100);
	process(*state, 10, 1, 1001, 101);
	expect_none(*state, "1000");
}

static void gid_0_is_none(void **state)
{
	chain(*state);
	process(*state, 10, 1, 1000, 0);
	expect_none(*state, "1000");
}

static void broken_chains_have_none(void **state)
{
	struct fake *f = *state;
	struct ids ids;
	char path[96];

	process(f, 30, 20, 0, 0);
	expect_none(f, "1000"); /* 20 is not there */
	process(f, 20, 30, 0, 0);
	expect_none(f, "1000"); /* a circle */
	snprintf(path, sizeof(path), "%s/20/status", f->dir);
	assert_int_equal(truncate(path, 40), 0);
	expect_none(f, "1000");
	assert_false(caller_ids(-1, 30, "1000", &ids));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(takes_the_user_of_sudo, setup, teardown),
		cmocka_unit_test_setup_teardown(believes_no_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(root_all_the_way_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(the_nearest_user_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(sudo_itself_has_no_gid, setup, teardown),
		cmocka_unit_test_setup_teardown(gid_0_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(broken_chains_have_none, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
