#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sampler/daemon/governor/governor.h"

/*
 * A host that is simulated second by second: each target's samples cost what they cost, the daemon has a fixed cost besides, and
 * what is measured is up to `noise` percent off.
 */
enum { TARGETS = 20, BASE = 49, FLOOR = 5 };
static const struct governor_options one_percent = {BASE, FLOOR, 10000};

struct host {
	struct governor *g;
	uint64_t now_ns, own_ns, fixed_ns; /* fixed: for each second */
	unsigned noise;
	uint64_t random;
	unsigned changes, starved; /* starved: changes because of losses */
	uint64_t lost;
	struct sim {
		bool there;
		uint32_t divisor;
		double threads; /* that run */
		uint64_t sample_ns; /* the daemon's CPU time for one */
		uint64_t cost_ns;
	} t[TARGETS];
};

static void on_change(void *ctx, const struct governor_change *c)
{
	struct host *h = ctx;

	assert_true(c->target < TARGETS && h->t[c->target].there);
	assert_int_equal(c->from, h->t[c->target].divisor);
	assert_true(c->to && BASE / c->to >= FLOOR);
	h->t[c->target].divisor = c->to;
	h->changes++;
	h->starved += c->lost;
}

static struct host *new_host(void **state, const struct governor_options *o)
{
	struct host *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->g = governor_new(o);
	assert_non_null(h->g);
	h->random = 1;
	*state = h;
	return h;
}

static int done(void **state)
{
	struct host *h = *state;

	governor_free(h->g);
	free(h);
	return 0;
}

static void add(struct host *h, unsigned i, double threads, uint64_t sample_ns, uint32_t wanted)
{
	h->t[i] = (struct sim){true, governor_add(h->g, i, wanted), threads, sample_ns, 0};
	assert_true(h->t[i].divisor > 0);
}

static uint64_t noisy(struct host *h, uint64_t ns)
{
	h->random = h->random * 6364136223846793005u + 1442695040888963407u;
	return h->noise ? ns * (100 - h->noise + (h->random >> 33) % (2 * h->noise + 1)) / 100 : ns;
}

/* Returns the CPU time of the last second, in millionths of a core. */
static uint64_t run(struct host *h, unsigned seconds)
{
	uint64_t before = h->own_ns;

	while (seconds--) {
		before = h->own_ns;
		h->now_ns += UINT64_C(1000000000);
		h->own_ns += h->fixed_ns;
		for (unsigned i = 0; i < TARGETS; i++) {
			struct sim *t = &h->t[i];
			uint64_t ns;

			if (!t->there)
				continue;
			ns = noisy(h, (uint64_t)(t->threads * BASE / t->divisor * (double)t->sample_ns));
			t->cost_ns += ns;
			h->own_ns += ns;
			governor_cost(h->g, i, t->cost_ns);
		}
		governor_step(h->g, h->now_ns, h->own_ns, h->lost, on_change, h);
	}
	return (h->own_ns - before) / 1000;
}

static void cheap_enough(void **state)
{
	struct host *h = new_host(state, &one_percent);

	for (unsigned i = 0; i < TARGETS; i++)
		add(h, i, 0.4, 20000, 0);
	h->noise = 10;
	run(h, 600);
	assert_int_equal(h->changes, 0);
	assert_int_equal(governor_state(h->g).lowered, 0);
	assert_true(governor_state(h->g).own_cpu > 7000 && governor_state(h->g).own_cpu < 9000);
}

/* The dear one is lowered, the cheap ones are not; and all is as before when it has become cheap again. */
static void dear_one(void **state)
{
	struct host *h = new_host(state, &one_percent);

	for (unsigned i = 0; i < 5; i++)
		add(h, i, 0.5, 20000, 0);
	add(h, 5, 8, 40000, 0);
	assert_true(run(h, 1) > 17000);
	run(h, 10);
	assert_int_equal(h->changes, 2);
	assert_true(run(h, 20) <= 10000);
	assert_true(h->t[5].divisor >= 2);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(h->t[i].divisor, 1);
	assert_int_equal(governor_state(h->g).lowered, 1);
	h->t[5].threads = 0.5;
	run(h, 60);
	assert_int_equal(h->t[5].divisor, 1);
	assert_int_equal(governor_state(h->g).lowered, 0);
}

/* Whatever the load is, it settles: no steps up and down for ever. */
static void settles(void **state)
{
	static const double loads[] = {0.3, 0.8, 1.1, 1.7, 2.3, 4.1, 9, 20, 40};

	for (unsigned n = 1; n <= TARGETS; n += 6) {
		for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
			struct host *h = new_host(state, &one_percent);
			uint64_t last;

			h->noise = 15;
			h->fixed_ns = 500000;
			for (unsigned k = 0; k < n; k++)
				add(h, k, loads[i] * (k + 1) / n, 20000, 0);
			run(h, 300);
			h->changes = 0;
			last = run(h, 3600);
			assert_true(h->changes <= 2);
			assert_true(last <= 11500 || governor_state(h->g).helpless);
			done(state);
		}
	}
	*state = new_host(state, &one_percent);
}

/* Busy and idle by turns: it is not followed up and down each time. */
static void by_turns(void **state)
{
	struct host *h = new_host(state, &one_percent);

	add(h, 0, 0, 50000, 0);
	for (unsigned i = 0; i < 120; i++) {
		h->t[0].threads = i % 2 ? 8 : 0;
		run(h, 30);
		if (i == 59)
			h->changes = 0;
	}
	assert_true(h->changes > 0 && h->changes <= 24);
}

/* Between the marks nothing is changed, and what is raised at once fits below the upper one together. */
static void marks(void **state)
{
	struct host *h = new_host(state, &one_percent);

	for (unsigned i = 0; i < 6; i++)
		add(h, i, 2, 25510, 0);
	run(h, 40);
	assert_int_equal(governor_state(h->g).lowered, 6);
	h->changes = 0;
	for (unsigned i = 0; i < 6; i++)
		h->t[i].sample_ns = 20408; /* 6,000 millionths together */
	assert_true(run(h, 200) > 5500);
	assert_int_equal(h->changes, 0);
	for (unsigned i = 0; i < 6; i++)
		h->t[i].sample_ns = 16326; /* 4,800 */
	assert_true(run(h, 20) <= 8100);
	assert_int_equal(h->changes, 4);
}

/* How long a target waits to be raised: longer after each relapse, and as at first when it has held out. */
static void patience(void **state)
{
	struct host *h = new_host(state, &one_percent);

	add(h, 0, 8, 50000, 0);
	run(h, 30);
	assert_true(h->t[0].divisor > 1);
	for (unsigned relapses = 0; relapses < 3; relapses++) {
		h->t[0].threads = 0;
		for (unsigned waited = 0; h->t[0].divisor > 1; waited += 10) {
			assert_true(waited <= 40u << relapses);
			run(h, 10);
		}
		h->t[0].threads = 8;
		run(h, 21);
		assert_true(h->t[0].divisor > 1);
	}
	h->t[0].threads = 0;
	run(h, 40);
	assert_true(h->t[0].divisor > 1);
	run(h, 1800);
	assert_int_equal(h->t[0].divisor, 1);
	h->t[0].threads = 8;
	run(h, 21);
	assert_true(h->t[0].divisor > 1);
	h->t[0].threads = 0;
	run(h, 40);
	assert_int_equal(h->t[0].divisor, 1);
}

static void much_too_dear(void **state)
{
	struct host *h = new_host(state, &one_percent);

	add(h, 0, 1, 20000, 0);
	run(h, 21); /* a window begins */
	h->t[0].sample_ns = 2000000;
	run(h, 3);
	assert_int_equal(h->t[0].divisor, 8);
}

static void at_the_floor(void **state)
{
	struct host *h = new_host(state, &one_percent);

	add(h, 0, 4, 500000, 0);
	add(h, 1, 0, 500000, 0);
	run(h, 60);
	assert_int_equal(h->t[0].divisor, 8); /* 6 Hz; 16 would be 3 */
	assert_int_equal(h->t[1].divisor, 1);
	assert_true(governor_state(h->g).helpless);
	h->t[0].threads = 0.1;
	run(h, 60);
	assert_false(governor_state(h->g).helpless);
}

/* As close to a rule's frequency as possible; 36.75 Hz is the middle between 49 and 24.5. */
static void divisors(void **state)
{
	static const uint32_t rows[][3] = {
		{49, 49, 1}, {49, 1000, 1}, {49, 37, 1}, {49, 36, 2}, {49, 21, 2},     {49, 20, 3},    {49, 10, 5},
		{49, 5, 10}, {49, 1, 49},   {5, 1, 5},   {5, 3, 2},   {1000, 1, 1000}, {1000, 750, 2}, {1000, 751, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(governor_divisor(rows[i][0], rows[i][1]), rows[i][2]);
}

/* A rule's frequency is where the way up ends, and where it begins: it may be below the floor. */
static void wanted(void **state)
{
	struct host *h = new_host(state, &one_percent);

	assert_int_equal(governor_add(h->g, 100, 49), 1);
	assert_int_equal(governor_add(h->g, 101, 30), 2);
	assert_int_equal(governor_add(h->g, 102, 10), 5);
	assert_int_equal(governor_add(h->g, 103, 1), 49);
	assert_int_equal(governor_add(h->g, 104, 1000), 1);
	add(h, 0, 40, 50000, 19);
	assert_int_equal(h->t[0].divisor, 3);
	run(h, 60);
	assert_int_equal(h->t[0].divisor, 6);
	h->t[0].threads = 0.01;
	run(h, 60);
	assert_int_equal(h->t[0].divisor, 3);
}

/* What is wanted is known only after a while, and may change: what the governor has done meanwhile stays. */
static void wanted_later(void **state)
{
	struct host *h = new_host(state, &one_percent);

	assert_int_equal(governor_want(h->g, 0, 10), 0);
	add(h, 0, 10, 50000, 0);
	assert_int_equal(h->t[0].divisor = governor_want(h->g, 0, 19), 3);
	assert_int_equal(h->t[0].divisor = governor_want(h->g, 0, 49), 1);
	run(h, 60);
	assert_int_equal(h->t[0].divisor, 4);
	assert_int_equal(h->t[0].divisor = governor_want(h->g, 0, 25), 8);
	assert_int_equal(governor_state(h->g).lowered, 1);
	assert_int_equal(h->t[0].divisor = governor_want(h->g, 0, 10), 5); /* 20 would be below the floor */
	assert_int_equal(h->t[0].divisor = governor_want(h->g, 0, 2), 25);
	assert_int_equal(governor_state(h->g).lowered, 0);
	h->t[0].threads = 1000;
	run(h, 60);
	assert_int_equal(h->t[0].divisor, 25);
	assert_true(governor_state(h->g).helpless);
}

/* Targets that come and go, and a worker that is started again and counts from 0. */
static void life(void **state)
{
	struct host *h = new_host(state, &one_percent);

	governor_remove(h->g, 7);
	governor_cost(h->g, 7, 1);
	run(h, 15);
	add(h, 0, 8, 40000, 0);
	add(h, 1, 8, 40000, 0);
	run(h, 5);
	h->t[0].there = false;
	governor_remove(h->g, 0);
	run(h, 60);
	assert_true(h->t[1].divisor > 1);
	h->changes = 0;
	h->t[1].cost_ns = 0;
	run(h, 60);
	assert_int_equal(h->changes, 0);
	assert_true(governor_state(h->g).own_cpu <= 10000);
	for (unsigned i = 0; i < 2; i++)
		governor_step(h->g, 1, h->own_ns, 0, on_change, h);
	assert_int_equal(governor_state(h->g).targets, 1);
}

/* A target's cost is counted anew, and nothing else is. */
static void counted_anew(void **state)
{
	struct host *h = new_host(state, &one_percent);

	add(h, 0, 5, 30000, 0);
	add(h, 1, 0.1, 20000, 0);
	run(h, 12);
	h->t[0].threads = 10;
	h->t[1].cost_ns = 0;
	run(h, 9);
	assert_int_equal(h->t[0].divisor, 2);
	assert_int_equal(h->t[1].divisor, 1);
}

/* It gets less of the CPUs than it needs, which its own CPU time does not show. */
static void lost_samples(void **state)
{
	struct host *h = new_host(state, &one_percent);

	add(h, 0, 0.5, 20000, 0);
	add(h, 1, 0.1, 20000, 0);
	h->lost = 3; /* before there was this governor */
	run(h, 25);
	assert_int_equal(h->changes, 0);
	h->lost = 7;
	run(h, 3);
	assert_true(h->t[0].divisor == 4 && h->t[1].divisor == 1);
	assert_int_equal(h->starved, 2);
	assert_int_equal(governor_state(h->g).starved, 1);
	run(h, 6); /* the same samples count only once, and for a while */
	assert_int_equal(h->t[0].divisor, 4);
	run(h, 60);
	assert_int_equal(h->t[0].divisor, 1);
	assert_int_equal(governor_state(h->g).starved, 0);
	for (unsigned i = 0; i < 30; i++, h->lost++)
		run(h, 1);
	assert_true(h->t[0].divisor == 8 && h->t[1].divisor == 8); /* the floor */
	run(h, 600);
	assert_true(h->t[0].divisor == 1 && h->t[1].divisor == 1);
}

/* Whatever the daemon costs besides samples: what was lowered is raised again as soon as it is as cheap as before. */
static void lost_samples_are_forgiven(void **state)
{
	struct host *h = new_host(state, &one_percent);

	h->fixed_ns = 5100000;
	add(h, 0, 3, 20408, 0); /* 8,100 millionths together, which is between the marks */
	run(h, 25);
	assert_int_equal(h->changes, 0);
	h->lost = 7;
	run(h, 3);
	assert_int_equal(h->t[0].divisor, 2);
	run(h, 60);
	assert_int_equal(h->t[0].divisor, 1);
	assert_int_equal(governor_state(h->g).starved, 0);
	for (unsigned i = 0; i < 30; i++, h->lost++)
		run(h, 1);
	assert_int_equal(h->t[0].divisor, 8); /* the floor */
	run(h, 600);
	assert_int_equal(h->t[0].divisor, 1);
	h->changes = 0;
	run(h, 600);
	assert_int_equal(h->changes, 0);
}

/* What was lowered for the limit is raised only below half of it, even if samples were lost besides. */
static void the_limit_is_not_forgiven(void **state)
{
	struct host *h = new_host(state, &one_percent);

	h->fixed_ns = 4500000;
	add(h, 0, 6, 20408, 0);
	run(h, 25);
	assert_int_equal(h->t[0].divisor, 2);
	h->lost = 7;
	run(h, 3);
	assert_int_equal(h->t[0].divisor, 4);
	assert_int_equal(governor_state(h->g).starved, 1);
	run(h, 600);
	assert_int_equal(h->t[0].divisor, 2);
	assert_true(governor_state(h->g).lowered == 1 && governor_state(h->g).starved == 0);
}

/* It is above the limit and cannot help it, whether samples are lost or not, now and then or all the time. */
static void helpless_and_lost_samples(void **state)
{
	struct host *h = new_host(state, &one_percent);

	add(h, 0, 4, 500000, 0);
	run(h, 60);
	assert_true(governor_state(h->g).helpless);
	for (unsigned i = 0; i < 120; i++) {
		h->lost += i > 60 || i % 7 == 0;
		run(h, 1);
		assert_true(governor_state(h->g).helpless);
	}
	h->t[0].threads = 0.1;
	run(h, 60);
	assert_false(governor_state(h->g).helpless);
}

/* What was lost while it did nothing at all: what each target costs shows only afterwards, or never. */
static void lost_samples_of_nobody(void **state)
{
	struct host *h = new_host(state, &one_percent);

	add(h, 0, 0, 20000, 0);
	run(h, 25);
	h->lost = 7;
	run(h, 5);
	assert_int_equal(h->changes, 0);
	h->t[0].threads = 1;
	run(h, 4);
	assert_int_equal(h->t[0].divisor, 2);
	run(h, 60);
	h->t[0].threads = 0;
	run(h, 20);
	h->changes = 0;
	h->lost = 14;
	run(h, 15);
	h->t[0].threads = 1;
	run(h, 60);
	assert_int_equal(h->changes, 0);
}

/* Nothing is measured while the targets cost little and no sample is lost, except at the end of each window. */
static void calls_when_something_may_be_done(void **state)
{
	struct host *h = new_host(state, &one_percent);
	uint64_t second = UINT64_C(1000000000), at = 5 * second;

	assert_true(governor_is_due(h->g, at, 0)); /* no window has begun */
	assert_int_equal(governor_add(h->g, 0, 0), 1);
	governor_cost(h->g, 0, 500);
	governor_step(h->g, at, 0, 0, on_change, h);
	assert_false(governor_is_due(h->g, at + second, 0));
	assert_false(governor_is_due(h->g, at + 9 * second, 0));
	assert_true(governor_is_due(h->g, at + 10 * second, 0));
	governor_cost(h->g, 0, 500 + 4900000); /* 0.49 % of a second */
	assert_false(governor_is_due(h->g, at + second, 0));
	governor_cost(h->g, 0, 500 + 5100000);
	assert_true(governor_is_due(h->g, at + second, 0));
	assert_false(governor_is_due(h->g, at + 2 * second, 0));
	governor_cost(h->g, 0, 5000000); /* a new process */
	assert_true(governor_is_due(h->g, at + 2 * second, 0));
	governor_step(h->g, at + 10 * second, 0, 0, on_change, h);
	assert_false(governor_is_due(h->g, at + 11 * second, 0));
	assert_true(governor_is_due(h->g, at + 11 * second, 1));
	governor_step(h->g, at + 11 * second, 0, 1, on_change, h);
	assert_true(governor_is_due(h->g, at + 12 * second, 1)); /* the loss is not forgotten for a while */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(cheap_enough, done),
		cmocka_unit_test_teardown(dear_one, done),
		cmocka_unit_test_teardown(settles, done),
		cmocka_unit_test_teardown(by_turns, done),
		cmocka_unit_test_teardown(marks, done),
		cmocka_unit_test_teardown(patience, done),
		cmocka_unit_test_teardown(much_too_dear, done),
		cmocka_unit_test_teardown(at_the_floor, done),
		cmocka_unit_test_teardown(wanted, done),
		cmocka_unit_test_teardown(life, done),
		cmocka_unit_test_teardown(wanted_later, done),
		cmocka_unit_test(divisors),
		cmocka_unit_test_teardown(counted_anew, done),
		cmocka_unit_test_teardown(lost_samples, done),
		cmocka_unit_test_teardown(lost_samples_are_forgiven, done),
		cmocka_unit_test_teardown(the_limit_is_not_forgiven, done),
		cmocka_unit_test_teardown(helpless_and_lost_samples, done),
		cmocka_unit_test_teardown(lost_samples_of_nobody, done),
		cmocka_unit_test_teardown(calls_when_something_may_be_done, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
