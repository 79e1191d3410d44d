/* Compiled versions of methods: which is the last one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvm-bridge/host/base/versions.h"

enum { MANY = 50000 };

static jmethodID method(uintptr_t i)
{
	return (jmethodID)(0x7000 + 8 * i);
}

static const void *addr(uintptr_t i)
{
	return (const void *)(0x1000 + 64 * i);
}

static void last(void **state)
{
	(void)state;
	versions_add(method(1), addr(1));
	versions_add(method(1), addr(2));
	versions_add(method(1), addr(2)); /* told again */
	versions_add(method(2), addr(3));
	assert_false(versions_drop(method(1), addr(2)));
	assert_true(versions_drop(method(1), addr(1)));
	assert_true(versions_drop(method(1), addr(1))); /* nobody knows of it */
	assert_true(versions_drop(method(2), addr(3)));
}

/* More than a fixed table would hold. */
static void many(void **state)
{
	(void)state;
	for (uintptr_t i = 0; i < MANY; i++) {
		versions_add(method(i), addr(2 * i));
		versions_add(method(i), addr(2 * i + 1));
	}
	for (uintptr_t i = 0; i < MANY; i++) {
		assert_false(versions_drop(method(i), addr(2 * i)));
		assert_true(versions_drop(method(i), addr(2 * i + 1)));
	}
}

static void cleared(void **state)
{
	(void)state;
	versions_add(method(1), addr(1));
	versions_clear();
	versions_add(method(1), addr(2));
	assert_true(versions_drop(method(1), addr(2)));
	versions_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(last), cmocka_unit_test(many), cmocka_unit_test(cleared)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
