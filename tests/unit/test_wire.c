/* The sampler's end of the bridge's stream: records, what they tell by time, peers that lie. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uthash.h>
#include <cmocka.h>

#include "jvm-bridge/peer/peer.h"
#include "jvm-bridge/peer/timeline.h"
#include "jvm-bridge/peer/wire_read.h"
#include "jvm-bridge/stream/wire.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "tests/support/wire_build.h"

/* --- records, written --- */

static void hello(struct buf *b, int major, int64_t offset)
{
	size_t at = begin(b, WIRE_HELLO, 0, 1);

	buf_add(b, WIRE_MAGIC, 8);
	put(b, (uint64_t)major, 2);
	put(b, 0, 2);
	put(b, 8, 4);
	put(b, 1, 4);
	put(b, 0, 4);
	put(b, clock_monotonic_ns() + (uint64_t)offset, 8);
	put(b, clock_realtime_ns(), 8);
	put_str(b, "25");
	end(b, at);
}

static const char *name_at(const struct timeline *t, uint64_t pc, uint64_t time)
{
	const struct timeline_code *c = timeline_find(t, pc, time);
	struct timeline_frame f[8];

	if (!c || !timeline_chain(t, c, (uint32_t)(pc - c->begin), f, 8) || !f[0].method)
		return "?";
	return f[0].method->name;
}

/* --- tests --- */

static void test_framing(void **state)
{
	struct wire_record r;
	struct buf b = {0};

	(void)state;
	simple(&b, 999, 5, 1, 2);
	for (size_t n = 0; n < b.len; n++)
		assert_int_equal(wire_take(b.data, n, &r), 0);
	assert_int_equal(wire_take(b.data, b.len, &r), b.len);
	assert_int_equal(r.type, 999);
	assert_int_equal(r.time, 5);
	for (uint32_t bad = 0; bad < 16; bad++) {
		memcpy(b.data, &bad, 4);
		assert_int_equal(wire_take(b.data, 4, &r), -EPROTO);
	}
	memcpy(b.data, &(uint32_t){WIRE_RECORD_MAX + 8}, 4);
	assert_int_equal(wire_take(b.data, 4, &r), -EPROTO);
	memcpy(b.data, &(uint32_t){20}, 4);
	assert_int_equal(wire_take(b.data, 4, &r), -EPROTO);
	buf_done(&b);
}

static void test_by_time(void **state)
{
	const uint64_t s = 1000000000;
	struct timeline *t = timeline_new();
	struct buf b = {0};

	(void)state;
	class_load(&b, 1, "a/B", 10, "first");
	class_load(&b, 2, "a/C", 20, "second");
	code_load(&b, 0, 10 * s, 0x1000, 10, 64);
	code_load(&b, 0, 20 * s, 0x1020, 20, 64); /* ends what it overlaps */
	simple(&b, WIRE_CODE_UNLOAD, 21 * s, 0x1000, 10); /* late: no longer the one there */
	simple(&b, WIRE_CLASS_UNLOAD, 22 * s, 1, 0);
	simple(&b, WIRE_CODE_UNLOAD, 30 * s, 0x1020, 20);
	class_load(&b, 3, "a/D", 10, "reused"); /* the id comes again */
	code_load(&b, 0, 40 * s, 0x1000, 10, 64);
	assert_int_equal(feed_all(t, &b), 0);
	assert_string_equal(name_at(t, 0x1000, 10 * s), "first");
	assert_string_equal(name_at(t, 0x1010, 15 * s), "other"); /* inlined */
	assert_string_equal(name_at(t, 0x100f, 15 * s), "first");
	assert_string_equal(name_at(t, 0x1020, 15 * s), "first");
	assert_string_equal(name_at(t, 0x1020, 25 * s), "second");
	assert_string_equal(name_at(t, 0x1000, 25 * s), "?");
	assert_string_equal(name_at(t, 0x1020, 35 * s), "?");
	assert_string_equal(name_at(t, 0x1000, 45 * s), "reused");
	/* The JVM tells late of what it made, but not by seconds. */
	assert_string_equal(name_at(t, 0x1000, 40 * s - 1000000), "reused");
	assert_string_equal(name_at(t, 0x1000, 5 * s), "?");
	assert_string_equal(name_at(t, 0x1040, 15 * s), "?");
	assert_int_equal(timeline_stats(t).codes, 3);
	timeline_free(t);
	buf_done(&b);
}

static void test_chain(void **state)
{
	struct timeline *t = timeline_new();
	const struct timeline_code *c;
	struct timeline_frame f[8];
	struct buf b = {0};

	(void)state;
	class_load(&b, 1, "a/B", 10, "first");
	code_load(&b, 0, 10, 0x1000, 10, 64);
	assert_int_equal(feed_all(t, &b), 0);
	c = timeline_find(t, 0x1010, 20);
	assert_non_null(c);
	assert_int_equal(timeline_chain(t, c, 16, f, 8), 2);
	assert_string_equal(f[0].method->name, "other");
	assert_int_equal(f[0].line, 8);
	assert_int_equal(f[0].bci, 7);
	assert_string_equal(f[1].method->class_name, "a/B");
	assert_int_equal(f[1].line, 5);
	assert_int_equal(timeline_chain(t, c, 16, f, 1), 1);
	assert_int_equal(timeline_chain(t, c, 15, f, 8), 1);
	timeline_free(t);
	buf_done(&b);
}

/* What a replay does not repeat ended before it; what it repeats is kept once. */
static void test_replay(void **state)
{
	struct timeline *t = timeline_new();
	struct buf b = {0};

	(void)state;
	class_load(&b, 1, "a/B", 10, "first");
	class_load(&b, 2, "a/C", 20, "second");
	simple(&b, WIRE_REPLAY_BEGIN, 100, 1 | (uint64_t)WIRE_REPLAY_CONNECT << 32, 0);
	code_load(&b, WIRE_REPLAYED, 100, 0x1000, 10, 64);
	code_load(&b, WIRE_REPLAYED, 100, 0x2000, 20, 64);
	simple(&b, WIRE_REPLAY_END, 101, 1, 0);
	code_load(&b, 0, 150, 0x3000, 20, 64);
	simple(&b, WIRE_LOST, 200, 7, 7);
	simple(&b, WIRE_REPLAY_BEGIN, 200, 2 | (uint64_t)WIRE_REPLAY_LOST << 32, 0);
	code_load(&b, WIRE_REPLAYED, 200, 0x1000, 10, 64);
	code_load(&b, WIRE_REPLAYED, 200, 0x4000, 10, 64);
	code_load(&b, 0, 201, 0x5000, 10, 64);
	simple(&b, WIRE_REPLAY_END, 202, 2, 0);
	assert_int_equal(feed_all(t, &b), 0);
	assert_string_equal(name_at(t, 0x1000, 50), "first");
	assert_string_equal(name_at(t, 0x1000, 300), "first");
	assert_string_equal(name_at(t, 0x2000, 199), "second");
	assert_string_equal(name_at(t, 0x2000, 300), "?");
	assert_string_equal(name_at(t, 0x3000, 300), "?");
	assert_string_equal(name_at(t, 0x4000, 300), "first");
	assert_string_equal(name_at(t, 0x5000, 300), "first");
	assert_int_equal(timeline_stats(t).codes, 5);
	assert_int_equal(timeline_stats(t).lost, 7);
	/* Those that came, replays aside, and are still there. */
	assert_int_equal(timeline_next_new(t)->begin, 0x5000);
	assert_null(timeline_next_new(t));
	timeline_free(t);
	buf_done(&b);
}

static const char *class_of(const struct timeline *t, uint64_t addr, uint64_t time)
{
	struct timeline_method m;

	return timeline_method(t, addr, time, &m) ? m.class_name : "";
}

/* A method's address by time: one that comes ends the one before; what a replay lacks ended in between. */
static void test_methods_by_time(void **state)
{
	struct buf b = {0};
	struct timeline *t = timeline_new();

	(void)state;
	simple(&b, WIRE_REPLAY_BEGIN, 100, 1, 0);
	class_at(&b, WIRE_REPLAYED, 110, "Old", 8, 0x1000);
	class_at(&b, WIRE_REPLAYED, 110, "Stays", 16, 0x2000);
	simple(&b, WIRE_REPLAY_END, 120, 1, 0);
	class_at(&b, 0, 200, "New", 24, 0x1000);
	assert_int_equal(feed_all(t, &b), 0);
	assert_string_equal(class_of(t, 0x1000, 50), "Old"); /* since when is not known */
	assert_string_equal(class_of(t, 0x1000, 199), "Old");
	assert_string_equal(class_of(t, 0x1000, 200), "New");
	assert_string_equal(class_of(t, 0x1000, 5000), "New");
	assert_string_equal(class_of(t, 0x2000, 5000), "Stays");
	assert_string_equal(class_of(t, 0x3000, 200), "");
	/* Something was lost: New is not told again, so it ended some time behind the last complete replay. */
	b.len = 0;
	simple(&b, WIRE_LOST, 300, 1, 1);
	simple(&b, WIRE_REPLAY_BEGIN, 310, 2, 0);
	class_at(&b, WIRE_REPLAYED, 320, "Stays", 16, 0x2000);
	simple(&b, WIRE_REPLAY_END, 330, 2, 0);
	assert_int_equal(feed_all(t, &b), 0);
	assert_string_equal(class_of(t, 0x1000, 250), "");
	assert_string_equal(class_of(t, 0x1000, 5000), "");
	assert_string_equal(class_of(t, 0x1000, 199), "Old");
	assert_string_equal(class_of(t, 0x2000, 5000), "Stays");
	timeline_free(t);
	buf_done(&b);
}

/* Every cut of the body is refused or harmless; so is every byte that is another. */
static void test_malformed(void **state)
{
	struct buf b = {0};
	struct wire_record r;

	(void)state;
	class_load(&b, 1, "a/B", 10, "first");
	code_load(&b, 0, 10, 0x1000, 10, 64);
	for (size_t i = 0; i < b.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			struct timeline *t = timeline_new();
			size_t at = 0;
			int n;

			b.data[i] ^= (char)(1 << bit);
			while ((n = wire_take(b.data + at, b.len - at, &r)) > 0 && timeline_feed(t, &r) == 0)
				at += (size_t)n;
			name_at(t, 0x1010, 20);
			b.data[i] ^= (char)(1 << bit);
			timeline_free(t);
		}
	buf_done(&b);
}

static void test_bad_tables(void **state)
{
	/* Offsets into the record behind class and method: parent, method index, range end, range scope. */
	static const struct {
		size_t at;
		uint32_t value;
	} bad[] = {{16 + 32 + 16 + 16, 1},      {16 + 32 + 16 + 20, 2},
		   {16 + 32 + 16 + 32, 0},      {16 + 32 + 16 + 32, 33},
		   {16 + 32 + 16 + 32 + 8, 65}, {16 + 32 + 16 + 32 + 4, 2},
		   {16 + 20, 0xffffffff},       {16 + 24, 0x10000000},
		   {16 + 28, 0x20000000},       {16 + 16, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct timeline *t = timeline_new();
		struct buf b = {0};
		struct wire_record r;

		code_load(&b, 0, 10, 0x1000, 10, 64);
		memcpy(b.data + bad[i].at, &bad[i].value, 4);
		assert_true(wire_take(b.data, b.len, &r) > 0);
		assert_int_equal(timeline_feed(t, &r), -EPROTO);
		timeline_free(t);
		buf_done(&b);
	}
}

/* What a connection brings, in pieces of `step` bytes; then it ends. */
static int run_peer(const struct buf *b, size_t step, struct timeline *t, struct peer **ret, struct err *err)
{
	int pair[2], r = 1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(peer_new(pair[0], t, ret, err), 0);
	assert_int_equal(peer_read(*ret, err), 0);
	for (size_t at = 0; at < b->len && r >= 0; at += step) {
		size_t n = b->len - at < step ? b->len - at : step;

		assert_int_equal(write(pair[1], b->data + at, n), n);
		while ((r = peer_read(*ret, err)) > 0)
			;
	}
	if (r == 0) {
		assert_int_equal(peer_ask_sync(*ret, 77), 0);
		close(pair[1]);
		while ((r = peer_read(*ret, err)) > 0)
			;
	} else {
		close(pair[1]);
	}
	return r;
}

static void test_connection(void **state)
{
	struct buf b = {0};

	(void)state;
	hello(&b, WIRE_VERSION_MAJOR, 0);
	class_load(&b, 1, "a/B", 10, "first");
	code_load(&b, 0, 10, 0x1000, 10, 64);
	simple(&b, WIRE_REPLAY_END, 11, 1, 0);
	simple(&b, WIRE_SYNC, 12, 5, 0);
	simple(&b, WIRE_BYE, 13, WIRE_BYE_SHUTDOWN, 0);
	for (size_t step = 1; step <= b.len; step += step < 20 ? 1 : 50) {
		struct timeline *t = timeline_new();
		struct err err = {0};
		struct peer *p;

		assert_int_equal(run_peer(&b, step, t, &p, &err), -EPIPE);
		assert_non_null(strstr(err.msg, "goodbye"));
		assert_int_equal(peer_synced(p), 5);
		assert_true(peer_is_replayed(p));
		assert_string_equal(name_at(t, 0x1000, 20), "first");
		peer_free(p);
		timeline_free(t);
	}
	buf_done(&b);
}

static void check_ends(const struct buf *b, int result, const char *says)
{
	struct timeline *t = timeline_new();
	struct err err = {0};
	struct peer *p;

	assert_int_equal(run_peer(b, 4096, t, &p, &err), result);
	assert_non_null(strstr(err.msg, says));
	peer_free(p);
	timeline_free(t);
}

static void test_bad_peers(void **state)
{
	struct buf b = {0};

	(void)state;
	hello(&b, WIRE_VERSION_MAJOR + 1, 0);
	check_ends(&b, -ENOTSUP, "version 2");
	buf_reset(&b);
	class_load(&b, 1, "a/B", 10, "first");
	check_ends(&b, -EPROTO, "not a bridge");
	buf_reset(&b);
	buf_add_z(&b, "GET / HTTP/1.1\r\n");
	check_ends(&b, -EPROTO, "not a record");
	buf_reset(&b);
	hello(&b, WIRE_VERSION_MAJOR, 0);
	put(&b, 64, 4);
	put(&b, 5, 4);
	check_ends(&b, -EPIPE, "middle of a record");
	buf_reset(&b);
	hello(&b, WIRE_VERSION_MAJOR, 0);
	simple(&b, WIRE_CODE_LOAD, 1, 2, 3);
	check_ends(&b, -EPROTO, "malformed");
	buf_done(&b);
}

/* The target's monotonic clock is 100 s ahead (a time namespace). */
static void test_clock(void **state)
{
	const int64_t ahead = 100000000000;
	struct timeline *t = timeline_new();
	struct err err = {0};
	struct buf b = {0};
	struct peer *p;
	uint64_t now = clock_monotonic_ns();

	(void)state;
	hello(&b, WIRE_VERSION_MAJOR, ahead);
	class_load(&b, 1, "a/B", 10, "first");
	code_load(&b, 0, now + (uint64_t)ahead, 0x1000, 10, 64);
	run_peer(&b, 4096, t, &p, &err);
	assert_string_equal(name_at(t, 0x1000, now + 1000000000), "first");
	assert_true(timeline_find(t, 0x1000, 0) == NULL);
	assert_true(timeline_find(t, 0x1000, now)->from < now + 1000000000);
	peer_free(p);
	timeline_free(t);
	buf_done(&b);
}

/* Code that covers as many pages as it can: what a map of pages takes for it counts, too. */
static void test_large_codes(void **state)
{
	enum { CODES = 4000, SIZE = 8 << 20 };
	struct timeline *t = timeline_new();
	struct buf b = {0};

	(void)state;
	for (uint64_t i = 1; i <= CODES; i++)
		code_load(&b, 0, i, i * SIZE, 10, SIZE);
	assert_int_equal(feed_all(t, &b), 0);
	assert_true(timeline_stats(t).dropped > 0);
	timeline_free(t);
	buf_done(&b);
}

/* Code that is nearer together than HotSpot's can be: each step through a page's list would cost as much as all of it. */
static void test_crowded_page(void **state)
{
	struct timeline *t = timeline_new();
	struct buf b = {0};

	(void)state;
	for (uint64_t i = 0; i < 4096; i++) {
		size_t at = begin(&b, WIRE_CODE_LOAD, 0, i + 1);

		put(&b, (1 << 20) + i, 8), put(&b, 10, 8), put(&b, 1, 4);
		put(&b, 0, 4), put(&b, 0, 4), put(&b, 0, 4);
		end(&b, at);
	}
	assert_int_equal(feed_all(t, &b), -EPROTO);
	assert_in_range(timeline_stats(t).codes, 64, 256);
	timeline_free(t);
	buf_done(&b);
}

/* However much waits to be read: others need the lock that is held meanwhile. */
static void test_reads_in_pieces(void **state)
{
	enum { RECORDS = 3000, MOST = 2000 };
	struct timeline *t = timeline_new();
	struct err err = {0};
	struct buf b = {0};
	struct peer *p;
	int pair[2];

	(void)state;
	hello(&b, WIRE_VERSION_MAJOR, 0);
	for (uint64_t i = 0; i < RECORDS; i++)
		simple(&b, WIRE_GC_PAUSE, i, i, i + 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(send(pair[1], b.data, b.len, MSG_DONTWAIT), b.len);
	assert_int_equal(peer_new(pair[0], t, &p, &err), 0);
	assert_int_equal(peer_read(p, &err), 1);
	assert_in_range(timeline_stats(t).records, 1, MOST);
	close(pair[1]);
	peer_free(p);
	timeline_free(t);
	buf_done(&b);
}

/* Files have taken most of what the target may cost: what is told is dropped sooner, and the bytes come back. */
static void test_little_is_left(void **state)
{
	enum { LEFT = 1 << 20 };
	struct timeline *t = timeline_new();
	struct budget few;
	struct buf b = {0};

	(void)state;
	budget_init(&few, LEFT, 0);
	timeline_set_budget(t, &few);
	for (uint64_t i = 1; i <= 50000; i++)
		code_load(&b, 0, i, i * 64, 10, 64);
	assert_int_equal(feed_all(t, &b), 0);
	assert_true(timeline_stats(t).dropped > 0);
	assert_true(timeline_stats(t).bytes < 2 * LEFT);
	assert_in_range(budget_bytes_left(&few), 0, LEFT / 2);
	timeline_free(t);
	assert_int_equal(budget_bytes_left(&few), LEFT);
	buf_done(&b);
}

/* What they may cost is used up, and comes back with time: the stream of a day is no fault. */
static void test_endless_ranges(void **state)
{
	const struct timespec while_some_come_back = {.tv_nsec = 20000000};
	struct timeline *t = timeline_new();
	struct buf b = {0};
	struct wire_record one;

	(void)state;
	for (uint64_t i = 0; i < 50000; i++)
		simple(&b, WIRE_DYNAMIC_CODE, i, 1 << 20, 8 << 20);
	assert_int_equal(feed_all(t, &b), -EPROTO);
	assert_true(wire_take(b.data, b.len, &one) > 0);
	while (timeline_feed(t, &one) == 0)
		;
	nanosleep(&while_some_come_back, NULL);
	assert_int_equal(timeline_feed(t, &one), 0);
	timeline_free(t);
	buf_done(&b);
}

/* Ids that all fall into one bucket of uthash, as it is without a secret. */
static void test_ids_that_collide(void **state)
{
	enum { IDS = 50000, BUCKETS = 512 };
	struct timeline *t = timeline_new();
	uint64_t begin_ns;
	struct buf b = {0};

	(void)state;
	for (uint64_t id = 1, n = 0; n < IDS; id++) {
		unsigned hash;

		HASH_JEN(&id, sizeof(id), hash);
		if (hash % BUCKETS)
			continue;
		class_with(&b, 0, 1, "a/B", "m", "()V", id, 0);
		n++;
	}
	begin_ns = clock_thread_cpu_ns();
	assert_int_equal(feed_all(t, &b), 0);
	assert_true(clock_thread_cpu_ns() - begin_ns < UINT64_C(1000000000));
	timeline_free(t);
	buf_done(&b);
}

/* Replays that end, with nothing in them, over and over: each goes through all that there is. */
static void test_endless_replays(void **state)
{
	enum { CODES = 10000, ENDS = 40000 };
	struct timeline *t = timeline_new();
	struct buf b = {0};

	(void)state;
	for (uint64_t i = 1; i <= CODES; i++)
		code_load(&b, 0, i, i * 64, 10, 64);
	for (uint64_t i = 0; i < ENDS; i++)
		simple(&b, WIRE_REPLAY_END, CODES + i, 1, 0);
	assert_int_equal(feed_all(t, &b), -EPROTO);
	timeline_free(t);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_framing),         cmocka_unit_test(test_by_time),
		cmocka_unit_test(test_chain),           cmocka_unit_test(test_replay),
		cmocka_unit_test(test_methods_by_time), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_bad_tables),      cmocka_unit_test(test_connection),
		cmocka_unit_test(test_bad_peers),       cmocka_unit_test(test_clock),
		cmocka_unit_test(test_large_codes),     cmocka_unit_test(test_ids_that_collide),
		cmocka_unit_test(test_little_is_left),  cmocka_unit_test(test_endless_ranges),
		cmocka_unit_test(test_endless_replays), cmocka_unit_test(test_crowded_page),
		cmocka_unit_test(test_reads_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
