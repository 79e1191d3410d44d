#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/host/fair.h"
#include "sampler/daemon/host/scan.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

/* --- the order */

static void assert_order(struct fair *v, size_t n, const pid_t *wanted)
{
	fair_order(v, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(v[i].pid, wanted[i]);
}

static void users_take_turns(void **state)
{
	struct fair v[] = {{10, 1000, 7, false, 0}, {11, 1000, 7, false, 0}, {12, 1000, 5, false, 0},
			   {13, 1001, 9, false, 0}, {14, -2, 9, false, 0},   {15, -2, 8, false, 0}};

	(void)state;
	assert_order(v, 6, (pid_t[]){15, 12, 13, 14, 10, 11});
	fair_order(v, 0);
}

static void who_takes_long_is_last(void **state)
{
	struct fair v[] = {
		{10, 1000, 1, true, 0}, {11, 1000, 1, true, 0}, {12, 1001, 9, false, 0}, {13, 1001, 9, false, 0}};

	(void)state;
	assert_order(v, 4, (pid_t[]){12, 13, 10, 11});
}

/* --- real processes */

enum { FLOOD = 30, FLOODER = 65533, OTHER = 65532 };

struct order {
	pid_t flood[FLOOD], other;
	int before; /* of the flood, found before the other */
	bool found;
};

static char dir[] = "/tmp/jsampler-scan-XXXXXX", java[64];

static pid_t start_java(uid_t user)
{
	pid_t child = fork();

	if (child == 0 && setgid(user) == 0 && setuid(user) == 0)
		execl(java, "java", "60", NULL);
	if (child == 0)
		_exit(1);
	return child;
}

/* Until they are named java. */
static void wait_for_start(pid_t pid)
{
	char path[64], comm[16] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	for (int i = 0; i < 10000 && strcmp(comm, "java\n") != 0; i++) {
		FILE *f = fopen(path, "re");

		usleep(1000);
		if (f && !fgets(comm, sizeof(comm), f))
			comm[0] = '\0';
		if (f)
			fclose(f);
	}
	assert_string_equal(comm, "java\n");
}

static bool found(void *ctx, const struct scan_found *f)
{
	struct order *o = ctx;

	for (int i = 0; i < FLOOD; i++)
		o->before += f->pid == o->flood[i] && !o->found;
	o->found |= f->pid == o->other;
	return true;
}

static void a_flood_does_not_delay_others(void **state)
{
	struct scan *s = scan_new();
	struct order o = {0};

	(void)state;
	if (geteuid() != 0)
		skip();
	for (int i = 0; i < FLOOD; i++)
		o.flood[i] = start_java(FLOODER);
	o.other = start_java(OTHER);
	for (int i = 0; i < FLOOD; i++)
		wait_for_start(o.flood[i]);
	wait_for_start(o.other);
	for (int i = 0; i < 10 && !o.found; i++)
		assert_true(scan_turn(s, found, &o, NULL) >= 0);
	assert_true(o.found);
	assert_in_range(o.before, 0, 1);
	for (int i = 0; i < FLOOD; i++)
		kill(o.flood[i], SIGKILL);
	kill(o.other, SIGKILL);
	while (wait(NULL) > 0)
		;
	scan_free(s);
}

/* What has become of a process. */
struct watched {
	pid_t pid;
	bool known; /* what is to be said about it */
	int found;
};

static bool count_found(void *ctx, const struct scan_found *f)
{
	struct watched *w = ctx;

	w->found += f->pid == w->pid;
	return w->known;
}

static int found_in_turn(struct scan *s, struct watched *w)
{
	w->found = 0;
	for (int i = 0; i < 20 && !w->found; i++) /* on a busy machine, one turn may not be enough */
		assert_true(scan_turn(s, count_found, w, NULL) >= 0);
	return w->found;
}

static void who_is_known_is_not_looked_at_again(void **state)
{
	struct scan *s = scan_new();
	struct watched w = {.pid = start_java(getuid())};

	(void)state;
	wait_for_start(w.pid);
	assert_int_equal(found_in_turn(s, &w), 1);
	w.known = true;
	usleep(1500000); /* a second, and a quarter of it */
	assert_int_equal(found_in_turn(s, &w), 1);
	scan_again(s, w.pid);
	assert_int_equal(found_in_turn(s, &w), 1);
	usleep(1500000);
	assert_int_equal(found_in_turn(s, &w), 0);
	scan_again(s, w.pid);
	assert_int_equal(found_in_turn(s, &w), 1);
	kill(w.pid, SIGKILL);
	waitpid(w.pid, NULL, 0);
	scan_free(s);
}

/*
 * Before its time, but not as often as anybody wants. Nobody else has its user, whose turn comes however many processes
 * others have.
 */
static void any_may_have_become_a_jvm(void **state)
{
	struct scan *s = scan_new();
	struct watched w = {0};
	uint64_t since_ns;
	int again;

	(void)state;
	if (geteuid() != 0)
		skip();
	w.pid = start_java(OTHER);
	wait_for_start(w.pid);
	assert_int_equal(found_in_turn(s, &w), 1);
	usleep(1500000);
	assert_int_equal(found_in_turn(s, &w), 1); /* the next time in 2 s */
	since_ns = clock_monotonic_ns();
	scan_any(s);
	assert_int_equal(found_in_turn(s, &w), 1);
	scan_any(s);
	again = found_in_turn(s, &w);
	assert_true(!again || clock_monotonic_ns() - since_ns > UINT64_C(1500000000));
	kill(w.pid, SIGKILL);
	waitpid(w.pid, NULL, 0);
	scan_free(s);
}

static int set_up(void **state)
{
	char command[160];

	(void)state;
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	snprintf(java, sizeof(java), "%s/java", dir);
	snprintf(command, sizeof(command), "cp /bin/sleep %s && chmod 755 %s", java, java);
	return system(command) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(java) < 0 || rmdir(dir) < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_take_turns),
		cmocka_unit_test(who_takes_long_is_last),
		cmocka_unit_test(a_flood_does_not_delay_others),
		cmocka_unit_test(who_is_known_is_not_looked_at_again),
		cmocka_unit_test(any_may_have_become_a_jvm),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
