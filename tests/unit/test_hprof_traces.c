/* HPROF's traces take a bounded amount of memory, however many threads and classes come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/tables/traces.h"

enum { FRAMES = 2000, BYTES = sizeof(struct trace) + FRAMES * sizeof(struct frame), MAX = (256 << 20) / BYTES };

struct hprof hprof = {.file = 1, .options = {.depth = FRAMES, .thread = 1}};

static struct frame frames[FRAMES];

/* A class with one method is loaded, is in a trace, and is unloaded. */
static bool class_passes(jmethodID method)
{
	JVMPI_Method m = {"m", "()V", 1, 1, method};
	JVMPI_Event e = {.event_type = JVMPI_EVENT_CLASS_LOAD};
	struct frame in = {.line = 1};
	char name[] = "Passes";
	bool kept;

	e.u.class_load.class_id = (jobjectID)method;
	e.u.class_load.class_name = name;
	e.u.class_load.num_methods = 1;
	e.u.class_load.methods = &m;
	class_loaded(&e);
	in.method = method_of(method);
	kept = trace_of(0, &in, 1);
	class_unloaded((jobjectID)method);
	return kept;
}

static void threads_come_and_go(void **state)
{
	const struct trace *first = trace_of(1, frames, FRAMES);
	uint32_t thread = 2;

	(void)state;
	assert_non_null(first);
	while (trace_of(thread, frames, FRAMES) && thread < 2 * MAX)
		thread++;
	assert_int_equal(thread - 1, MAX);
	assert_int_equal(traces_lost(), 1);
	assert_ptr_equal(trace_of(1, frames, FRAMES), first);
	assert_null(trace_of(thread, frames, FRAMES));
	assert_int_equal(traces_lost(), 2);
}

/* In what is left: less than one of the long ones. */
static void classes_come_and_go(void **state)
{
	enum { LEAST = sizeof(struct trace) + sizeof(struct class) + sizeof(struct method) };
	uintptr_t method = 0x1000;

	(void)state;
	while (class_passes((jmethodID)method) && method < 0x100000)
		method += 0x10;
	assert_in_range((method - 0x1000) / 0x10, 1, BYTES / LEAST);
	assert_int_equal(traces_lost(), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(threads_come_and_go),
					   cmocka_unit_test(classes_come_and_go)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
