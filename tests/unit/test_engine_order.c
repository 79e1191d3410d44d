#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "sampler/engine/perf/rings/record_order.h"

/* Linked with --wrap. */
static bool no_memory;
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_realloc(void *p, size_t size)
{
	return no_memory ? NULL : __real_realloc(p, size);
}

static void note(void *ctx, const void *record, size_t len)
{
	strncat(ctx, record, len);
}

static const char *taken(struct record_order *o, uint64_t until_ns)
{
	static char got[64];

	got[0] = '\0';
	record_order_take(o, until_ns, note, got);
	return got;
}

static bool add_of(struct record_order *o, pid_t pid, uint64_t time_ns, const char *text)
{
	void *p = record_order_add(o, pid, time_ns, strlen(text));

	if (!p)
		return false;
	assert_int_equal((uintptr_t)p % 8, 0);
	memcpy(p, text, strlen(text));
	return true;
}

static void add(struct record_order *o, uint64_t time_ns, const char *text)
{
	assert_true(add_of(o, 1, time_ns, text));
}

static void by_time_whatever_their_ring(void **state)
{
	struct record_order o = {0};

	(void)state;
	add(&o, 10, "a");
	add(&o, 30, "dd");
	add(&o, 20, "b");
	add(&o, 20, "c");
	assert_string_equal(taken(&o, 30), "abcdd");
	assert_string_equal(taken(&o, UINT64_MAX), "");
	record_order_done(&o);
}

static void what_is_later_waits_for_older_ones(void **state)
{
	struct record_order o = {0};

	(void)state;
	add(&o, 10, "a");
	add(&o, 21, "cc");
	add(&o, 40, "e");
	assert_string_equal(taken(&o, 20), "a");
	add(&o, 30, "d");
	add(&o, 20, "b");
	assert_string_equal(taken(&o, 39), "bccd");
	assert_string_equal(taken(&o, 40), "e");
	record_order_done(&o);
}

static void each_process_has_its_own_together(void **state)
{
	struct record_order o = {0};

	(void)state;
	assert_true(add_of(&o, 2, 10, "d"));
	assert_true(add_of(&o, 1, 30, "c"));
	assert_true(add_of(&o, 2, 40, "later"));
	assert_true(add_of(&o, 2, 20, "e"));
	assert_true(add_of(&o, 1, 20, "b"));
	assert_true(add_of(&o, 1, 10, "a"));
	assert_string_equal(taken(&o, 30), "abcde");
	assert_string_equal(taken(&o, 40), "later");
	record_order_done(&o);
}

static void what_waits_is_there_without_memory(void **state)
{
	struct record_order o = {0};

	(void)state;
	add(&o, 30, "ccc");
	add(&o, 10, "a");
	add(&o, 20, "b");
	no_memory = true;
	while (add_of(&o, 1, 40, "dd"))
		;
	assert_string_equal(taken(&o, 10), "a");
	assert_string_equal(taken(&o, 30), "bccc");
	no_memory = false;
	add(&o, 35, "e");
	assert_string_equal(taken(&o, 35), "e");
	record_order_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_time_whatever_their_ring),
		cmocka_unit_test(what_is_later_waits_for_older_ones),
		cmocka_unit_test(each_process_has_its_own_together),
		cmocka_unit_test(what_waits_is_there_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
