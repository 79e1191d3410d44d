#include "tests/integration/attribution_score.h"

#include <stdbool.h>
#include <stdio.h>

#include "symbolizer/hotspot/methods/method.h"

static int line_of(struct hotspot *hs, const struct code_scope *s)
{
	const struct hs_method *m = hs_method(hs, s->method_id);

	return m ? hs_method_line(hs, m, s->bci) : -1;
}

/* Is x the path of `truth`, or an ancestor of it? */
static bool not_wrong(const struct attributed *x, const struct attributed *truth)
{
	if (x->n > truth->n)
		return false;
	for (size_t i = 1; i <= x->n; i++) {
		const struct code_scope *p = &x->scope[x->n - i];
		const struct code_scope *q = &truth->scope[truth->n - i];

		if (p->method_id != q->method_id || (i < x->n && p->bci != q->bci))
			return false;
	}
	return true;
}

static uint32_t child_of(const struct attributed *x)
{
	return x->n > 1 ? x->scope[x->n - 2].method_id : 0;
}

void score_add(struct hotspot *hs, struct score *s, const struct attributed *x, const struct attributed *truth,
	       uint64_t count)
{
	bool method = x->scope[0].method_id == truth->scope[0].method_id;

	s->n += count;
	s->method += method ? count : 0;
	s->child += child_of(x) == child_of(truth) ? count : 0;
	s->not_wrong += not_wrong(x, truth) ? count : 0;
	if (method && line_of(hs, &x->scope[0]) == line_of(hs, &truth->scope[0]))
		s->line += count;
}

double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void score_print(const char *group, const char *rule, const struct score *s, uint64_t all)
{
	printf("%-10s %-11s %6.1f %7.1f %6.1f %6.1f %6.1f\n", group, rule, percent(s->n, all), percent(s->method, s->n),
	       percent(s->child, s->n), percent(s->line, s->n), percent(s->n - s->not_wrong, s->n));
}

void chain_print(struct hotspot *hs, const struct attributed *x)
{
	for (size_t i = x->n; i-- > 0;) {
		const struct hs_method *m = hs_method(hs, x->scope[i].method_id);

		printf(" %s.%s@%d", m ? m->class_name : "?", m ? m->name : "?", x->scope[i].bci);
	}
}
