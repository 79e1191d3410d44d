/* The numbers of JVMPI, as agents were compiled with them; a list of its own, apart from the header's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvm-bridge/jvmpi/layout.h"

static void versions_and_results(void **state)
{
	(void)state;
	assert_int_equal(JVMPI_VERSION_1, 0x10000001);
	assert_int_equal(JVMPI_VERSION_1_1, 0x10000002);
	assert_int_equal(JVMPI_VERSION_HOTSPOT, 0x10000002);
	assert_int_equal(JVMPI_VERSION_1_2, 0x10000003);
	assert_int_equal(JVMPI_SUCCESS, 0);
	assert_int_equal(JVMPI_NOT_AVAILABLE, 1);
	assert_int_equal(JVMPI_FAIL, -1);
	assert_int_equal(JVMPI_REQUESTED_EVENT, 0x10000000);
	assert_int_equal(JVMPI_MAX_EVENT_TYPE_VAL, 61);
}

/* In the order of their numbers. */
static void events(void **state)
{
	static const jint low[] = {JVMPI_EVENT_METHOD_ENTRY,         JVMPI_EVENT_METHOD_ENTRY2,
				   JVMPI_EVENT_METHOD_EXIT,          JVMPI_EVENT_OBJECT_ALLOC,
				   JVMPI_EVENT_OBJECT_FREE,          JVMPI_EVENT_OBJECT_MOVE,
				   JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMPI_EVENT_COMPILED_METHOD_UNLOAD,
				   JVMPI_EVENT_INSTRUCTION_START};
	static const jint high[] = {JVMPI_EVENT_THREAD_START,
				    JVMPI_EVENT_THREAD_END,
				    JVMPI_EVENT_CLASS_LOAD_HOOK,
				    36,
				    JVMPI_EVENT_HEAP_DUMP,
				    JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
				    JVMPI_EVENT_JNI_GLOBALREF_FREE,
				    JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
				    JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
				    JVMPI_EVENT_CLASS_LOAD,
				    JVMPI_EVENT_CLASS_UNLOAD,
				    JVMPI_EVENT_DATA_DUMP_REQUEST,
				    JVMPI_EVENT_DATA_RESET_REQUEST,
				    JVMPI_EVENT_JVM_INIT_DONE,
				    JVMPI_EVENT_JVM_SHUT_DOWN,
				    JVMPI_EVENT_ARENA_NEW,
				    JVMPI_EVENT_ARENA_DELETE,
				    JVMPI_EVENT_OBJECT_DUMP,
				    JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
				    JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
				    JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT,
				    JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
				    JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
				    JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
				    JVMPI_EVENT_MONITOR_WAIT,
				    JVMPI_EVENT_MONITOR_WAITED,
				    JVMPI_EVENT_MONITOR_DUMP,
				    JVMPI_EVENT_GC_START,
				    JVMPI_EVENT_GC_FINISH};

	(void)state;
	for (jint i = 0; i < (jint)(sizeof(low) / sizeof(*low)); i++)
		assert_int_equal(low[i], 1 + i);
	for (jint i = 0; i < (jint)(sizeof(high) / sizeof(*high)); i++)
		assert_int_equal(high[i], 33 + i);
	assert_int_equal(high[sizeof(high) / sizeof(*high) - 1], 61);
}

static void aliases(void **state)
{
	(void)state;
	assert_int_equal(JVMPI_EVENT_OBJ_ALLOC, 4);
	assert_int_equal(JVMPI_EVENT_OBJ_FREE, 5);
	assert_int_equal(JVMPI_EVENT_OBJ_MOVE, 6);
	assert_int_equal(JVMPI_EVENT_LOAD_COMPILED_METHOD, 7);
	assert_int_equal(JVMPI_EVENT_UNLOAD_COMPILED_METHOD, 8);
	assert_int_equal(JVMPI_EVENT_DUMP_DATA_REQUEST, 44);
	assert_int_equal(JVMPI_EVENT_RESET_DATA_REQUEST, 45);
	assert_int_equal(JVMPI_EVENT_INIT_DONE, 46);
	assert_int_equal(JVMPI_EVENT_NEW_ARENA, 48);
	assert_int_equal(JVMPI_EVENT_DELETE_ARENA, 49);
	assert_int_equal(JVMPI_EVENT_RAW_MONITOR_CONTENTED_ENTER, 51);
	assert_int_equal(JVMPI_EVENT_RAW_MONITOR_CONTENTED_ENTERED, 52);
	assert_int_equal(JVMPI_EVENT_RAW_MONITOR_CONTENTED_EXIT, 53);
	assert_int_equal(JVMPI_EVENT_MONITOR_CONTENTED_ENTER, 54);
	assert_int_equal(JVMPI_EVENT_MONITOR_CONTENTED_ENTERED, 55);
	assert_int_equal(JVMPI_EVENT_MONITOR_CONTENTED_EXIT, 56);
}

static void threads(void **state)
{
	(void)state;
	assert_int_equal(JVMPI_THREAD_RUNNABLE, 1);
	assert_int_equal(JVMPI_THREAD_MONITOR_WAIT, 2);
	assert_int_equal(JVMPI_THREAD_CONDVAR_WAIT, 3);
	assert_int_equal(JVMPI_THREAD_SUSPENDED, 0x8000);
	assert_int_equal(JVMPI_THREAD_INTERRUPTED, 0x4000);
	assert_int_equal(JVMPI_MINIMUM_PRIORITY, 1);
	assert_int_equal(JVMPI_NORMAL_PRIORITY, 5);
	assert_int_equal(JVMPI_MAXIMUM_PRIORITY, 10);
}

static void dumps(void **state)
{
	static const jint types[] = {JVMPI_BOOLEAN, JVMPI_CHAR,  JVMPI_FLOAT, JVMPI_DOUBLE,
				     JVMPI_BYTE,    JVMPI_SHORT, JVMPI_INT,   JVMPI_LONG};
	static const jint roots[] = {JVMPI_GC_ROOT_JNI_GLOBAL,   JVMPI_GC_ROOT_JNI_LOCAL,    JVMPI_GC_ROOT_JAVA_FRAME,
				     JVMPI_GC_ROOT_NATIVE_STACK, JVMPI_GC_ROOT_STICKY_CLASS, JVMPI_GC_ROOT_THREAD_BLOCK,
				     JVMPI_GC_ROOT_MONITOR_USED, JVMPI_GC_ROOT_THREAD_OBJ};

	(void)state;
	assert_int_equal(JVMPI_NORMAL_OBJECT, 0);
	assert_int_equal(JVMPI_CLASS, 2);
	for (jint i = 0; i < 8; i++) {
		assert_int_equal(types[i], 4 + i);
		assert_int_equal(roots[i], 1 + i);
	}
	assert_int_equal(JVMPI_GC_ROOT_UNKNOWN, 0xff);
	assert_int_equal(JVMPI_DUMP_LEVEL_0, 0);
	assert_int_equal(JVMPI_DUMP_LEVEL_1, 1);
	assert_int_equal(JVMPI_DUMP_LEVEL_2, 2);
	assert_int_equal(JVMPI_MONITOR_JAVA, 1);
	assert_int_equal(JVMPI_MONITOR_RAW, 2);
	assert_int_equal(JVMPI_GC_CLASS_DUMP, 0x20);
	assert_int_equal(JVMPI_GC_INSTANCE_DUMP, 0x21);
	assert_int_equal(JVMPI_GC_OBJ_ARRAY_DUMP, 0x22);
	assert_int_equal(JVMPI_GC_PRIM_ARRAY_DUMP, 0x23);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(versions_and_results), cmocka_unit_test(events),
					   cmocka_unit_test(aliases), cmocka_unit_test(threads),
					   cmocka_unit_test(dumps)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
