#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "jvm-bridge/host/id_record.h"

enum { MANY = 40000 };

static struct object_id *of[MANY];

static void count_one(struct object_id *id, void *arg)
{
	(void)id;
	++*(unsigned *)arg;
}

static unsigned room(void)
{
	unsigned n = 0;

	id_records_each(count_one, &n);
	return n;
}

static void fill(void)
{
	for (int i = 0; i < MANY; i++) {
		of[i] = id_record_new();
		assert_non_null(of[i]);
		assert_true((uintptr_t)of[i] >> 31 == 0);
		of[i]->kind = (enum id_kind)(i & 1);
	}
	/* No record is two. */
	for (int i = 0; i < MANY; i++)
		assert_int_equal(of[i]->kind, i & 1);
}

static void found(void **state)
{
	char garbage[64] = {0};

	(void)state;
	fill();
	for (int i = 0; i < MANY; i++) {
		assert_ptr_equal(id_check((jobjectID)of[i]), of[i]);
		assert_null(id_check((jobjectID)(void *)((char *)of[i] + 8)));
	}
	assert_null(id_check(NULL));
	assert_null(id_check((jobjectID)(void *)garbage));
	assert_null(id_check((jobjectID)(void *)UINTPTR_MAX));
}

static bool is_there(const struct object_id *id)
{
	unsigned char resident = 0;

	assert_int_equal(mincore((void *)((uintptr_t)id & ~(uintptr_t)4095), 4096, &resident), 0);
	return resident & 1;
}

/* What holds no id takes no memory, and is used again before there is more. */
static void trimmed(void **state)
{
	unsigned before = room(), left = 0;
	struct object_id *kept = of[MANY / 2];

	(void)state;
	for (int i = 0; i < MANY; i++)
		if (of[i] != kept)
			id_record_free(of[i]);
	id_records_trim();
	assert_ptr_equal(id_check((jobjectID)kept), kept);
	for (int i = 0; i < MANY; i += 100)
		left += is_there(of[i]);
	assert_true(left < MANY / 100 / 2);
	for (int i = 0; i < MANY; i++)
		assert_true(of[i] == kept || !id_check((jobjectID)of[i]));
	id_record_free(kept);
	for (int round = 0; round < 3; round++) {
		fill();
		for (int i = 0; i < MANY; i++)
			id_record_free(of[i]);
		id_records_trim();
	}
	assert_int_equal(room(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(found), cmocka_unit_test(trimmed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
