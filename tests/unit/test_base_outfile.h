#ifndef TEST_BASE_OUTFILE_H
#define TEST_BASE_OUTFILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"

/* Each test runs in an empty directory that is its current one. */
static inline int enter_dir(void **state)
{
	char dir[] = "/tmp/js_outfile_XXXXXX";

	if (!mkdtemp(dir) || chdir(dir) < 0)
		return -1;
	*state = strdup(dir);
	umask(022);
	return 0;
}

static inline int leave_dir(void **state)
{
	char command[100];
	int r;

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	r = chdir("/") < 0 || system(command) != 0;
	free(*state);
	return r;
}

static inline void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static inline void assert_content(const char *path, const char *want)
{
	char *got = NULL;
	size_t len;

	assert_int_equal(file_read_at(AT_FDCWD, path, 1000, &got, &len), 0);
	assert_string_equal(got, want);
	assert_int_equal(len, strlen(want));
	free(got);
}

static inline struct outfile *begin(const char *path, const char *text)
{
	struct outfile *f = NULL;
	struct err err;

	if (outfile_open(path, &f, &err) < 0)
		fail_msg("%s", err.msg);
	fputs(text, outfile_stream(f));
	return f;
}

static inline void assert_refused(const char *path, int code, const char *part)
{
	struct outfile *f = NULL;
	struct err err = {0};

	assert_int_equal(outfile_open(path, &f, &err), code);
	assert_null(f);
	if (!strstr(err.msg, part) || !strstr(err.msg, path))
		fail_msg("'%s' is not about '%s' '%s'", err.msg, path, part);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

#endif
