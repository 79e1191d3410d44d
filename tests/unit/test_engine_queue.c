#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/sample_queue.h"

enum { SIZE = 1 << 16, MESSAGES = 300000 };

static bool push(struct sample_queue *q, uint64_t n, size_t len)
{
	uint8_t *p = sample_queue_reserve(q, len + 100);

	if (!p)
		return false;
	assert_int_equal((uintptr_t)p % 8, 0);
	memset(p, (int)(n & 0xff), len + 100);
	memcpy(p, &n, sizeof(n));
	sample_queue_commit(q, len); /* shorter than was reserved */
	return true;
}

static void pop(struct sample_queue *q, uint64_t n, size_t len)
{
	size_t got;
	const uint8_t *p = sample_queue_peek(q, &got);
	uint64_t value;

	assert_non_null(p);
	assert_int_equal(got, len);
	memcpy(&value, p, sizeof(value));
	assert_int_equal(value, n);
	if (len > 8)
		assert_int_equal(p[len - 1], n & 0xff);
	sample_queue_release(q);
}

static void test_order_and_wrap(void **state)
{
	struct sample_queue *q = sample_queue_new(SIZE);
	size_t got;

	(void)state;
	assert_null(sample_queue_peek(q, &got));
	for (uint64_t n = 0; n < 20000; n++) {
		assert_true(push(q, n, 8 + n % 3000));
		assert_true(push(q, n + 1, 8 + n % 77));
		assert_false(sample_queue_empty(q));
		pop(q, n, 8 + n % 3000);
		pop(q, n + 1, 8 + n % 77);
		assert_true(sample_queue_empty(q));
	}
	sample_queue_free(q);
}

static void test_full(void **state)
{
	struct sample_queue *q = sample_queue_new(SIZE);
	uint64_t in = 0, out = 0;

	(void)state;
	while (push(q, in, 1000))
		in++;
	assert_in_range(in, SIZE / 1100 - 3, SIZE / 1000);
	pop(q, out++, 1000);
	pop(q, out++, 1000);
	assert_true(push(q, in++, 1000));
	while (out < in)
		pop(q, out++, 1000);
	assert_true(sample_queue_empty(q));
	/* After having been full it takes as many again. */
	for (int i = 0; i < 50; i++)
		assert_true(push(q, in++, 1000));
	sample_queue_free(q);
}

static void test_too_large_and_abandoned(void **state)
{
	struct sample_queue *q = sample_queue_new(SIZE);

	(void)state;
	assert_null(sample_queue_reserve(q, SIZE / 4 + 1));
	assert_null(sample_queue_reserve(q, SIZE_MAX));
	assert_non_null(sample_queue_reserve(q, 1000)); /* never committed */
	assert_true(sample_queue_empty(q));
	assert_true(push(q, 1, 8));
	pop(q, 1, 8);
	sample_queue_free(q);
	assert_null(sample_queue_new(1000)); /* no power of two */
	sample_queue_free(NULL);
}

struct race {
	struct sample_queue *q;
	uint64_t pushed, dropped;
	atomic_bool done;
};

static size_t race_len(uint64_t n)
{
	return 8 + n * 2654435761u % 5000;
}

/* Message numbers go up; those that found no room are missing. */
static void *produce(void *arg)
{
	struct race *r = arg;

	for (uint64_t n = 0; n < MESSAGES; n++) {
		if (push(r->q, n, race_len(n)))
			r->pushed++;
		else
			r->dropped++, sched_yield();
	}
	atomic_store(&r->done, true);
	return NULL;
}

static void test_two_threads(void **state)
{
	struct race r = {.q = sample_queue_new(SIZE)};
	uint64_t popped = 0, last = UINT64_MAX;
	pthread_t t;
	size_t len;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, produce, &r), 0);
	for (;;) {
		bool done = atomic_load(&r.done);
		const uint8_t *p = sample_queue_peek(r.q, &len);
		uint64_t n;

		if (!p && done)
			break;
		if (!p) {
			sched_yield();
			continue;
		}
		memcpy(&n, p, sizeof(n));
		assert_true(last == UINT64_MAX || n > last);
		assert_int_equal(len, race_len(n));
		if (len > 8)
			assert_int_equal(p[len - 1], n & 0xff);
		last = n;
		popped++;
		sample_queue_release(r.q);
	}
	pthread_join(t, NULL);
	assert_int_equal(popped, r.pushed);
	assert_int_equal(r.pushed + r.dropped, MESSAGES);
	sample_queue_free(r.q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_wrap),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_too_large_and_abandoned),
		cmocka_unit_test(test_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
