#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sampler/engine/cpu_list.h"
#include "sampler/engine/perf/events/perf_attr.h"
#include "sampler/engine/perf/events/perf_event.h"
#include "symbolizer/base/err.h"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
		const char *unit;
	} known[] = {
		{"cpu", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "ns"},
		{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "ns"},
		{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "ns"},
		{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "context-switches"},
		{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page-faults"},
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles"},
		{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "branch-misses"},
		{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000, "L1-dcache-load-misses"},
		{"LLC-store-misses", PERF_TYPE_HW_CACHE, 0x10102, "LLC-store-misses"},
		{"dTLB-loads", PERF_TYPE_HW_CACHE, 0x3, "dTLB-loads"},
		{"r01C2", PERF_TYPE_RAW, 0x1c2, "r01C2"},
	};
	struct perf_event_spec e;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(perf_event_find(known[i].name, &e, NULL), 0);
		assert_int_equal(e.type, known[i].type);
		assert_int_equal(e.config, known[i].config);
		assert_string_equal(e.unit, known[i].unit);
		assert_int_equal(e.clock, !strcmp(known[i].unit, "ns"));
		assert_false(e.user_only);
	}
	assert_int_equal(perf_event_find("cycles:u", &e, NULL), 0);
	assert_int_equal(e.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_string_equal(e.name, "cycles:u");
	assert_true(e.user_only);
	assert_int_equal(perf_event_find("page-faults", &e, NULL), 0);
	assert_int_equal(perf_event_try(&e), 0);
	e.type = PERF_TYPE_SOFTWARE;
	e.config = 1u << 30;
	assert_true(perf_event_try(&e) < 0);
}

/* A reader of an event on a CPU may have to come at another time than the samples. */
static void test_who_wakes(void **state)
{
	struct perf_config c = {.wake_each = true};
	struct perf_event_attr a;

	(void)state;
	assert_int_equal(perf_event_find("cpu", &c.event, NULL), 0);
	perf_attr_sampling(&c, false, &a);
	assert_false(a.watermark);
	assert_int_equal(a.wakeup_events, 1);
	c.cpus_in_batches = true;
	perf_attr_sampling(&c, true, &a);
	assert_false(a.watermark);
	perf_attr_sampling(&c, false, &a);
	assert_true(a.watermark);
}

static void test_unknown_names(void **state)
{
	/* clang-format off */
	static const char *const bad[] = {
		"", "r", "rxyz", "r12345678901234567", "cycle", "cycles ", "LLC", "LLC-", "LLC-reads",
		":", "sched:", ":x", "a:b:c", "cycles:pp", "cycles:k", "cycles:", "r1c2:x", "sched:no_such_tracepoint_", "../etc:passwd",
		"sched:../../../../../../etc/passwd",
		"a-name-that-is-longer-than-any-event-has-ever-been-or-will-be-in-the-future",
	};
	/* clang-format on */
	struct perf_event_spec e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = {0};

		assert_true(perf_event_find(bad[i], &e, &err) < 0);
		assert_true(err.msg[0] != 0);
		assert_null(strchr(err.msg, '\n'));
	}
}

static void test_attributes(void **state)
{
	struct perf_config c = {.period = 12345, .kernel = true, .stack_bytes = 16384};
	struct perf_event_attr a;

	(void)state;
	assert_int_equal(perf_event_find("cpu", &c.event, NULL), 0);
	perf_attr_sampling(&c, true, &a);
	assert_true(a.disabled && a.inherit && a.exclude_hv && a.exclude_callchain_user);
	assert_true(a.use_clockid && a.clockid == CLOCK_MONOTONIC);
	assert_true(!a.freq && a.sample_period == 12345);
	assert_true(a.mmap2 && a.comm && a.comm_exec && a.task && !a.mmap_data);
	assert_int_equal(a.sample_stack_user, 16384);
	assert_false(a.exclude_callchain_kernel);
	c.kernel = false;
	perf_attr_sampling(&c, false, &a);
	/* CPU time in the kernel still counts. */
	assert_true(a.exclude_callchain_kernel && !a.exclude_kernel && !a.inherit);
	assert_int_equal(PERF_STACK_MAX % 8, 0);

	struct perf_layout l = perf_attr_layout(&c);

	assert_true(perf_layout_supported(&l));
	assert_int_equal(l.sample_type, a.sample_type);
}

/* A layout goes for all events of a ring, so those of a CPU, and their owners, are asked for the same fields. */
static void test_staying(void **state)
{
	struct perf_config c = {.period = 12345, .stack_bytes = 16384, .features = PERF_CAN_STAY | PERF_CAN_COUNT_LOST};
	struct perf_event_attr a;
	struct perf_layout l = perf_attr_layout(&c);

	(void)state;
	assert_true(perf_layout_supported(&l));
	assert_true(l.sample_type & PERF_SAMPLE_READ);
	assert_int_equal(l.n_read, 2);
	perf_attr_sampling(&c, true, &a);
	assert_int_equal(a.sample_type, l.sample_type);
	perf_attr_leader(&c, true, &a);
	assert_int_equal(a.sample_type, l.sample_type);
	c.features = PERF_CAN_STAY;
	assert_int_equal(perf_attr_layout(&c).n_read, 1);
}

/* A period above 1 is kept to by the kernel only where samples are not to name it. */
static void test_weights(void **state)
{
	static const struct {
		const char *event;
		uint64_t period, weight;
	} cases[] = {{"page-faults", 100, 100}, {"page-faults", 1, 0},      {"context-switches", 7, 7},
		     {"cpu", 10000000, 0},      {"cpu-clock", 10000000, 0}, {"task-clock", 10000000, 0},
		     {"cycles", 1000000, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_config c = {.period = cases[i].period, .stack_bytes = 16384};
		struct perf_event_attr a;
		struct perf_layout l;

		assert_int_equal(perf_event_find(cases[i].event, &c.event, NULL), 0);
		assert_int_equal(perf_attr_weight(&c), cases[i].weight);
		perf_attr_sampling(&c, true, &a);
		l = perf_attr_layout(&c);
		assert_true(perf_layout_supported(&l));
		assert_int_equal(l.sample_type, a.sample_type);
		assert_int_equal(!(a.sample_type & PERF_SAMPLE_PERIOD), cases[i].weight != 0);
	}
}

static void test_cpu_lists(void **state)
{
	static const char *const bad[] = {"", "x", "1-", "-1", "3-1", "1,,2", "1 2", "0-99999", "1,"};
	int *cpus;
	size_t n;

	(void)state;
	assert_int_equal(cpu_list_parse("0-2,5,7-8\n", &cpus, &n), 0);
	assert_int_equal(n, 6);
	assert_true(cpus[0] == 0 && cpus[2] == 2 && cpus[3] == 5 && cpus[5] == 8);
	free(cpus);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpu_list_parse(bad[i], &cpus, &n), -EINVAL);
	assert_int_equal(cpu_list_online(&cpus, &n), 0);
	assert_true(n > 0);
	free(cpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),         cmocka_unit_test(test_who_wakes),
		cmocka_unit_test(test_unknown_names), cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_staying),       cmocka_unit_test(test_weights),
		cmocka_unit_test(test_cpu_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
