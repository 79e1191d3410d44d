#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/resource.h>
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

static int append(void *ctx, const struct store_happening *h)
{
	char *text = ctx;
	size_t n = strlen(text);

	assert_true(h->at_ns / SECOND >= now_s() - 30 && h->at_ns / SECOND <= now_s() + 30);
	snprintf(text + n, 4096 - n, "%s %d %s\n", h->kind, h->target.pid, h->text);
	return 0;
}

/* All that happened lately: kind, PID, text. */
static const char *happenings(void)
{
	static char text[4096];
	struct store_query q = {.from_ns = (now_s() - 60) * SECOND, .to_ns = (now_s() + 60) * SECOND, .event = "cpu"};
	struct store_view *v = NULL;

	text[0] = '\0';
	assert_int_equal(store_view_open(dir, &q, &v, NULL), 0);
	assert_int_equal(store_view_happenings(v, append, text, NULL), 0);
	store_view_close(v);
	return text;
}

static int list(void *ctx, const struct store_row *r)
{
	uint64_t *samples = ctx;

	assert_int_equal(r->target.n_labels, 3);
	assert_string_equal(r->target.labels[2].key, "service");
	assert_int_equal(r->weight, r->samples * STORE_TEST_PERIOD);
	assert_int_equal(r->by_kind[NAMED_INTERPRETED], r->weight);
	samples[r->target.pid] += r->samples;
	return 0;
}

static void lists_targets(void **state)
{
	struct keeper_child k = start();
	struct store_query q = {.from_ns = (now_s() - 60) * SECOND, .to_ns = (now_s() + 60) * SECOND, .event = "cpu"};
	struct store_view *v = NULL;
	uint64_t samples[4] = {0};

	(void)state;
	for (uint32_t i = 3; i > 0; i--)
		feed_target(k.feed, i, (pid_t)i);
	for (uint32_t i = 0; i < 9; i++)
		feed_profile(k.feed, 1 + i % 2, now_s() - 2 * i, i % 4, 5);
	stop(&k);
	assert_int_equal(store_view_open(dir, &q, &v, NULL), 0);
	assert_int_equal(store_view_targets(v, 9, list, samples, NULL), 0);
	assert_true(samples[1] == 25 && samples[2] == 20 && !samples[3]);
	store_view_close(v);
}

static void keeps_what_happened(void **state)
{
	struct keeper_child k = start();
	struct feed_message m = {
		.kind = FEED_EVENT, .target = 7, .event = FEED_EXEC, .text = "it became another program"};

	(void)state;
	feed_target(k.feed, 7, 1);
	feed_message(k.feed, &m); /* in 1970, it says */
	m = (struct feed_message){.kind = FEED_EVENT,
				  .target = FEED_TARGETS_MAX,
				  .event = FEED_THROTTLE,
				  .time_ns = (now_s() + 2) * SECOND,
				  .text = "24 Hz"};
	feed_message(k.feed, &m);
	feed_message(k.feed, &(struct feed_message){.kind = FEED_GONE, .target = 7});
	stop(&k);
	assert_string_equal(happenings(), "exec 1 it became another program\nthrottle 0 24 Hz\n");
}

/* A worker that was taken over fills neither the disk nor the log. */
static void keeps_so_many_of_them(void **state)
{
	struct keeper_child k = start();
	struct feed_message m = {.kind = FEED_EVENT,
				 .target = FEED_TARGETS_MAX,
				 .event = FEED_GAP,
				 .time_ns = now_s() * SECOND,
				 .text = "x"};
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		feed_message(k.feed, &m);
	stop(&k);
	for (const char *p = happenings(); (p = strchr(p, '\n')); p++)
		n++;
	assert_int_equal(n, 200);
	assert_non_null(strstr(said, "too many events"));
	assert_null(strchr(strchr(said, '\n') + 1, '\n')); /* one line */
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

static unsigned count_of(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what))) {
		n++;
		text += strlen(what);
	}
	return n;
}

static int another_feed(const struct keeper_child *k)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_true(keeper_tell(k, KEEPER_FEED, pair[1]));
	close(pair[1]);
	return pair[0];
}

static void reads_the_feeds_of_several_workers(void **state)
{
	struct keeper_child k = start();
	int other = another_feed(&k);
	uint64_t now = now_s();

	(void)state;
	feed_target(k.feed, 7, 1);
	feed_target(other, 7, 2);
	feed_profile(k.feed, 7, now, 1, 3);
	feed_profile(other, 7, now, 1, 5);
	feed_message(other, &(struct feed_message){.kind = FEED_GONE, .target = 7});
	close(other);
	stop(&k);
	assert_int_equal(store_test_count(dir, now - 20, now + 20, "shop"), 3);
	assert_int_equal(store_test_count(dir, now - 20, now + 20, "bank"), 5);
	assert_int_equal(count_of(happenings(), "ended unexpectedly"), 1); /* the first one said no FEED_GONE */
}

/* Others are still read; what was there before is kept. */
static void ends_a_feed_that_breaks_rules(void **state)
{
	struct keeper_child k = start();
	int other = another_feed(&k);
	uint64_t now = now_s();
	char byte;

	(void)state;
	feed_target(k.feed, 7, 1);
	feed_profile(k.feed, 7, now, 1, 3);
	feed_message(k.feed, &(struct feed_message){
				     .kind = FEED_PROFILE, .target = 7, .profile = "\x01\x02", .profile_len = 2});
	assert_true(read(k.feed, &byte, 1) <= 0);
	feed_target(other, 7, 2);
	feed_profile(other, 7, now, 1, 5);
	stop(&k);
	close(other);
	assert_non_null(strstr(said, "not read any more"));
	assert_int_equal(store_test_count(dir, now - 20, now + 20, NULL), 8);
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

/* Whatever is lost is told, and what comes when there is room again is stored. */
static void survives_a_full_disk(void **state)
{
	const struct rlimit none = {1024, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	struct keeper_child k;
	uint64_t now = now_s();

	(void)state;
	assert_int_equal(chown(dir, geteuid(), getegid()), 0); /* prlimit(2) reaches only processes of one's own */
	k = keeper_start(dir, (struct keeper_options){.listener = -1, .tcp = -1, .flush_ns = SECOND / 20});
	assert_int_equal(keeper_hear(&k), KEEPER_READY);
	feed_target(k.feed, 7, 1);
	feed_profile(k.feed, 7, now, 1, 3);
	usleep(200000);
	assert_int_equal(prlimit(k.pid, RLIMIT_FSIZE, &none, NULL), 0);
	feed_profile(k.feed, 7, now, 2, 5);
	usleep(200000);
	assert_int_equal(prlimit(k.pid, RLIMIT_FSIZE, &all, NULL), 0);
	usleep(200000);
	feed_profile(k.feed, 7, now, 3, 7);
	usleep(200000);
	stop(&k);
	assert_non_null(strstr(said, "the history is not stored: "));
	assert_non_null(strstr(said, "sampling goes on"));
	assert_int_equal(store_test_count(dir, now - 20, now + 20, NULL), 10);
	assert_non_null(strstr(happenings(), "gap 0 nothing was stored for "));
}

static void tells_when_it_was_not_running(void **state)
{
	struct keeper_child k = start();
	const char *text;
	double seconds;

	(void)state;
	stop(&k);
	k = start();
	text = strstr(happenings(), "restart 0 nothing was stored for ");
	assert_non_null(text);
	assert_non_null(strstr(text, "the daemon was stopped, and started again"));
	assert_null(strstr(happenings(), "gap 0")); /* it was told to end */
	kill(k.pid, SIGKILL);
	(void)keeper_wait(&k, said, sizeof(said));
	k = start();
	text = strstr(happenings(), "gap 0 nothing was stored for ");
	assert_non_null(text);
	assert_int_equal(
		sscanf(text, "gap 0 nothing was stored for %lf s: the process that keeps the history was not running",
		       &seconds),
		1);
	assert_true(seconds < 60);
	assert_null(strstr(text + 1, "gap 0")); /* not before the first one */
	stop(&k);
	assert_null(strstr(said, "nothing was stored"));
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
		cmocka_unit_test_setup_teardown(reads_the_feeds_of_several_workers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_a_feed_that_breaks_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(drops_other_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lists_targets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_what_happened, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_so_many_of_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_with_the_broker, set_up, tear_down),
		cmocka_unit_test_setup_teardown(survives_a_full_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tells_when_it_was_not_running, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_on_one_store, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
