#include "sampler/output/flat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"

const char *flat_kind_name(enum named_kind kind)
{
	static const char *const names[NAMED_KINDS] = {
		[NAMED_UNKNOWN] = "unknown", [NAMED_KERNEL] = "kernel",
		[NAMED_NATIVE] = "native",   [NAMED_INTERPRETED] = "interpreted",
		[NAMED_C1] = "C1",           [NAMED_C2] = "C2",
		[NAMED_INLINED] = "inlined", [NAMED_JAVA_NATIVE] = "JNI wrapper",
		[NAMED_STUB] = "stub",       [NAMED_MARK] = "mark",
		[NAMED_THREAD] = "thread",   [NAMED_PROCESS] = "process",
		[NAMED_STATE] = "state",
	};

	return (unsigned)kind < NAMED_KINDS && names[kind] ? names[kind] : "unknown";
}

/* Rows by string id while counting. seen: last stack (+1) that counted into the row's total. */
struct counting {
	struct flat_row *by_name;
	uint32_t *seen;
	uint32_t n;
};

static void count_line(const struct named_profile *np, struct counting *c, const struct named_line *l,
		       const struct named_sample *s, uint32_t stamp)
{
	uint32_t name = np->functions[l->function].name;

	if (name >= c->n || named_is_root_label(l) || c->seen[name] == stamp)
		return;
	c->seen[name] = stamp;
	c->by_name[name].total += s->count;
	c->by_name[name].total_weight += s->weight;
}

static void count_self(const struct named_profile *np, struct counting *c, const struct named_line *l,
		       const struct named_sample *s, struct flat *f)
{
	uint32_t name = np->functions[l->function].name;

	if (name >= c->n || l->kind >= NAMED_KINDS)
		return;
	c->by_name[name].self += s->count;
	c->by_name[name].self_weight += s->weight;
	c->by_name[name].self_by_kind[l->kind] += s->count;
	f->self_by_kind[l->kind] += s->count;
}

static void count_sample(const struct named_profile *np, struct counting *c, uint32_t i, struct flat *f)
{
	const struct named_sample *s = &np->samples[i];
	const struct named_stack *st = &np->stacks[s->stack];

	f->samples += s->count;
	f->weight += s->weight;
	for (uint32_t k = 0; k < st->n; k++) {
		const struct named_location *loc = &np->locations[np->stack_locations[st->first + k]];

		for (uint32_t j = 0; j < loc->n_lines; j++) {
			const struct named_line *l = &np->lines[loc->first_line + j];

			if (k == 0 && j == 0)
				count_self(np, c, l, s, f);
			count_line(np, c, l, s, i + 1);
		}
	}
}

/* Texts break ties, since ids differ from file to file. */
static int by_self(const void *a, const void *b, void *profile)
{
	const struct flat_row *x = a, *y = b;
	int r = descending(x->self, y->self) ?: descending(x->total, y->total);

	return r ?: strcmp(named_string(profile, x->name), named_string(profile, y->name));
}

int flat_build(const struct named_profile *np, struct flat *ret)
{
	CLEANUP(free_at_exit) uint32_t *seen = NULL;
	CLEANUP(free_at_exit) struct flat_row *rows = NULL;
	struct flat f = {0};
	struct counting c = {.n = strtab_count(np->strings)};
	size_t n = 0;

	seen = calloc(c.n, sizeof(*seen));
	rows = calloc(c.n, sizeof(*rows));
	if (!seen || !rows)
		return -ENOMEM;
	c.seen = seen;
	c.by_name = rows;
	for (uint32_t i = 0; i < np->n_samples; i++)
		count_sample(np, &c, i, &f);
	for (uint32_t i = 0; i < c.n; i++) {
		if (!rows[i].total)
			continue;
		rows[n] = rows[i];
		rows[n++].name = i;
	}
	qsort_r(rows, n, sizeof(*rows), by_self, (void *)np);
	f.rows = take_ptr(rows);
	f.n = n;
	*ret = f;
	return 0;
}

void flat_done(struct flat *f)
{
	free(f->rows);
	f->rows = NULL;
	f->n = 0;
}
