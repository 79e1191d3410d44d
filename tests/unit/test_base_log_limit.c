#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/log.h"
#include "symbolizer/base/log_limit.h"

#define HOUR_NS UINT64_C(3600000000000)

enum { BURST = 5, FLOOD = 100 };

/* What log() and all children of it write to stderr. */
static char *written(void (*log)(void), char *text, size_t size)
{
	int ends[2], before = dup(STDERR_FILENO);
	ssize_t n;
	size_t len = 0;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	log();
	dup2(before, STDERR_FILENO);
	close(before);
	while ((n = read(ends[0], text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(ends[0]);
	text[len] = '\0';
	return text;
}

static unsigned lines(const char *text)
{
	unsigned n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

static void flood(void)
{
	for (int i = 0; i < FLOOD; i++)
		log_warn("message %d", i);
}

static void flood_from_children(void)
{
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			log_limit_share();
			flood();
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	log_warn("from the first process");
}

static void one(void)
{
	log_warn("one more");
}

static void all_are_written_without_a_limit(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(lines(written(flood, text, sizeof(text))), FLOOD);
}

static void a_flood_is_cut(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(log_limit_set(BURST, HOUR_NS), 0);
	assert_int_equal(lines(written(flood, text, sizeof(text))), BURST);
	assert_int_equal(lines(written(log_say_left_out, text, sizeof(text))), 0);
}

/* Nor can what children log leave no room for the first process. */
static void children_have_one_limit(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(log_limit_set(BURST, HOUR_NS), 0);
	assert_int_equal(lines(written(flood_from_children, text, sizeof(text))), BURST + 1);
	assert_non_null(strstr(text, "from the first process"));
}

/* While the flood goes on, one message in 100 ms. */
static void how_many_is_said(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(log_limit_set(2, UINT64_C(100000000)), 0);
	written(flood, text, sizeof(text));
	usleep(250000);
	written(one, text, sizeof(text));
	assert_non_null(strstr(text, " messages were left out: there were too many\n"));
	assert_non_null(strstr(text, "one more"));
	written(flood, text, sizeof(text));
	usleep(150000);
	assert_int_equal(lines(written(log_say_left_out, text, sizeof(text))), 1);
	assert_int_equal(lines(written(log_say_left_out, text, sizeof(text))), 0);
}

static ino_t off_by; /* of the stream that the journal reads */

static void say_of_each_kind(void)
{
	char stream[48];
	struct stat st;

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)(st.st_ino + off_by));
	setenv("JOURNAL_STREAM", stream, 1);
	log_for_journal();
	log_set_level(LOG_LEVEL_DEBUG);
	log_error("a\n<0>b");
	log_warn("b");
	log_info("c");
	log_debug("d");
	log_set_level(LOG_LEVEL_NORMAL);
}

/* Who is not started by the service manager inherits the variable, but not the stream. */
static void the_journal_gets_priorities(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(log_limit_set(100, HOUR_NS), 0);
	off_by = 1;
	assert_string_equal(written(say_of_each_kind, text, sizeof(text)),
			    "jsampler: a?<0>b\njsampler: b\njsampler: c\njsampler: d\n");
	off_by = 0;
	assert_string_equal(written(say_of_each_kind, text, sizeof(text)),
			    "<3>jsampler: a?<0>b\n<4>jsampler: b\n<6>jsampler: c\n<7>jsampler: d\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_written_without_a_limit), cmocka_unit_test(a_flood_is_cut),
		cmocka_unit_test(children_have_one_limit),         cmocka_unit_test(how_many_is_said),
		cmocka_unit_test(the_journal_gets_priorities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
