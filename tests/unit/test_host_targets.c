#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/log.h"

/* So that no worker is started. */
static int no_keeper(void *ctx, int socket)
{
	(void)ctx, (void)socket;
	return -EPIPE;
}

/* How many of `n` found JVMs of that user are taken. */
static size_t take(struct targets *t, size_t n, uid_t uid, bool in_namespace)
{
	static pid_t pid = 1;
	size_t before = t->n;

	for (size_t i = 0; i < n; i++, pid++)
		targets_found(t,
			      &(struct scan_found){pid, UINT64_MAX, in_namespace ? uid + (uid_t)i : uid, in_namespace});
	return t->n - before;
}

/* Anybody can start processes that look like JVMs. */
static void one_user_leaves_room_for_others(void **state)
{
	struct targets t = {.rules = rules_new(), .hz = 49, .feed = no_keeper};

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(&t, NULL), 0);
	assert_int_equal(take(&t, TARGETS_MAX, 1000, false), TARGETS_OF_USER);
	assert_int_equal(take(&t, 10, 1001, false), 10);
	assert_int_equal(take(&t, 1, 1000, false), 0);
	targets_turn(&t); /* there are no such processes */
	assert_int_equal(take(&t, TARGETS_MAX, 100000, true), TARGETS_OF_USER);
	targets_turn(&t);
	assert_int_equal(take(&t, TARGETS_MAX + 1, 0, false), TARGETS_MAX);
	targets_done(&t);
	rules_free(t.rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_leaves_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
