#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/perf/rings/perf_ring.h"

enum { SIZE = 4096 };

struct fixture {
	struct perf_ring ring;
	uint8_t data[SIZE];
	uint64_t head, tail;
	uint32_t next; /* number in the next record written; in the next one expected */
	uint32_t expected;
	int stop_at;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->stop_at = -1;
	return perf_ring_init(&f->ring, f->data, SIZE, &f->head, &f->tail);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	perf_ring_close(&f->ring);
	free(f);
	return 0;
}

static void put_byte(struct fixture *f, uint64_t pos, uint8_t v)
{
	f->data[pos % SIZE] = v;
}

/* A record whose bytes all depend on its number. */
static void put(struct fixture *f, uint16_t size)
{
	struct perf_event_header h = {.type = f->next, .size = size};
	uint8_t bytes[sizeof(h)];

	memcpy(bytes, &h, sizeof(h));
	for (size_t i = 0; i < size; i++)
		put_byte(f, f->head + i, i < sizeof(h) ? bytes[i] : (uint8_t)(f->next + i));
	f->head += size;
	f->next++;
}

static int check(void *ctx, const void *record, size_t size)
{
	struct fixture *f = ctx;
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	assert_int_equal(h.size, size);
	assert_int_equal(h.type, f->expected);
	for (size_t i = sizeof(h); i < size; i++)
		assert_int_equal(((const uint8_t *)record)[i], (uint8_t)(f->expected + i));
	return (int)f->expected++ == f->stop_at ? 7 : 0;
}

static void test_wraps_around(void **state)
{
	struct fixture *f = *state;
	unsigned seed = 1;

	for (int round = 0; round < 3000; round++) {
		while (f->head - f->tail < SIZE / 2)
			put(f, (uint16_t)(8 + 8 * (rand_r(&seed) % 60)));
		assert_int_equal(perf_ring_used(&f->ring), f->head - f->tail);
		assert_int_equal(perf_ring_drain(&f->ring, check, f), 0);
		assert_int_equal(f->expected, f->next);
		assert_int_equal(f->tail, f->head);
	}
}

static void test_full_and_empty(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(perf_ring_drain(&f->ring, check, f), 0);
	for (int i = 0; i < 4; i++)
		put(f, SIZE / 4);
	assert_int_equal(perf_ring_used(&f->ring), SIZE);
	assert_int_equal(perf_ring_drain(&f->ring, check, f), 0);
	assert_int_equal(f->expected, 4);
}

static void test_stops_when_told(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 5; i++)
		put(f, 64);
	f->stop_at = 2;
	assert_int_equal(perf_ring_drain(&f->ring, check, f), 7);
	assert_int_equal(f->expected, 3);
	f->stop_at = -1;
	assert_int_equal(perf_ring_drain(&f->ring, check, f), 0);
	assert_int_equal(f->expected, 5);
}

/* Record sizes that cannot be: what there is is dropped, and reading goes on with what comes later. */
static void test_malformed_sizes(void **state)
{
	static const uint16_t sizes[] = {0, 1, 7, 65535};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		put(f, 64);
		put_byte(f, f->head - 64 + 6, (uint8_t)sizes[i]);
		put_byte(f, f->head - 64 + 7, (uint8_t)(sizes[i] >> 8));
		f->expected = f->next;
		assert_int_equal(perf_ring_drain(&f->ring, check, f), -EBADMSG);
		assert_int_equal(f->tail, f->head);
		put(f, 64);
		assert_int_equal(perf_ring_drain(&f->ring, check, f), 0);
		assert_int_equal(f->expected, f->next);
	}
	f->head += 4; /* less than a header */
	assert_int_equal(perf_ring_drain(&f->ring, check, f), -EBADMSG);
	f->head += SIZE + 8; /* more than there can be */
	assert_int_equal(perf_ring_drain(&f->ring, check, f), -EBADMSG);
	assert_int_equal(f->tail, f->head);
}

static int check_if_next(void *ctx, const void *record, size_t size)
{
	struct fixture *f = ctx;
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	return h.type == f->expected ? check(f, record, size) : 1;
}

/* What the kernel has written, but not published; behind it is what earlier rounds have left. */
static void test_looks_beyond(void **state)
{
	struct fixture *f = *state;
	uint64_t published;

	perf_ring_look_beyond(&f->ring, check_if_next, f); /* nothing but zeros */
	for (int i = 0; i < 7; i++)
		put(f, 1000);
	f->tail = f->head - 2000;
	f->expected = f->next - 2;
	assert_int_equal(perf_ring_drain(&f->ring, check, f), 0);
	published = f->head;
	put(f, 120);
	put(f, 1200);
	f->head = published;
	perf_ring_look_beyond(&f->ring, check_if_next, f);
	assert_int_equal(f->expected, f->next);
	assert_int_equal(f->head, published);
	assert_int_equal(f->tail, published);
	f->expected = f->next - 2;
	f->tail = published - (SIZE - 1000); /* so much has not been read: the second one is no record */
	perf_ring_look_beyond(&f->ring, check_if_next, f);
	assert_int_equal(f->expected, f->next - 1);
}

static void test_bad_ring_size(void **state)
{
	struct perf_ring r;
	uint64_t head = 0, tail = 0;
	uint8_t data[8];

	(void)state;
	assert_int_equal(perf_ring_init(&r, data, 5, &head, &tail), -EINVAL);
	assert_int_equal(perf_ring_init(&r, data, 0, &head, &tail), -EINVAL);
	assert_int_equal(perf_ring_open(&r, -1, SIZE), -EBADF);
	perf_ring_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wraps_around, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_and_empty, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stops_when_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_malformed_sizes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_looks_beyond, set_up, tear_down),
		cmocka_unit_test(test_bad_ring_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
