#include "sampler/cli/doctor_print.h"

#include <jansson.h>
#include <stdio.h>

#include "sampler/output/columns.h"
#include "sampler/session/checks.h"

enum { TEXT_COLUMN = 26, REMEDY_COLUMN = 9 };

void doctor_print_text(const struct checks *c)
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
		printf("\n%zu thing%s missing that jsampler needs; the lines behind -> mend that\n", fails,
		       fails == 1 ? " is" : "s are");
	else if (warns)
		printf("\njsampler works here; %zu warning%s\n", warns, warns == 1 ? "" : "s");
	else
		printf("\njsampler works here\n");
}

static json_t *to_json(const struct check *k)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "check", k->name, "level", check_level_name(k->level),
			 "text", k->text, "remedy", k->remedy);
}

int doctor_print_json(const struct checks *c)
{
	json_t *list = json_array(), *all;
	int r = 0;

	for (size_t i = 0; i < c->n; i++)
		r |= json_array_append_new(list, to_json(&c->v[i]));
	all = json_pack("{s:b, s:o}", "works", checks_count(c, CHECK_FAIL) == 0, "checks", list);
	if (r == 0)
		r = all ? json_dumpf(all, stdout, JSON_INDENT(2)) : -1;
	if (r == 0)
		putchar('\n');
	json_decref(all);
	return r;
}
