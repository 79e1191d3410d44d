/* Files that may not be answered for: how many are asked for at a time, and what is passed in their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sampler/broker/private.h"
#include "symbolizer/target/target_file.h"

static void openings_are_limited(void **state)
{
	struct broker *b = broker_new(false);
	int first = broker_opening_begin(b, 1000);

	(void)state;
	for (int i = 1; i < BROKER_OPENS_OF_USER; i++)
		assert_true(broker_opening_begin(b, 1000) >= 0);
	assert_int_equal(broker_opening_begin(b, 1000), -ETIMEDOUT);
	for (int i = BROKER_OPENS_OF_USER; i < BROKER_OPENS_MAX; i++)
		assert_true(broker_opening_begin(b, 2000 + (uid_t)i) >= 0);
	assert_int_equal(broker_opening_begin(b, 0), -ETIMEDOUT);
	broker_opening_end(b, first);
	assert_true(broker_opening_begin(b, 1000) >= 0);
	broker_free(b);
}

/* Of sysfs, which is in no list of what always answers. */
static void what_is_far_is_copied(void **state)
{
	struct broker *b = broker_new(false);
	int opening = broker_opening_begin(b, 0), fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY);
	char text[64] = "";

	(void)state;
	if (fd < 0)
		skip();
	fd = broker_bring_near(b, opening, fd);
	assert_true(fd >= 0);
	assert_true(target_file_is_copy(fd));
	assert_true(pread(fd, text, sizeof(text), 0) > 0);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
	b->openings[opening].bytes = BROKER_COPY_MAX; /* as if one of that user's were being made */
	assert_int_equal(broker_bring_near(b, broker_opening_begin(b, 0),
					   open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY)),
			 -ENOBUFS);
	broker_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openings_are_limited),
		cmocka_unit_test(what_is_far_is_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
