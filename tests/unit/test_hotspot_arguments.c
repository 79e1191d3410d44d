#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/target/mem.h"
#include "tests/support/fake_jvm.h"

enum { SIZE = 64 };

static struct fake_jvm j;
static struct hotspot *hs;

static void open_fake(const char *const *arguments, const char *command)
{
	j = (struct fake_jvm){.arguments = arguments, .command = command};
	fake_jvm_build(&j);
	assert_int_equal(hotspot_open(j.mem, fake_jvm_symbol, &j, &hs, NULL), 0);
}

static void close_fake(void)
{
	hotspot_close(hs);
	hs = NULL;
	fake_jvm_free(&j);
}

static void expect(const char *key, const char *value)
{
	char dst[SIZE] = "";

	assert_int_equal(hotspot_property(hs, key, dst, sizeof(dst)), value != NULL);
	if (value)
		assert_string_equal(dst, value);
}

static void properties(void **state)
{
	static const char *const arguments[] = {"-Xmx64m",  "-Da.b=1",    "-Da.bc=2", "-D",       "",        "-Da.b",
						"-Dempty=", "-Da.b=last", "a.b=no",   "-DA.B=no", "-Dx=a=b", NULL};

	(void)state;
	open_fake(arguments, "com.acme.Shop 1 2");
	expect("a.b", "last");
	expect("a.bc", "2");
	expect("a", NULL);
	expect("none", NULL);
	expect("empty", "");
	expect("x", "a=b");
	close_fake();
}

static void command(void **state)
{
	static const char *const none[] = {NULL};
	char dst[SIZE];

	(void)state;
	open_fake(none, "com.acme.Shop 1 2");
	assert_true(hotspot_command(hs, dst, sizeof(dst)));
	assert_string_equal(dst, "com.acme.Shop 1 2");
	expect("a", NULL);
	close_fake();
	open_fake(none, NULL); /* JNI_CreateJavaVM() without a launcher */
	assert_false(hotspot_command(hs, dst, sizeof(dst)));
	close_fake();
}

static void too_long_a_value_is_none(void **state)
{
	char longest[SIZE + 8] = "-Da=", key[200] = "";
	const char *const arguments[] = {longest, NULL};

	(void)state;
	memset(longest + 4, 'x', SIZE - 1);
	open_fake(arguments, NULL);
	expect("a", longest + 4);
	close_fake();
	memset(longest + 4, 'x', SIZE);
	open_fake(arguments, NULL);
	expect("a", NULL);
	memset(key, 'k', sizeof(key) - 1);
	expect(key, NULL);
	close_fake();
}

/* Whatever a target writes there. */
static void hostile_arrays(void **state)
{
	static const char *const arguments[] = {"-Da=1", "-Db=2", NULL};
	static const uint32_t counts[] = {0, 1000000, INT32_MAX, UINT32_MAX};
	static const uint64_t arrays[] = {0, 1, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 47};
	uint64_t array;

	(void)state;
	open_fake(arguments, NULL);
	assert_true(mem_read_u64(j.mem, j.arguments_array, &array));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		fake_jvm_poke(&j, j.arguments_count, &counts[i], 4);
		expect("a", NULL);
	}
	fake_jvm_poke(&j, j.arguments_count, &(uint32_t){2}, 4);
	expect("a", "1");
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		fake_jvm_poke(&j, j.arguments_array, &arrays[i], 8);
		expect("a", NULL);
	}
	fake_jvm_poke(&j, j.arguments_array, &array, 8);
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		fake_jvm_poke(&j, array, &arrays[i], 8);
		expect("a", NULL);
		expect("b", "2");
	}
	close_fake();
}

static void tables_without_arguments(void **state)
{
	char dst[SIZE];

	(void)state;
	open_fake(NULL, NULL);
	expect("a", NULL);
	assert_false(hotspot_command(hs, dst, sizeof(dst)));
	close_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(properties),
		cmocka_unit_test(command),
		cmocka_unit_test(too_long_a_value_is_none),
		cmocka_unit_test(hostile_arrays),
		cmocka_unit_test(tables_without_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
