#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static size_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long n = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %lu", &n), 1);
	fclose(f);
	return n * (size_t)sysconf(_SC_PAGESIZE);
}

/* How much of the ring messages of that size use, one after the other. */
static size_t used_bytes(struct sample_queue *q, size_t len)
{
	uintptr_t lowest = UINTPTR_MAX, highest = 0;

	for (int i = 0; i < 4000; i++) {
		uintptr_t at = (uintptr_t)sample_queue_reserve(q, len);
		size_t got;

		assert_true(at);
		lowest = at < lowest ? at : lowest;
		highest = at > highest ? at : highest;
		sample_queue_commit(q, len);
		assert_non_null(sample_queue_peek(q, &got));
		sample_queue_release(q);
	}
	return highest - lowest + len;
}

/* A consumer that keeps up makes it use a part only. */
static void test_reuse(void **state)
{
	enum { BYTES = 64 << 20, LEN = 10000, REUSE = 1 << 20 };
	struct sample_queue *q = sample_queue_new(BYTES);

	(void)state;
	assert_in_range(used_bytes(q, LEN), (8 << 20) - LEN, (8 << 20) + 2 * LEN);
	sample_queue_free(q);
	q = sample_queue_new(BYTES);
	sample_queue_reuse(q, REUSE);
	assert_in_range(used_bytes(q, LEN), REUSE - LEN, REUSE + 2 * LEN);
	sample_queue_free(q);
}

/* What comes together has room, wherever the one before ended and although a consumer that keeps up takes nothing yet. */
static void test_expected(void **state)
{
	enum { BYTES = 64 << 20, LEN = 10000, REUSE = 1 << 20, FEW = 125, MANY = 500 };
	struct sample_queue *q = sample_queue_new(BYTES);

	(void)state;
	sample_queue_reuse(q, REUSE);
	for (uint64_t round = 0; round < 50; round++) {
		uint64_t together = round % 3 ? FEW : MANY;

		sample_queue_expect(q, together * (LEN + 104), together);
		for (uint64_t n = 0; n < together; n++)
			assert_true(push(q, n, LEN));
		for (uint64_t n = 0; n < together; n++)
			pop(q, n, LEN);
	}
	sample_queue_free(q);
}

/* A consumer that was held up once does not make the queue hold all of its memory for good. */
static void test_memory_is_given_back(void **state)
{
	enum { BYTES = 64 << 20, LEN = 10000, QUEUED = 4000, LESS = 24 << 20 };
	struct sample_queue *q = sample_queue_new(BYTES);
	size_t full;

	(void)state;
	for (uint64_t n = 0; n < QUEUED; n++)
		assert_true(push(q, n, LEN));
	full = resident_bytes();
	for (uint64_t n = 0; n < QUEUED; n++)
		pop(q, n, LEN);
	for (uint64_t n = 0; n < QUEUED; n++) {
		assert_true(push(q, n, LEN));
		pop(q, n, LEN);
	}
	assert_true(resident_bytes() + LESS < full);
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

/* A child of this process is at one end of a shared queue. */
static void test_two_processes(void **state)
{
	struct sample_queue *q = sample_queue_new_shared(SIZE);
	uint64_t n = 0;
	pid_t child;
	size_t len;

	(void)state;
	assert_non_null(q);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (uint64_t i = 0; i < 10000; i++)
			while (!push(q, i, race_len(i)))
				sched_yield();
		_exit(0);
	}
	while (n < 10000) {
		if (!sample_queue_peek(q, &len)) {
			sched_yield();
			continue;
		}
		pop(q, n, race_len(n));
		n++;
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(sample_queue_empty(q));
	sample_queue_drop(q);
	sample_queue_free(q);
}

/* --- The other end writes what it should not */

enum { HEAD = 0, TAIL = 64, RING = 4096 };

/* All that the other end can write to, of a new queue: the first message follows the positions and its own header. */
static uint8_t *memory_of(struct sample_queue *q)
{
	uint8_t *first = sample_queue_reserve(q, 8);

	assert_non_null(first);
	return first - 8 - RING;
}

static void write_at(uint8_t *memory, size_t at, uint64_t value)
{
	memcpy(memory + at, &value, sizeof(value));
}

static const uint64_t odd[] = {
	1, 4, 7, 8, 16, SIZE - 8, SIZE, SIZE + 8, SIZE * 2, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63};

static void test_consumers_end_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
			struct sample_queue *q = sample_queue_new_shared(SIZE);
			uint8_t *memory = memory_of(q), *ring = memory + RING;
			const uint8_t *p;
			size_t len;

			write_at(memory, RING, odd[k]); /* the length of the first message */
			write_at(memory, HEAD, odd[i]);
			p = sample_queue_peek(q, &len);
			assert_true(!p ||
				    (len <= SIZE / 4 && p >= ring && p + len <= ring + SIZE && len + 8 <= odd[i]));
			if (p)
				sample_queue_release(q);
			sample_queue_free(q);
		}
}

static void test_producers_end_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct sample_queue *q = sample_queue_new_shared(SIZE);
		uint8_t *memory = memory_of(q), *ring = memory + RING, *p;

		write_at(memory, TAIL, odd[i]);
		p = sample_queue_reserve(q, 100); /* it cannot have taken what was never queued */
		assert_true(!p || p == ring + 8);
		write_at(memory, TAIL, 0);
		write_at(memory, HEAD, odd[i]); /* its own end is not where it looks it up */
		p = sample_queue_reserve(q, 100);
		assert_ptr_equal(p, ring + 8);
		sample_queue_commit(q, SIZE); /* no more than was reserved */
		p = sample_queue_reserve(q, 8);
		assert_ptr_equal(p, ring + 8 + 104 + 8);
		sample_queue_free(q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_wrap),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_too_large_and_abandoned),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_memory_is_given_back),
		cmocka_unit_test(test_two_processes),
		cmocka_unit_test(test_consumers_end_holds),
		cmocka_unit_test(test_producers_end_holds),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
