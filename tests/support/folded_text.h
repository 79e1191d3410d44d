#ifndef JS_TESTS_FOLDED_TEXT_H
#define JS_TESTS_FOLDED_TEXT_H

#include <stdio.h>
#include <stdlib.h>

#include "sampler/output/writer.h"

/* Folded text of a profile, annotated; the caller frees it. For cmocka tests; cmocka.h comes first. */
static inline char *folded_text(const struct named_profile *np, bool lines)
{
	const struct writer_options o = {.annotate = true, .lines = lines};
	char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);

	assert_int_equal(writer_folded.write(np, &o, f, NULL), 0);
	fclose(f);
	return got;
}

static inline void check_folded(const struct named_profile *np, bool lines, const char *want)
{
	char *got = folded_text(np, lines);

	assert_string_equal(got, want);
	free(got);
}

#endif
