#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sampler/cli/options/cmd_docs.h"
#include "sampler/cli/options/options.h"

static void whole(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++, n++) {
		assert_ptr_equal(cmd_doc_find(d->name), d);
		assert_non_null(d->usage[0]);
		assert_true(strlen(d->about) > 20);
		assert_non_null(d->options->name);
		for (size_t i = 0; d->statuses[i]; i += 2)
			assert_non_null(d->statuses[i + 1]);
		for (size_t i = 0; d->usage[i]; i++)
			assert_true(strlen(d->usage[i]) < 64);
	}
	assert_true(n >= 4);
	assert_null(cmd_doc_find("no-such"));
}

/* One line of help an option, without a full stop; commands of roff and printf have no place in it. */
static void sentences(void **state)
{
	(void)state;
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		for (const struct option_spec *s = d->options; s->name; s++) {
			if (!s->help)
				continue;
			assert_true(strlen(s->help) > 2 && strlen(s->help) < 120);
			assert_null(strchr(s->help, '\\'));
			assert_int_not_equal(s->help[strlen(s->help) - 1], '.');
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(sentences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
