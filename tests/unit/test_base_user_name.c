#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbolizer/base/user_name.h"

static void root_has_its_name(void **state)
{
	char name[8], cut[3];

	(void)state;
	assert_true(user_name(0, name, sizeof(name)));
	assert_string_equal(name, "root");
	assert_true(user_name(0, cut, sizeof(cut)));
	assert_string_equal(cut, "ro");
}

static void a_user_who_is_nobody_has_a_number(void **state)
{
	char name[16];

	(void)state;
	assert_false(user_name(4000000000, name, sizeof(name)));
	assert_string_equal(name, "4000000000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_has_its_name),
		cmocka_unit_test(a_user_who_is_nobody_has_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
