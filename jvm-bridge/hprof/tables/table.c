#include "jvm-bridge/hprof/tables/table.h"

#include <stdlib.h>

struct making {
	struct table *table;
	size_t cap;
	uint64_t (*cost_of)(const struct trace *t);
};

static void trace_add(struct trace *t, void *arg)
{
	struct making *m = arg;
	struct row *rows = m->table->rows;

	if (!t->cost.count || !m->table->ok)
		return;
	if (m->table->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 256;
		rows = realloc(rows, m->cap * sizeof(*rows));
		m->table->ok = rows != NULL;
		if (!rows)
			return;
		m->table->rows = rows;
	}
	rows[m->table->n++] = (struct row){t, m->cost_of(t), t->cost.count};
	m->table->total += rows[m->table->n - 1].cost;
}

static int by_cost(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return (x->trace->serial > y->trace->serial) - (x->trace->serial < y->trace->serial);
}

struct table table_make(uint64_t (*cost_of)(const struct trace *t), double cutoff)
{
	struct table table = {.ok = true};
	struct making m = {&table, 0, cost_of};

	traces_each(trace_add, &m);
	if (table.n)
		qsort(table.rows, table.n, sizeof(*table.rows), by_cost);
	while (table.n && (double)table.rows[table.n - 1].cost < cutoff * (double)table.total)
		table.n--;
	return table;
}

void table_done(struct table *t)
{
	free(t->rows);
	*t = (struct table){0};
}
