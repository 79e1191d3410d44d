#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/closed/opener.h"
#include "sampler/closed/opener_private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/err.h"

static char dir[64], input[96], output[96];
static const char *inputs[] = {input, "/nonexistent/x"};

static int setup(void **state)
{
	FILE *f;

	(void)state;
	strcpy(dir, "/tmp/jsampler-opener-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(input, sizeof(input), "%s/in", dir);
	snprintf(output, sizeof(output), "%s/out", dir);
	f = fopen(input, "w");
	return !f || fputs("input", f) < 0 || fclose(f) != 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static struct opener *start(struct outfile **out)
{
	struct opener *o = opener_new(inputs, 2);
	struct err err;

	assert_non_null(o);
	assert_int_equal(outfile_open(output, out, &err), 0);
	assert_int_equal(opener_add_output(o, *out, output), 0);
	assert_int_equal(opener_start(o, NULL, &err), 0);
	return o;
}

static void opens_inputs_and_names_outputs(void **state)
{
	struct outfile *out;
	struct opener *o = start(&out);
	char text[8] = "";
	int fd = opener_input(o, input);
	struct err err;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 5);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
	assert_int_equal(opener_input(o, "/nonexistent/x"), -ENOENT);
	fputs("output", outfile_stream(out));
	assert_false(exists(output));
	assert_int_equal(outfile_commit(out, &err), 0);
	assert_true(exists(output));
	opener_free(o);
}

static void says_why_a_name_is_refused(void **state)
{
	struct outfile *out;
	struct opener *o = start(&out);
	struct err err = {0};

	(void)state;
	assert_int_equal(mkdir(output, 0700), 0); /* in the meantime */
	assert_true(outfile_commit(out, &err) < 0);
	assert_non_null(strstr(err.msg, output));
	opener_free(o);
}

static void leaves_nothing_without_a_name(void **state)
{
	struct outfile *out;
	struct opener *o = start(&out);

	(void)state;
	fputs("half of it", outfile_stream(out));
	outfile_abort(out);
	opener_free(o);
	assert_false(exists(output));
	assert_int_equal(rmdir(dir), -1);
	assert_int_equal(unlink(input), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void rescues(void **state)
{
	char path[4096];
	struct outfile *out, *instead;
	struct opener *o = start(&out);
	struct err err;

	(void)state;
	assert_int_equal(opener_rescue(o, output, 0, &instead, path, sizeof(path)), 0);
	assert_int_equal(strncmp(path, "/tmp/jsampler-", 14), 0);
	assert_false(exists(path));
	fputs("rescued", outfile_stream(instead));
	assert_int_equal(outfile_commit(instead, &err), 0);
	assert_true(exists(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(opener_rescue(o, output, 0, &instead, path, sizeof(path)), -EEXIST);
	assert_int_equal(opener_rescue(o, output, OUTFILE_RESCUES, &instead, path, sizeof(path)), -ENOENT);
	assert_int_equal(opener_rescue(o, "/etc/passwd", 0, &instead, path, sizeof(path)), -ENOENT);
	outfile_abort(out);
	opener_free(o);
}

/* Whoever has taken over the parser sends this; the opener ends, and leaves nothing behind. */
static void gives_up(const void *bytes, size_t size, int fd)
{
	struct outfile *out;
	struct opener *o = start(&out);
	struct opener_answer a;
	int status = -1, got;

	channel_send(opener_socket(o), bytes, size, fd);
	assert_int_equal(channel_receive(opener_socket(o), &a, sizeof(a), &got), -EPIPE);
	assert_int_equal(waitpid(o->child, &status, 0), o->child);
	assert_int_equal(status, 0);
	o->child = 0;
	outfile_abort(out);
	opener_free(o);
	assert_false(exists(output));
}

static void knows_no_other_request(void **state)
{
	/* clang-format off */
	static const struct opener_request wrong[] = {
		{.what = 3}, {.what = UINT32_MAX},
		{.what = OPENER_INPUT, .number = 2}, {.what = OPENER_INPUT, .number = UINT32_MAX},
		{.what = OPENER_NAME, .number = 1}, {.what = OPENER_NAME, .number = 4},
		{.what = OPENER_NAME, .number = UINT32_MAX},
		{.what = OPENER_RESCUE, .number = 1}, {.what = OPENER_RESCUE, .place = OUTFILE_RESCUES},
		{.what = OPENER_RESCUE, .number = UINT32_MAX, .place = UINT32_MAX},
	};
	/* clang-format on */
	struct opener_request right = {.what = OPENER_INPUT};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		gives_up(&wrong[i], sizeof(wrong[i]), -1);
	gives_up(&right, sizeof(right) - 1, -1);
	gives_up("", 0, -1);
	gives_up(&right, sizeof(right), STDIN_FILENO);
}

/* A file that has its name is not the opener's any more. */
static void names_once(void **state)
{
	struct outfile *out;
	struct opener *o = start(&out);
	struct opener_request q = {.what = OPENER_NAME};
	struct opener_answer a;
	struct err err;

	(void)state;
	assert_int_equal(outfile_commit(out, &err), 0);
	assert_int_equal(channel_send(opener_socket(o), &q, sizeof(q), -1), 0);
	assert_int_equal(channel_receive(opener_socket(o), &a, sizeof(a), NULL), -EPIPE);
	opener_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(opens_inputs_and_names_outputs, setup, teardown),
		cmocka_unit_test_setup_teardown(says_why_a_name_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_nothing_without_a_name, setup, teardown),
		cmocka_unit_test_setup_teardown(rescues, setup, teardown),
		cmocka_unit_test_setup_teardown(knows_no_other_request, setup, teardown),
		cmocka_unit_test_setup_teardown(names_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
