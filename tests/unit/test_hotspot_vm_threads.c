/* Threads of the JVM's own, of whose names the kernel has the first 15 characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "tests/support/fake_jvm.h"

struct world {
	struct fake_jvm j;
	struct hotspot *hs;
};

static bool no_list(void *ctx, const char *name, uint64_t *ret)
{
	return name[0] != '_' && fake_jvm_symbol(ctx, name, ret);
}

static int set_up_with(void **state, hs_symbol_fn *symbol, const char *drop)
{
	struct world *w = calloc(1, sizeof(*w));

	w->j.major = 25;
	w->j.drop = drop;
	fake_jvm_build(&w->j);
	if (hotspot_open(w->j.mem, symbol, &w->j, &w->hs, NULL))
		return -1;
	*state = w;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, fake_jvm_symbol, NULL);
}

static int set_up_without_list(void **state)
{
	return set_up_with(state, no_list, NULL);
}

static int set_up_without_field(void **state)
{
	return set_up_with(state, fake_jvm_symbol, "NamedThread::_processed_thread");
}

static int tear_down(void **state)
{
	struct world *w = *state;

	hotspot_close(w->hs);
	fake_jvm_free(&w->j);
	free(w);
	return 0;
}

static void expect(struct world *w, int32_t tid, const char *comm, const char *want)
{
	char name[64] = "";

	if (hs_vm_thread_name(w->hs, tid, comm, name, sizeof(name)))
		assert_string_equal(name, want ? want : "none");
	else
		assert_null(want);
}

static void test_names_of_the_list(void **state)
{
	struct world *w = *state;

	expect(w, 2000, "Shenandoah GC T", "Shenandoah GC Threads#12");
	expect(w, 2001, "Shenandoah GC T", "Shenandoah GC Threads#3");
	expect(w, 2002, "Shenandoah GC T", NULL);
	expect(w, 0, "Shenandoah GC T", NULL);
	/* What is not cut is whole; what begins otherwise is another's. */
	expect(w, 2000, "Shenandoah GC", NULL);
	expect(w, 2000, "Somebody Else's", NULL);
	/* A thread without a name of that kind: what stands there is something else. */
	expect(w, 2000, "VM Periodic Tas", "VM Periodic Task Thread");
}

static void test_a_list_that_lies(void **state)
{
	struct world *w = *state;
	uint64_t self = w->j.vm_thread[0], garbage = 8;

	/* A circle, and a pointer to nowhere. */
	fake_jvm_poke(&w->j, w->j.vm_thread[0] + 56, &self, sizeof(self));
	expect(w, 2001, "Shenandoah GC T", NULL);
	fake_jvm_poke(&w->j, w->j.vm_thread[0] + 64, &garbage, sizeof(garbage));
	expect(w, 2000, "Shenandoah GC T", NULL);
}

/* As many threads as a user may have, each of which is looked for in a circle. */
static void test_a_circle_for_many_threads(void **state)
{
	struct world *w = *state;
	uint64_t self = w->j.vm_thread[0], begin = clock_process_cpu_ns();

	fake_jvm_poke(&w->j, w->j.vm_thread[0] + 56, &self, sizeof(self));
	for (int32_t tid = 10000; tid < 50000; tid++)
		expect(w, tid, "Shenandoah GC T", NULL);
	assert_true(clock_process_cpu_ns() - begin < UINT64_C(4000000000));
}

static void test_names_that_are_known(void **state)
{
	struct world *w = *state;
	char name[64];

	expect(w, 2000, "Shenandoah GC T", NULL);
	expect(w, 2000, "VM Periodic Tas", "VM Periodic Task Thread");
	expect(w, 7, "Monitor Deflati", "Monitor Deflation Thread");
	expect(w, 7, "Signal Dispatch", "Signal Dispatcher");
	assert_true(hs_vm_thread_name(NULL, 7, "ArchiveWorkerTh", name, sizeof(name)));
	assert_false(hs_vm_thread_name(NULL, 7, "Shenandoah GC T", name, sizeof(name)));
}

static void test_threads_that_are_never_java_threads(void **state)
{
	static const char *const own[] = {"VM Thread", "VM Periodic Tas", "G1 Conc#0", "GC Thread#12"};
	static const char *const others[] = {"Signal Dispatch", "C2 CompilerThre", "VM Thread 2", "main", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		assert_true(hs_is_vm_thread(own[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(hs_is_vm_thread(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names_of_the_list, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_list_that_lies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_circle_for_many_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names_that_are_known, set_up_without_list, tear_down),
		cmocka_unit_test_setup_teardown(test_names_that_are_known, set_up_without_field, tear_down),
		cmocka_unit_test(test_threads_that_are_never_java_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
