#include "symbolizer/hotspot/methods/method_table.h"

#include <stdlib.h>

void method_table_done(struct method_table *table)
{
	for (size_t i = 0; i < table->methods.n; i++)
		free(table->methods.v[i]);
	arena_done(&table->parts);
	vec_done(&table->methods);
	vec_done(&table->stamps);
	vec_done(&table->used);
	u64map_done(&table->ids);
	u64map_done(&table->redefinitions.classes);
}

void methods_forget_begin(struct method_table *table)
{
	for (size_t i = 0; i < table->methods.n; i++)
		if (table->methods.v[i])
			table->methods.v[i]->keep = table->methods.v[i]->method.gone ? KEEP_NAMED : KEEP_NOT;
}

static struct method_entry *entry_of(const struct method_table *table, uint32_t id)
{
	return id && id <= table->methods.n ? table->methods.v[id - 1] : NULL;
}

bool method_keep(struct method_table *table, uint32_t id, uint8_t why)
{
	struct method_entry *e = entry_of(table, id);

	if (!e || e->keep)
		return false;
	e->keep = why;
	return true;
}

bool method_kept(const struct method_table *table, uint32_t id)
{
	const struct method_entry *e = entry_of(table, id);

	return e && e->keep;
}

static void forget(struct method_table *table, uint32_t id)
{
	struct method_entry *e = table->methods.v[id - 1];

	if (u64map_get(&table->ids, e->method.addr) == id)
		u64map_remove(&table->ids, e->method.addr);
	copies_drop(table->copies, e, e->bytes);
	table->methods.v[id - 1] = NULL;
	table->forgotten++;
}

uint64_t methods_forget(struct method_table *table)
{
	/* An id takes its place in the tables for ever. */
	uint64_t kept = table->methods.n * (sizeof(void *) + sizeof(uint32_t));

	for (uint32_t id = 1; id <= table->methods.n; id++) {
		const struct method_entry *e = table->methods.v[id - 1];

		if (e && !e->keep)
			forget(table, id);
		else if (e && e->keep == KEEP_NAMED)
			kept += e->bytes;
	}
	table->used.n = 0;
	return kept;
}
