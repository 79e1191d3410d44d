#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/target/mem.h"
#include "tests/support/fake_jvm.h"

static int open_fake(struct fake_jvm *j, struct hotspot **ret, struct err *err)
{
	fake_jvm_build(j);
	return hotspot_open(j->mem, fake_jvm_symbol, j, ret, err);
}

static void opens_every_style(void **state)
{
	const int majors[] = {8, 11, 17, 25};
	const char *const releases[] = {"25.99-fake", "11.0.99-fake", "17.0.99-fake", "25.0.99-fake"};
	const char *const jdks[] = {"8u99", "11.0.99-fake", "17.0.99-fake", "25.0.99-fake"};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct fake_jvm j = {.major = majors[i]};
		struct hotspot *hs = NULL;
		struct err err = {0};

		if (open_fake(&j, &hs, &err))
			fail_msg("%s", err.msg);
		assert_int_equal(hotspot_version(hs)->major, majors[i]);
		assert_string_equal(hotspot_version(hs)->release, releases[i]);
		assert_string_equal(hotspot_version(hs)->jdk, jdks[i]);
		hotspot_close(hs);
		fake_jvm_free(&j);
	}
}

static void not_yet_started(void **state)
{
	struct fake_jvm j = {.starting = true};
	struct hotspot *hs = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(open_fake(&j, &hs, &err), -EAGAIN);
	assert_null(hs);
	fake_jvm_free(&j);
}

static bool counted_symbol(void *ctx, const char *name, uint64_t *ret)
{
	struct fake_jvm *j = ctx;

	j->asked++;
	return fake_jvm_symbol(j, name, ret);
}

/* Its interpreter may be there in part. To look again for the thread, the tables are not read again. */
static void not_before_its_first_thread(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fake_jvm j = {.major = i ? 17 : 8, .threadless = true};
		const uint64_t thread = 2;
		struct hotspot *hs = NULL;
		struct err err = {0};

		assert_int_equal(open_fake(&j, &hs, &err), -EAGAIN);
		assert_int_equal(hotspot_open(j.mem, counted_symbol, &j, &hs, &err), -EAGAIN);
		assert_int_equal(j.asked, 0);
		if (i)
			fake_jvm_poke(&j, j.thread_list + 12, &thread, 4);
		else
			fake_jvm_poke(&j, j.list_var, &j.thread[0], 8);
		mem_new_sample(j.mem);
		assert_int_equal(hotspot_open(j.mem, counted_symbol, &j, &hs, &err), 0);
		assert_true(j.asked > 0);
		assert_int_equal(hotspot_version(hs)->major, j.major);
		hotspot_close(hs);
		hs = NULL;

		/* It may also go away half open. */
		fake_jvm_poke(&j, j.list_var, &(uint64_t){0}, 8);
		mem_new_sample(j.mem);
		assert_int_equal(hotspot_open(j.mem, fake_jvm_symbol, &j, &hs, &err), -EAGAIN);
		hotspot_close(hs);
		fake_jvm_free(&j);
	}
}

static void missing_fields_are_named(void **state)
{
	struct fake_jvm j = {.drop = "CodeBlob::_name", .drop2 = "ConstMethod::_name_index"};
	struct hotspot *hs = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(open_fake(&j, &hs, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "CodeBlob::_name"));
	assert_non_null(strstr(err.msg, "ConstMethod::_name_index"));
	fake_jvm_free(&j);
}

static void missing_alternatives_are_named(void **state)
{
	struct fake_jvm j = {.drop = "CodeBlob::_code_begin"};
	struct hotspot *hs = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(open_fake(&j, &hs, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "CodeBlob::_code_begin or CodeBlob::_code_offset"));
	fake_jvm_free(&j);
}

static bool noted(const struct hotspot *hs, const char *what)
{
	for (const char *const *n = hotspot_notes(hs); *n; n++)
		if (strstr(*n, what))
			return true;
	return false;
}

static void missing_optional_is_noted(void **state)
{
	struct fake_jvm j = {.drop = "CompiledMethod::_scopes_data_begin"};
	struct hotspot *hs = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(open_fake(&j, &hs, &err), 0);
	assert_true(noted(hs, "inlined"));
	assert_true(noted(hs, "nmethod::_scopes_data_begin"));
	hotspot_close(hs);
	fake_jvm_free(&j);
}

static bool no_symbol(void *ctx, const char *name, uint64_t *ret)
{
	(void)ctx;
	(void)name;
	(void)ret;
	return false;
}

static void not_a_hotspot(void **state)
{
	struct mem *mem = mem_pages_new();
	struct hotspot *hs = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(hotspot_open(mem, no_symbol, NULL, &hs, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "gHotSpotVMStructs"));
	mem_free(mem);
}

/* A table without an end, strides and columns of nonsense: refused. Constants can be done without. */
static void broken_tables(void **state)
{
	const char *const symbols[] = {"gHotSpotVMStructEntryArrayStride", "gHotSpotVMStructEntryFieldNameOffset",
				       "gHotSpotVMTypes", "gHotSpotVMIntConstants"};
	const uint64_t values[] = {1, 7, 4096, UINT64_MAX, 0x7d0000000001};

	(void)state;
	for (size_t s = 0; s < 4; s++) {
		for (size_t v = 0; v < 5; v++) {
			struct fake_jvm j = {0};
			struct hotspot *hs = NULL;
			uint64_t at;

			fake_jvm_build(&j);
			assert_true(fake_jvm_symbol(&j, symbols[s], &at));
			fake_jvm_poke(&j, at, &values[v], 8);
			if (hotspot_open(j.mem, fake_jvm_symbol, &j, &hs, NULL) == 0)
				assert_string_equal(symbols[s], "gHotSpotVMIntConstants");
			hotspot_close(hs);
			fake_jvm_free(&j);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_every_style),
		cmocka_unit_test(not_yet_started),
		cmocka_unit_test(not_before_its_first_thread),
		cmocka_unit_test(missing_fields_are_named),
		cmocka_unit_test(missing_alternatives_are_named),
		cmocka_unit_test(missing_optional_is_noted),
		cmocka_unit_test(not_a_hotspot),
		cmocka_unit_test(broken_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
