/* The last hour: exact ranges, threads and methods, and what is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "sampler/daemon/ring/ring.h"
#include "tests/support/store_fill.h"

#define NOW (MIDNIGHT * SECOND)
#define SLICE UINT64_C(20000000)

/* Samples 1, 2, 3, ... of these slices, and one without a slice. */
static struct named_profile *sliced(uint32_t which, const uint32_t *slices, size_t n, const char *thread)
{
	struct named_profile *np = store_test_profile(MIDNIGHT, which, 1);
	struct named_builder *b = named_builder_new();
	struct named_sample s = {.count = 1, .weight = STORE_TEST_PERIOD};

	named_builder_add(b, np);
	named_builder_copy_meta(b, &np->meta);
	named_builder_meta(b)->slice_ns = SLICE;
	named_builder_meta(b)->duration_ns = SECOND;
	s.thread = named_builder_string(b, thread);
	for (size_t i = 0; i < n; i++) {
		s.slice = slices[i];
		named_builder_sample(b, &s);
	}
	named_profile_free(np);
	return named_builder_take(b);
}

static void add(struct ring *r, pid_t pid, struct named_profile *np, uint64_t mono_ns)
{
	struct store_target t = store_test_target(pid);

	assert_int_equal(ring_add(r, &t, np, NOW, NOW + mono_ns, mono_ns), 0);
	named_profile_free(np);
}

static struct store_query range(uint64_t from_ns, uint64_t to_ns)
{
	return (struct store_query){.from_ns = NOW + from_ns, .to_ns = NOW + to_ns, .event = "cpu"};
}

static uint64_t heat(struct ring *r, const struct ring_query *rq, struct store_cell *cells, size_t n)
{
	uint64_t all = 0;

	memset(cells, 0, n * sizeof(*cells));
	assert_int_equal(ring_heat(r, rq, SLICE, cells, n, NULL), 0);
	for (size_t i = 0; i < n; i++)
		all += cells[i].samples;
	return all;
}

static uint64_t count(struct ring *r, const struct ring_query *rq)
{
	struct named_profile *np = NULL;
	uint64_t all = 0;

	assert_int_equal(ring_read(r, rq, &np, NULL), 0);
	for (uint32_t i = 0; i < np->n_samples; i++)
		all += np->samples[i].count;
	named_profile_free(np);
	return all;
}

static void assert_nothing(struct ring *r, const struct ring_query *rq, const char *why)
{
	struct named_profile *np = NULL;
	struct err err = {0};

	assert_int_equal(ring_read(r, rq, &np, &err), -ENODATA);
	assert_non_null(strstr(err.msg, why));
}

static int is_main(void *ctx, const char *name, struct err *err)
{
	(void)ctx;
	(void)err;
	return strcmp(name, "main") == 0 || strstr(name, "C.m7") != NULL;
}

static int refuse(void *ctx, const char *name, struct err *err)
{
	(void)ctx;
	(void)name;
	return err_set(err, -ETIME, "too long");
}

static void times(void **state)
{
	static const uint32_t slices[] = {1, 3, 3, 25};
	struct ring *r = ring_new(1 << 20, NOW);
	struct store_query q = range(0, SECOND);
	struct ring_query rq = {.q = &q};
	struct store_cell cells[60];

	(void)state;
	add(r, 1, sliced(1, slices, 4, "main"), 0);
	add(r, 2, sliced(7, slices, 1, "worker-7"), 0);
	/* One more of each without a slice, at the profile's end, which is beyond the range. */
	assert_int_equal(heat(r, &rq, cells, 60), 5);
	assert_int_equal(cells[0].samples, 2);
	assert_int_equal(cells[2].samples, 2);
	assert_int_equal(cells[2].weight, 2 * STORE_TEST_PERIOD);
	assert_int_equal(cells[24].samples, 1);
	q = range(0, SECOND + SLICE);
	assert_int_equal(heat(r, &rq, cells, 60), 7);
	assert_int_equal(cells[50].samples, 2);
	q = range(2 * SLICE, 3 * SLICE);
	assert_int_equal(count(r, &rq), 2);
	q = range(3 * SLICE, 24 * SLICE);
	assert_nothing(r, &rq, "no samples");
	ring_free(r);
}

static void choices(void **state)
{
	static const uint32_t slices[] = {1, 2, 3};
	struct ring *r = ring_new(1 << 20, NOW);
	struct store_query q = range(0, 2 * SECOND);
	struct ring_query rq = {.q = &q, .wants_thread = is_main};
	struct label bank = {"service", "b?nk"};

	(void)state;
	add(r, 1, sliced(1, slices, 3, "main"), 0);
	add(r, 2, sliced(7, slices, 2, "worker-7"), 0);
	assert_int_equal(count(r, &rq), 3);
	rq = (struct ring_query){.q = &q, .wants_function = is_main};
	assert_int_equal(count(r, &rq), 3); /* of PID 2 */
	rq = (struct ring_query){.q = &q, .wants_function = refuse};
	assert_int_equal(ring_heat(r, &rq, SLICE, NULL, 0, NULL), -ETIME);
	rq = (struct ring_query){.q = &q};
	q.labels = &bank;
	q.n_labels = 1;
	assert_int_equal(count(r, &rq), 3);
	q = range(0, 2 * SECOND);
	q.pid = 1;
	q.boot_id = "7c1f";
	q.start_ticks = 4711;
	assert_int_equal(count(r, &rq), 4);
	q.start_ticks = 4712;
	assert_nothing(r, &rq, "no samples");
	q = range(0, 2 * SECOND);
	q.event = "wall";
	assert_nothing(r, &rq, "no samples");
	ring_free(r);
}

/* What comes while an expression is being judged: into the segment that is read, and so late that it is forgotten. */
struct meanwhile {
	struct ring *r;
	pthread_t thread;
	bool begun, forgets;
	int judged;
};

static void *add_more(void *arg)
{
	static const uint32_t slices[] = {1, 2, 3, 4};
	struct meanwhile *m = arg;

	for (uint32_t i = 0; i < 200; i++)
		add(m->r, 3, sliced(100 + i, slices, 4, "late"), SECOND);
	if (m->forgets)
		add(m->r, 3, sliced(1, slices, 4, "later"), 2 * RING_NS);
	return NULL;
}

static int is_slow(void *ctx, const char *name, struct err *err)
{
	struct meanwhile *m = ctx;
	struct timespec until;

	(void)err;
	m->judged++;
	if (!m->begun) {
		m->begun = true;
		pthread_create(&m->thread, NULL, add_more, m);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 100;
		assert_int_equal(pthread_timedjoin_np(m->thread, NULL, &until), 0);
	}
	return strcmp(name, "main") == 0 || strstr(name, "C.m") != NULL;
}

static void nobody_waits_for_an_expression(void **state)
{
	static const uint32_t slices[] = {1, 2, 3};
	struct store_query q = range(0, SECOND);
	struct store_cell cells[60];

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct meanwhile m = {.r = ring_new(256 << 20, NOW), .forgets = i & 1};
		struct ring_query rq = {.q = &q, .ctx = &m};

		if (i & 2)
			rq.wants_function = is_slow;
		else
			rq.wants_thread = is_slow;
		add(m.r, 1, sliced(1, slices, 3, "main"), 0);
		if (i & 4 && m.forgets)
			assert_nothing(m.r, &rq, "begins at");
		else if (i & 4)
			assert_int_equal(count(m.r, &rq), 3); /* as it was at first */
		else /* and what is in the next segment */
			assert_int_equal(heat(m.r, &rq, cells, 60), 3 + (m.forgets && rq.wants_function ? 4 : 0));
		assert_true(m.begun && m.judged < 100);
		ring_free(m.r);
	}
}

static void forgets_by_age(void **state)
{
	static const uint32_t slices[] = {1};
	struct ring *r = ring_new(1 << 20, NOW);
	struct store_query q = range(0, 2 * SECOND);
	struct ring_query rq = {.q = &q};

	(void)state;
	assert_true(ring_state(r).since_ns == NOW);
	add(r, 1, sliced(1, slices, 1, "main"), 0);
	add(r, 1, sliced(1, slices, 1, "main"), RING_NS / 2);
	assert_int_equal(count(r, &rq), 4);
	assert_true(ring_state(r).since_ns == NOW);
	add(r, 1, sliced(1, slices, 1, "main"), RING_NS + SECOND);
	assert_true(ring_state(r).since_ns == NOW + RING_NS / 2);
	assert_nothing(r, &rq, "begins at");
	q = range(RING_NS / 2, 2 * RING_NS);
	assert_nothing(r, &rq, "no samples");
	ring_free(r);
}

static void is_bounded(void **state)
{
	enum { MAX = 400 << 10 };
	static const uint32_t slices[] = {1, 5, 9, 20, 21, 22, 23, 24};
	struct ring *r = ring_new(MAX, NOW);
	size_t most = 0;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		add(r, (pid_t)(1 + i % 50), sliced(i, slices, 8, "main"), i * SECOND / 10);
		most = ring_state(r).bytes > most ? ring_state(r).bytes : most;
		assert_true(ring_state(r).bytes <= MAX);
	}
	assert_true(most > MAX / 2);
	assert_true(ring_state(r).since_ns > NOW + 10 * SECOND);
	ring_limit(r, 1);
	add(r, 1, sliced(1, slices, 8, "main"), 3001 * SECOND / 10);
	assert_int_equal(ring_state(r).bytes, 0);
	assert_true(ring_state(r).since_ns == NOW + 3001 * SECOND / 10);
	ring_free(r);
}

/* A worker that was taken over sends anything. */
static void any_numbers(void **state)
{
	static const uint32_t slices[] = {UINT32_MAX, 1, 0, 77};
	struct ring *r = ring_new(1 << 20, NOW);
	struct store_query q = {.from_ns = 1, .to_ns = INT64_MAX, .event = "cpu"};
	struct ring_query rq = {.q = &q};
	struct store_target t = store_test_target(1);
	struct named_profile *np = sliced(1, slices, 4, "main");
	struct store_cell cells[3] = {0};

	(void)state;
	np->meta.slice_ns = UINT64_MAX;
	np->meta.period = UINT64_MAX;
	np->meta.start_realtime_ns = UINT64_MAX;
	np->samples[0].count = np->samples[0].weight = UINT64_MAX;
	assert_int_equal(ring_add(r, &t, np, UINT64_MAX - 5, NOW, 1), 0);
	np->meta.slice_ns = 0;
	assert_int_equal(ring_add(r, &t, np, 0, NOW, 1), 0);
	named_profile_free(np);
	assert_int_equal(ring_heat(r, &rq, 1, cells, 3, NULL), 0);
	ring_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),          cmocka_unit_test(choices),
		cmocka_unit_test(forgets_by_age), cmocka_unit_test(is_bounded),
		cmocka_unit_test(any_numbers),    cmocka_unit_test(nobody_waits_for_an_expression),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
