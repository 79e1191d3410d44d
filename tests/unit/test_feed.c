#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "sampler/daemon/feed/feed.h"
#include "symbolizer/base/buf.h"

static const struct label labels[] = {{"service", "shop"}, {"version", ""}};
static const struct feed_message target = {.kind = FEED_TARGET,
					   .target = 7,
					   .boot_id = "b00t",
					   .pid = 4711,
					   .start_ticks = 123,
					   .since_ns = 456,
					   .labels = labels,
					   .n_labels = 2};
static const struct feed_message profile = {.kind = FEED_PROFILE, .target = 7, .profile = "pprof\0", .profile_len = 6};
static const struct feed_message event = {.kind = FEED_EVENT,
					  .target = FEED_TARGETS_MAX,
					  .event = FEED_GAP,
					  .time_ns = 99,
					  .text = "the worker was started again"};
static const struct feed_message gone = {.kind = FEED_GONE, .target = 7};

static struct buf all(const struct feed_message *const *m, size_t n)
{
	struct buf b = {0};

	for (size_t i = 0; i < n; i++)
		assert_int_equal(feed_write(m[i], &b), 0);
	return b;
}

/* How many messages there are until the stream ends or breaks, in *ret. */
static size_t read_all(const void *bytes, size_t n, int *ret)
{
	struct feed_reader *r = feed_reader_new();
	struct feed_message m;
	size_t count = 0;

	assert_non_null(r);
	assert_int_equal(feed_reader_add(r, bytes, n), 0);
	while ((*ret = feed_reader_next(r, &m)) > 0)
		count++;
	assert_int_equal(feed_reader_next(r, &m), *ret);
	feed_reader_free(r);
	return count;
}

/* Whatever pieces it comes in. */
static void as_written(void **state)
{
	static const struct feed_message *const messages[] = {&target, &profile, &event, &gone, &target};
	struct buf b = all(messages, 5);
	struct feed_message m;

	(void)state;
	for (size_t piece = 1; piece < b.len + 1; piece += piece < 40 ? 1 : 37) {
		struct feed_reader *r = feed_reader_new();
		size_t n = 0;

		for (size_t at = 0; at < b.len; at += piece) {
			assert_int_equal(feed_reader_add(r, b.data + at, b.len - at < piece ? b.len - at : piece), 0);
			while (feed_reader_next(r, &m) > 0) {
				const struct feed_message *as = messages[n++];

				assert_true(m.kind == as->kind && m.target == as->target && m.pid == as->pid);
				assert_true(m.start_ticks == as->start_ticks && m.since_ns == as->since_ns);
				assert_true(m.event == as->event && m.time_ns == as->time_ns);
				assert_int_equal(m.n_labels, as->n_labels);
				for (size_t i = 0; i < m.n_labels; i++) {
					assert_string_equal(m.labels[i].key, as->labels[i].key);
					assert_string_equal(m.labels[i].value, as->labels[i].value);
				}
				assert_int_equal(m.profile_len, as->profile_len);
				assert_true(!as->profile || memcmp(m.profile, as->profile, m.profile_len) == 0);
				assert_true(!as->text || strcmp(m.text, as->text) == 0);
				assert_true(!as->boot_id || strcmp(m.boot_id, as->boot_id) == 0);
			}
		}
		assert_int_equal(n, 5);
		feed_reader_free(r);
	}
	buf_done(&b);
}

static void out_of_order(void **state)
{
	static const struct feed_message *const rows[][3] = {
		{&profile}, {&gone}, {&target, &target}, {&target, &gone, &profile}, {&target, &gone, &gone}};
	static const size_t sizes[] = {1, 1, 2, 3, 3};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf b = all(rows[i], sizes[i]);
		int r;

		assert_int_equal(read_all(b.data, b.len, &r), sizes[i] - 1);
		assert_int_equal(r, -EPROTO);
		buf_done(&b);
	}
}

/* Each byte of a stream changed to each of some values, and the stream cut at each place: never more than was sent, and no crash. */
static void damaged(void **state)
{
	static const struct feed_message *const messages[] = {&target, &profile, &event, &gone};
	static const uint8_t values[] = {0, 1, 0x1b, 0x7f, 0x80, 0xff};
	struct buf b = all(messages, 4);
	size_t broken = 0;
	int r;

	(void)state;
	for (size_t at = 0; at < b.len; at++) {
		char *exact = malloc(b.len), was = b.data[at];

		for (size_t v = 0; v < sizeof(values); v++) {
			memcpy(exact, b.data, b.len);
			exact[at] = (char)values[v];
			assert_true(read_all(exact, b.len, &r) <= 4);
			broken += r < 0;
		}
		free(exact);
		assert_int_equal(b.data[at], was);
		assert_true(read_all(b.data, at, &r) < 4);
		assert_int_equal(r, 0);
	}
	assert_true(broken > 100);
	buf_done(&b);
}

static void limits(void **state)
{
	static char text[FEED_TEXT_MAX + 2];
	static struct label many[FEED_LABELS_MAX + 1];
	struct feed_message m = target;
	struct buf b = {0};
	uint32_t length = FEED_BYTES_MAX + 1;
	int r;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i <= FEED_LABELS_MAX; i++)
		many[i] = (struct label){"k", "v"};
	m.labels = many;
	m.n_labels = FEED_LABELS_MAX + 1;
	assert_int_equal(feed_write(&m, &b), -EINVAL);
	m.n_labels = FEED_LABELS_MAX;
	many[3].value = text + FEED_TEXT_MAX - FEED_VALUE_MAX;
	assert_int_equal(feed_write(&m, &b), -EINVAL);
	many[3].value++;
	assert_int_equal(feed_write(&m, &b), 0);
	assert_int_equal(read_all(b.data, b.len, &r), 1);
	many[3].key = "";
	assert_int_equal(feed_write(&m, &b), -EINVAL);
	m = event;
	m.text = text;
	assert_int_equal(feed_write(&m, &b), -EINVAL);
	m.text = text + 1;
	assert_int_equal(feed_write(&m, &b), 0);
	m.event = FEED_EVENTS;
	assert_int_equal(feed_write(&m, &b), -EINVAL);
	m = profile;
	m.target = FEED_TARGETS_MAX;
	assert_int_equal(feed_write(&m, &b), -EINVAL);
	m = profile;
	m.profile_len = 0;
	assert_int_equal(feed_write(&m, &b), -EINVAL);
	assert_int_equal(read_all(b.data, b.len, &r), 2);
	memcpy(b.data, &length, sizeof(length));
	assert_int_equal(read_all(b.data, b.len, &r), 0);
	assert_int_equal(r, -EPROTO); /* and is not waited for */
	b.data[4] = FEED_VERSION + 1;
	assert_int_equal(read_all(b.data, b.len, &r), 0);
	assert_int_equal(r, -EPROTONOSUPPORT);
	buf_done(&b);
}

/* What is no text breaks the stream, since it is shown to people and compared with patterns. */
static void no_text(void **state)
{
	static const char *const texts[] = {"a\x1b[2J", "\xff", "a\nb", "\xe2\x80\xae"};
	struct feed_message m = event;
	int r;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct buf b = {0};

		m.text = texts[i];
		assert_int_equal(feed_write(&m, &b), 0);
		assert_int_equal(read_all(b.data, b.len, &r), 0);
		assert_int_equal(r, -EPROTO);
		buf_done(&b);
	}
}

static void longer_than_it_says(void **state)
{
	static const struct feed_message *const messages[] = {&target};
	struct buf b = all(messages, 1);
	int r;

	(void)state;
	buf_add(&b, "", 1);
	b.data[0]++;
	assert_int_equal(read_all(b.data, b.len, &r), 0);
	assert_int_equal(r, -EPROTO);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_written), cmocka_unit_test(out_of_order), cmocka_unit_test(damaged),
		cmocka_unit_test(limits),     cmocka_unit_test(no_text),      cmocka_unit_test(longer_than_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
