#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/hash.h"
#include "symbolizer/native/dso_priv.h"

bool symbol_table_add(struct symbol_table *t, const struct symbol *sym)
{
	return vec_push(&t->syms, *sym);
}

static unsigned leading_underscores(const char *s)
{
	return (unsigned)strspn(s, "_");
}

/* -1: `a` is the better name for the address that both have. */
static int better_name(const struct symbol *a, const struct symbol *b)
{
	unsigned ua = leading_underscores(a->name), ub = leading_underscores(b->name);
	size_t la, lb;

	if (a->name == b->name && a->rank == b->rank && a->end == b->end)
		return 0;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (ua != ub) /* write before __write */
		return ua < ub ? -1 : 1;
	if (a->weak != b->weak)
		return a->weak ? 1 : -1;
	la = strlen(a->name);
	lb = strlen(b->name);
	return la != lb ? (la < lb ? -1 : 1) : strcmp(a->name, b->name); /* open before open64 */
}

static int symbol_cmp(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* The best of those that start where v[i] does moves there. Returns the index behind them: names are compared
 * once each, not in the sort. */
static size_t best_first(struct symbol *v, size_t i, size_t n)
{
	size_t k;

	for (k = i + 1; k < n && v[k].start == v[i].start; k++)
		if (better_name(&v[k], &v[i]) < 0)
			v[i] = v[k];
	return k;
}

/*
 * Keeps one symbol an address. Symbols without size (rank 0, `end` is their section's) reach to the
 * next symbol, and count only where no sized one lies over them: labels inside a function.
 */
static void settle(struct symbol_table *t)
{
	struct symbol *v = t->syms.v;
	uint64_t covered = 0; /* end of the sized ones so far */
	size_t i, next, n = 0;

	for (i = 0; i < t->syms.n; i = next) {
		bool sized;

		next = best_first(v, i, t->syms.n);
		sized = v[i].rank & SYMBOL_SIZED;
		if (!sized && v[i].start < covered)
			continue;
		if (n && !(v[n - 1].rank & SYMBOL_SIZED) && v[n - 1].end > v[i].start)
			v[n - 1].end = v[i].start;
		if (sized && v[i].end > covered)
			covered = v[i].end;
		v[n++] = v[i];
	}
	t->syms.n = n;
}

bool symbol_table_finish(struct symbol_table *t)
{
	uint64_t reach = 0;
	size_t i;

	if (!t->syms.n)
		return true;
	qsort(t->syms.v, t->syms.n, sizeof(*t->syms.v), symbol_cmp);
	settle(t);
	free(t->reach);
	t->reach = malloc(t->syms.n * sizeof(*t->reach));
	if (!t->reach) {
		t->syms.n = 0;
		return false;
	}
	for (i = 0; i < t->syms.n; i++) {
		reach = t->syms.v[i].end > reach ? t->syms.v[i].end : reach;
		t->reach[i] = reach;
	}
	return true;
}

void symbol_table_done(struct symbol_table *t)
{
	vec_done(&t->syms);
	free(t->reach);
	t->reach = NULL;
}

const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t vaddr)
{
	size_t lo = 0, hi = t->syms.n;
	unsigned steps = 0;

	while (lo < hi) { /* first one behind vaddr */
		size_t mid = lo + (hi - lo) / 2;

		if (t->syms.v[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Innermost cover. Functions nest a little (entry points inside assembly); a file made to
	 * be slow does not get more than this. */
	while (lo-- > 0 && t->reach[lo] > vaddr && steps++ < 64)
		if (t->syms.v[lo].end > vaddr)
			return &t->syms.v[lo];
	return NULL;
}

static size_t name_slot(const struct name_index *x, const char *name)
{
	size_t i = hash_bytes_seeded(x->seed, name, strlen(name)) & (x->n_slots - 1);

	while (x->slots[i].name && strcmp(x->slots[i].name, name))
		i = (i + 1) & (x->n_slots - 1);
	return i;
}

bool name_index_reserve(struct name_index *x, size_t n)
{
	struct name_index bigger = {.n_slots = 64, .seed = x->seed};
	size_t i;

	if (n < x->n_slots / 2)
		return true;
	while (bigger.n_slots <= n * 2)
		bigger.n_slots *= 2;
	if (!budget_take(x->budget, bigger.n_slots * sizeof(*bigger.slots)))
		return false;
	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots) {
		budget_give(x->budget, bigger.n_slots * sizeof(*bigger.slots));
		return false;
	}
	for (i = 0; i < x->n_slots; i++)
		if (x->slots[i].name)
			bigger.slots[name_slot(&bigger, x->slots[i].name)] = x->slots[i];
	name_index_done(x);
	x->slots = bigger.slots;
	x->n_slots = bigger.n_slots;
	return true;
}

void name_index_done(struct name_index *x)
{
	budget_give(x->budget, x->n_slots * sizeof(*x->slots));
	free(x->slots);
	x->slots = NULL;
	x->n_slots = 0;
}

bool name_index_add(struct name_index *x, const char *name, uint64_t vaddr, uint64_t size)
{
	size_t i;

	if (!name_index_reserve(x, x->n + 1))
		return false;
	i = name_slot(x, name);
	if (x->slots[i].name)
		return true; /* the first one counts */
	x->slots[i] = (struct name_entry){name, vaddr, size};
	x->n++;
	return true;
}

const struct name_entry *name_index_find(const struct name_index *x, const char *name)
{
	size_t i;

	if (!x->n_slots)
		return NULL;
	i = name_slot(x, name);
	return x->slots[i].name ? &x->slots[i] : NULL;
}
