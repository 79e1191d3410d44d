#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbolizer/hotspot/code/blob.h"
#include "symbolizer/hotspot/methods/method.h"

/* Names as JDK 8, 17 and 25 have them. */
static void test_by_name(void **state)
{
	static const struct {
		enum blob_kind kind;
		const char *name;
		enum stub_role role;
	} blobs[] = {
		{BLOB_STUBS, "StubRoutines (continuation stubs)", STUB_CONTINUATION},
		{BLOB_STUBS, "StubRoutines (continuationstubs)", STUB_CONTINUATION},
		{BLOB_STUBS, "StubRoutines (2)", STUB_OTHER},
		{BLOB_BUFFER, "MethodHandles adapters", STUB_METHOD_HANDLES},
		{BLOB_BUFFER, "InlineCacheBuffer", STUB_OTHER},
		{BLOB_RUNTIME, "forward_exception Runtime1 stub", STUB_FORWARD_EXCEPTION},
		{BLOB_RUNTIME, "handle_exception_nofpu Runtime1 stub", STUB_HANDLE_EXCEPTION},
		{BLOB_RUNTIME, "handle_exception_from_callee Runtime1 stub", STUB_HANDLE_EXCEPTION},
		{BLOB_RUNTIME, "resolve_static_call", STUB_CALL_RESOLVER},
		{BLOB_RUNTIME, "wrong_method_stub", STUB_CALL_RESOLVER},
		{BLOB_RUNTIME, "ic_miss_stub", STUB_CALL_RESOLVER},
		{BLOB_RUNTIME, "_new_instance_Java", STUB_OTHER},
		{BLOB_DEOPT, "UncommonTrapBlob", STUB_UNCOMMON_TRAP},
		{BLOB_DEOPT, "DeoptimizationBlob", STUB_OTHER},
		/* A name counts for its own kind of blob only. */
		{BLOB_NMETHOD, "handle_exception", STUB_OTHER},
		{BLOB_STUBS, "StubRoutines (ic_miss)", STUB_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(blobs) / sizeof(*blobs); i++)
		assert_int_equal(stub_role_of(blobs[i].kind, blobs[i].name), blobs[i].role);
}

static enum stub_role native(const char *class_name, const char *name)
{
	return stub_role_of_native(&(struct hs_method){.class_name = class_name, .name = name});
}

static void test_native(void **state)
{
	(void)state;
	assert_int_equal(native("jdk/internal/vm/Continuation", "enterSpecial"), STUB_ENTER_SPECIAL);
	assert_int_equal(native("jdk/internal/vm/Continuation", "doYield"), STUB_DO_YIELD);
	assert_int_equal(native("jdk/internal/vm/Continuation", "pin"), STUB_OTHER);
	/* Any program may have such a method: its frames are nobody's but its own. */
	assert_int_equal(native("app/Generator", "doYield"), STUB_OTHER);
	assert_int_equal(native("app/Generator", "enterSpecial"), STUB_OTHER);
	assert_int_equal(stub_role_of_native(NULL), STUB_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_name),
		cmocka_unit_test(test_native),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
