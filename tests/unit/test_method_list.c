/* Methods of a class in the JVM's memory, which may go while it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "jvm-bridge/host/base/method_list.h"

enum { METHODS = 1500, PAGE = 4096 };

static struct {
	struct {
		uint64_t vtable, methods, ids;
	} klass;
	struct {
		int32_t length, pad;
		uint64_t data[METHODS];
	} array;
	uint64_t ids[METHODS + 1];
	struct {
		uint64_t vtable, const_method;
	} methods[METHODS];
	struct {
		uint64_t flags;
		uint16_t size, number;
	} const_methods[METHODS];
} jvm;

static const struct method_layout layout = {8, 16, 0, 8, 8, 10};

static uint64_t addr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static jmethodID id_of(uint64_t i)
{
	return (jmethodID)(uintptr_t)(0x1000 + i);
}

/* The numbers run against the order of the methods. */
static void jvm_make(void)
{
	jvm.klass.methods = addr(&jvm.array);
	jvm.klass.ids = addr(jvm.ids);
	jvm.array.length = METHODS;
	jvm.ids[0] = METHODS;
	for (unsigned i = 0; i < METHODS; i++) {
		jvm.array.data[i] = addr(&jvm.methods[i]);
		jvm.methods[i].const_method = addr(&jvm.const_methods[i]);
		jvm.const_methods[i].number = (uint16_t)(METHODS - 1 - i);
		jvm.ids[1 + METHODS - 1 - i] = addr(id_of(i));
	}
}

static bool find(uint64_t first, jint n)
{
	static JVMPI_Method wanted[METHODS];
	static jlong found[METHODS];
	JVMPI_JS_Addresses a = {n, wanted, found};

	for (jint i = 0; i < n; i++)
		wanted[i].method_id = id_of(first + (uint64_t)i);
	if (!method_list_find(&layout, addr(&jvm.klass), &a))
		return false;
	for (jint i = 0; i < n; i++)
		assert_int_equal(found[i], addr(&jvm.methods[first + (uint64_t)i]));
	return true;
}

static void found(void **state)
{
	(void)state;
	jvm_make();
	assert_true(find(0, METHODS));
	assert_true(find(1200, 1));
	assert_true(find(3, 7));
	assert_false(find(METHODS, 1));
	assert_false(find(0, 0));
	assert_false(find(0, -1));
}

static void without_ids(void **state)
{
	(void)state;
	jvm_make();
	jvm.ids[0] = 10; /* the last ten methods have one */
	assert_true(find(METHODS - 10, 10));
	assert_false(find(METHODS - 11, 2));
	jvm.ids[METHODS] = 0; /* a cell that is not filled yet */
	jvm.ids[0] = METHODS;
	assert_false(find(0, 1));
	jvm.klass.ids = 0;
	assert_false(find(1, 1));
}

static void what_is_gone(void **state)
{
	char *gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(gone, MAP_FAILED);
	jvm_make();
	jvm.methods[700].const_method = addr(gone);
	assert_false(find(0, 1));
	jvm_make();
	jvm.array.data[METHODS - 1] = addr(gone);
	assert_false(find(0, 1));
	jvm_make();
	jvm.klass.methods = addr(gone);
	assert_false(find(0, 1));
	jvm_make();
	jvm.klass.ids = addr(gone);
	assert_false(find(0, 1));
	jvm_make();
	jvm.array.length = INT32_MAX;
	assert_false(find(0, 1));
	jvm.array.length = -1;
	assert_false(find(0, 1));
	jvm_make();
	munmap(gone, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(found), cmocka_unit_test(without_ids),
					   cmocka_unit_test(what_is_gone)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
