#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "tests/support/keeper_child.h"

static char dir[64], said[4096];

static int set_up(void **state)
{
	(void)state;
	keeper_test_dir(dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_test_remove(dir);
	return 0;
}

static uint64_t now_s(void)
{
	return (uint64_t)time(NULL);
}

static struct keeper_child start(void)
{
	struct keeper_child k = keeper_start(dir, (struct keeper_options){.listener = -1, .tcp = -1});

	assert_int_equal(keeper_hear(&k), KEEPER_READY);
	return k;
}

static void stop(struct keeper_child *k)
{
	assert_true(keeper_tell(k, KEEPER_STOP, -1));
	assert_int_equal(shutdown(k->feed, SHUT_WR), 0);
	assert_int_equal(keeper_wait(k, said, sizeof(said)), 0);
}

/* All the way, with what was sent after KEEPER_STOP. */
static void stores_what_it_is_fed(void **state)
{
	struct keeper_child k = start();
	uint64_t now = now_s();

	(void)state;
	feed_target(k.feed, 7, 1);
	feed_target(k.feed, 8, 2);
	feed_profile(k.feed, 7, now, 1, 3);
	assert_true(keeper_tell(&k, KEEPER_STOP, -1));
	feed_profile(k.feed, 8, now, 1, 5);
	stop(&k);
	assert_string_equal(said, "");
	assert_int_equal(store_test_count(dir, now - 20, now + 20, "shop"), 3);
	assert_int_equal(store_test_count(dir, now - 20, now + 20, "bank"), 5);
}

static void takes_the_feed_of_a_new_worker(void **state)
{
	struct keeper_child k = start();
	uint64_t now = now_s();
	int pair[2];

	(void)state;
	feed_target(k.feed, 7, 1);
	feed_profile(k.feed, 7, now, 1, 3);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	close(k.feed);
	k.feed = pair[0];
	usleep(50000);
	assert_true(keeper_tell(&k, KEEPER_FEED, pair[1]));
	close(pair[1]);
	feed_target(k.feed, 7, 2);
	feed_profile(k.feed, 7, now, 1, 5);
	stop(&k);
	assert_int_equal(store_test_count(dir, now - 20, now + 20, "shop"), 3);
	assert_int_equal(store_test_count(dir, now - 20, now + 20, "bank"), 5);
}

/* The broker is told; what was there before is kept. */
static void ends_a_feed_that_breaks_rules(void **state)
{
	struct keeper_child k = start();
	uint64_t now = now_s();

	(void)state;
	feed_target(k.feed, 7, 1);
	feed_profile(k.feed, 7, now, 1, 3);
	feed_message(k.feed, &(struct feed_message){
				     .kind = FEED_PROFILE, .target = 7, .profile = "\x01\x02", .profile_len = 2});
	assert_int_equal(keeper_hear(&k), KEEPER_BROKEN);
	stop(&k);
	assert_non_null(strstr(said, "started again"));
	assert_int_equal(store_test_count(dir, now - 20, now + 20, NULL), 3);
}

static void drops_other_times(void **state)
{
	struct keeper_child k = start();
	uint64_t now = now_s();

	(void)state;
	feed_target(k.feed, 7, 1);
	feed_profile(k.feed, 7, now - 7200, 1, 3);
	feed_profile(k.feed, 7, now + 7200, 1, 3);
	feed_profile(k.feed, 7, 0, 1, 3);
	feed_profile(k.feed, 7, now, 1, 5);
	stop(&k);
	assert_int_equal(store_test_count(dir, now - 9000, now + 9000, NULL), 5);
	assert_int_equal(store_test_count(dir, 0, now + 9000, NULL), 5);
}

static void ends_with_the_broker(void **state)
{
	struct keeper_child k = start();
	uint64_t now = now_s();

	(void)state;
	feed_target(k.feed, 7, 1);
	feed_profile(k.feed, 7, now, 1, 3);
	assert_int_equal(shutdown(k.feed, SHUT_WR), 0);
	assert_int_equal(shutdown(k.control, SHUT_RDWR), 0);
	assert_int_equal(keeper_wait(&k, said, sizeof(said)), 0);
	assert_int_equal(store_test_count(dir, now - 20, now + 20, NULL), 3);
}

static void two_on_one_store(void **state)
{
	struct keeper_child first = start(),
			    second = keeper_start(dir, (struct keeper_options){.listener = -1, .tcp = -1});
	int status;

	(void)state;
	assert_int_equal(keeper_hear(&second), 0);
	status = keeper_wait(&second, said, sizeof(said));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_non_null(strstr(said, "in use by another daemon"));
	stop(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stores_what_it_is_fed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(takes_the_feed_of_a_new_worker, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_a_feed_that_breaks_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(drops_other_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_with_the_broker, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_on_one_store, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
