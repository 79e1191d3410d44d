#include <string.h>

#include "symbolizer/base/address_sort.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/trim.h"
#include "symbolizer/native/names/symbol_table.h"

/* NAME_BYTES: an entry in a growing vector, and its slots. */
enum { STEPS_MAX = 64, NAME_BYTES = 2 * sizeof(struct name_entry) + 3 * sizeof(uint64_t) };

bool symbol_table_add(struct symbol_table *t, const struct symbol *sym)
{
	return vec_push(&t->syms, *sym);
}

/* -1: of two symbols at one address, `a` has the better name. */
static int better_name(const struct symbol *a, const struct symbol *b)
{
	int r = descending(a->rank, b->rank) ?: descending(a->end, b->end);

	if (r || a->name == b->name)
		return r;
	/* `write` before `__write`. */
	r = ascending(strspn(a->name, "_"), strspn(b->name, "_")) ?: ascending(a->weak, b->weak);
	if (!r) /* `open` before `open64` */
		r = ascending(strlen(a->name), strlen(b->name));
	return r ?: strcmp(a->name, b->name);
}

/*
 * Moves to v[i] the best of the symbols that start at the same address, and returns the index after them. Comparing
 * names here rather than in the sort compares each only once.
 */
static size_t best_first(struct symbol *v, size_t i, size_t n)
{
	size_t k;

	for (k = i + 1; k < n && v[k].start == v[i].start; k++)
		if (better_name(&v[k], &v[i]) < 0)
			v[i] = v[k];
	return k;
}

/*
 * Keeps one symbol for each address. Symbols without a size (`end` is that of their section) extend to the next symbol,
 * and are dropped if a sized one covers them: they are labels inside a function.
 */
static void settle(struct symbol_table *t)
{
	struct symbol *v = t->syms.v;
	uint64_t covered = 0; /* highest end of a sized symbol so far */
	size_t next, n = 0;

	for (size_t i = 0; i < t->syms.n; i = next) {
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

void symbol_table_finish(struct symbol_table *t)
{
	if (!t->syms.n)
		return;
	address_sort(t->syms.v, t->syms.n, sizeof(*t->syms.v)); /* by start */
	settle(t);
	vec_trim(&t->syms);
	set_reach(t->syms.v, t->syms.n);
}

const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t vaddr)
{
	size_t i = first_above(t->syms.v, t->syms.n, start, vaddr);
	unsigned steps = 0;

	/*
	 * Finds the innermost one. Functions nest a little (entry points in assembly); STEPS_MAX bounds a hostile file.
	 */
	while (i-- > 0 && t->syms.v[i].reach > vaddr && steps++ < STEPS_MAX)
		if (t->syms.v[i].end > vaddr)
			return &t->syms.v[i];
	return NULL;
}

void name_index_done(struct name_index *x)
{
	budget_give(x->budget, x->held);
	x->held = 0;
	vec_done(&x->entries);
	slots_done(&x->by_name);
}

bool name_index_reserve(struct name_index *x, size_t n)
{
	uint64_t bytes = (uint64_t)n * NAME_BYTES;

	return bytes <= x->held || budget_hold(x->budget, &x->held, bytes);
}

static bool name_is(const void *ctx, const void *wanted, uint32_t position)
{
	return strcmp(((const struct name_index *)ctx)->entries.v[position].name, wanted) == 0;
}

static uint32_t name_position(const struct name_index *x, const char *name)
{
	return slots_find(&x->by_name, hash_bytes_secret(name, strlen(name)), name_is, x, name);
}

bool name_index_add(struct name_index *x, const char *name, uint64_t vaddr, uint64_t size)
{
	struct name_entry e = {name, vaddr, size};

	if (name_position(x, name) != SLOTS_NONE)
		return true;
	return name_index_reserve(x, x->entries.n + 1) &&
	       slots_push(&x->by_name, hash_bytes_secret(name, strlen(name)), &x->entries, e);
}

const struct name_entry *name_index_find(const struct name_index *x, const char *name)
{
	uint32_t i = name_position(x, name);

	return i == SLOTS_NONE ? NULL : &x->entries.v[i];
}
