#ifndef JS_TESTS_STORE_EACH_H
#define JS_TESTS_STORE_EACH_H

#include "tests/support/store_fill.h"

/* For cmocka_unit_test_setup_teardown(): each test has an empty directory for a store. */
static char dir[64];

static int set_up(void **state)
{
	(void)state;
	store_test_dir(dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_test_remove(dir);
	return 0;
}

#endif
