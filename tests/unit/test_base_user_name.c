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

static void ids_are_found_by_name(void **state)
{
	uid_t uid = 1;
	gid_t gid = 1;

	(void)state;
	assert_true(user_find("root", &uid, &gid));
	assert_true(uid == 0 && gid == 0);
	assert_false(user_find("no-such-user", &uid, &gid));
	gid = 1;
	assert_true(group_find("root", &gid));
	assert_int_equal(gid, 0);
	assert_false(group_find("no-such-group", &gid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_has_its_name),
		cmocka_unit_test(a_user_who_is_nobody_has_a_number),
		cmocka_unit_test(ids_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
