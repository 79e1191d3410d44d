#include "sampler/doctor/checks_print.h"

#include <stdio.h>

#include "sampler/doctor/checks.h"
#include "sampler/output/columns.h"
#include "symbolizer/base/json.h"

enum { TEXT_COLUMN = 26, REMEDY_COLUMN = 9 };

void checks_print_text(const struct checks *c)
{
	size_t fails = checks_count(c, CHECK_FAIL), warns = checks_count(c, CHECK_WARN);

	for (size_t i = 0; i < c->n; i++) {
		const struct check *k = &c->v[i];

		printf("%-4s  %-19s ", check_level_name(k->level), k->name);
		columns_wrap(stdout, k->text, TEXT_COLUMN, TEXT_COLUMN, COLUMNS);
		if (!k->remedy[0])
			continue;
		printf("      -> ");
		columns_wrap(stdout, k->remedy, REMEDY_COLUMN, REMEDY_COLUMN, COLUMNS);
	}
	if (fails)
		printf("\n%zu thing%s missing that jsampler needs; the lines after -> fix that\n", fails,
		       fails == 1 ? " is" : "s are");
	else if (warns)
		printf("\njsampler works here; %zu warning%s\n", warns, warns == 1 ? "" : "s");
	else
		printf("\njsampler works here\n");
}

int checks_print_json(const struct checks *c)
{
	struct json j = {.out = stdout, .indent = 2};

	json_open(&j, '{');
	json_member_bool(&j, "works", checks_count(c, CHECK_FAIL) == 0);
	json_member_open(&j, "checks", '[');
	for (size_t i = 0; i < c->n; i++) {
		const struct check *k = &c->v[i];

		json_open(&j, '{');
		json_member_text(&j, "check", k->name);
		json_member_text(&j, "level", check_level_name(k->level));
		json_member_text(&j, "text", k->text);
		json_member_text(&j, "remedy", k->remedy);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	putchar('\n');
	return ferror(stdout) ? -1 : 0;
}
