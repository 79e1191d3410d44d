#include "sampler/views/tiers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/views/frames.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"

const char *tier_name(enum tier tier)
{
	static const char *const names[TIERS] = {
		[TIER_INTERPRETED] = "interpreted", [TIER_C1] = "C1",           [TIER_C1_1] = "C1 level 1",
		[TIER_C1_2] = "C1 level 2",         [TIER_C1_3] = "C1 level 3", [TIER_C2] = "C2",
		[TIER_INLINED] = "inlined",
	};

	return names[tier];
}

/* TIERS: not Java code. */
static enum tier tier_of(const struct named_line *l)
{
	switch (l->kind) {
	case NAMED_INTERPRETED: return TIER_INTERPRETED;
	case NAMED_C1: return l->tier >= 1 && l->tier <= 3 ? TIER_C1 + l->tier : TIER_C1;
	case NAMED_C2: return TIER_C2;
	case NAMED_INLINED: return TIER_INLINED;
	default: return TIERS;
	}
}

static void row_add(struct tier_row *r, enum tier tier, bool osr, const struct named_sample *s)
{
	r->self += s->count;
	r->self_weight += s->weight;
	r->samples[tier] += s->count;
	r->weight[tier] += s->weight;
	r->osr += osr ? s->count : 0;
	r->osr_weight += osr ? s->weight : 0;
}

static void count_leaf(struct tiers *t, struct tier_row *by_name, uint32_t name, const struct named_line *l,
		       const struct named_sample *s)
{
	enum tier tier = tier_of(l);
	int kind = l->kind < NAMED_KINDS ? l->kind : NAMED_UNKNOWN;

	t->samples += s->count;
	t->weight += s->weight;
	if (tier == TIERS) {
		t->other[kind] += s->count;
		t->other_weight[kind] += s->weight;
		return;
	}
	row_add(&by_name[name], tier, l->osr, s);
	row_add(&t->all, tier, l->osr, s);
}

static int compare(const void *a, const void *b, void *profile)
{
	const struct tier_row *x = a, *y = b;
	int r = descending(x->self_weight, y->self_weight) ?: descending(x->self, y->self);

	return r ?: strcmp(named_string(profile, x->name), named_string(profile, y->name));
}

int tiers_build(const struct named_profile *np, struct tiers *ret)
{
	uint32_t n_names = strtab_count(np->strings);
	CLEANUP(free_at_exit) struct tier_row *rows = calloc(n_names, sizeof(*rows));
	CLEANUP(frames_done) struct frames f = {0};
	struct tiers t = {0};

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < np->n_samples; i++) {
		const struct named_sample *s = &np->samples[i];

		if (frames_of(&f, np, s->stack) < 0)
			return -ENOMEM;
		count_leaf(&t, rows, frame_name(np, f.list.v[0]), f.list.v[0], s);
	}
	/* Methods with the same name and different signatures are one row. */
	for (uint32_t i = 1; i < np->n_functions; i++)
		named_compile_add(&rows[np->functions[i].name].compile, &np->functions[i].compile);
	for (uint32_t i = 0; i < n_names; i++) {
		if (!rows[i].self)
			continue;
		rows[t.n] = rows[i];
		rows[t.n++].name = i;
	}
	qsort_r(rows, t.n, sizeof(*rows), compare, (void *)np);
	t.rows = take_ptr(rows);
	*ret = t;
	return 0;
}

void tiers_done(struct tiers *t)
{
	free(t->rows);
	t->rows = NULL;
}
