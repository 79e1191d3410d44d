#ifndef JS_TESTS_FOLDED_FILES_H
#define JS_TESTS_FOLDED_FILES_H

#include <glob.h>
#include <stdlib.h>

#include "symbolizer/files/fileio.h"

/*
 * Every folded text in tests/fixtures and tests/golden. For cmocka tests with FIXTURES and GOLDEN;
 * cmocka.h comes first.
 */
static inline void each_folded_file(void (*each)(const char *text, size_t len))
{
	const char *const patterns[] = {FIXTURES "/*.folded", GOLDEN "/*.folded"};
	glob_t g = {0};

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &g), 0);
	assert_true(g.gl_pathc > 20);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		char *text;
		size_t len;

		assert_int_equal(file_read_at(-1, g.gl_pathv[i], 64 << 20, &text, &len), 0);
		each(text, len);
		free(text);
	}
	globfree(&g);
}

#endif
