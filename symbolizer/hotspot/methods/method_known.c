#include "symbolizer/hotspot/methods/method_known.h"

#include "symbolizer/hotspot/methods/method_table.h"

/* In each map, which then begins anew: 64 KB each. */
enum { KNOWN_MAX = 2048 };

enum { WHICH_BITS = 2, ID_MAX = (1u << (32 - WHICH_BITS)) - 1 };

void method_known_done(struct method_known *k)
{
	u64map_done(&k->pools);
	u64map_done(&k->symbols);
}

static size_t bytes_of(const struct method_known *k)
{
	return (k->pools.cap + k->symbols.cap) * sizeof(struct u64map_slot);
}

bool method_known_usable(const struct method_table *t)
{
	const struct jvm_count *redefined = &t->redefinitions.seen;

	return t->jvm->moment.sample_ns && !t->jvm->mem->exact && t->unloads.seen.counter && redefined->counter &&
	       !redefined->count;
}

/* Of a class that is still there, so that its constant pool and the symbols in it are, too. */
static const struct method_entry *entry_of(const struct method_table *t, uint32_t id)
{
	const struct method_entry *e = method_known_usable(t) ? method_entry(t, id) : NULL;

	return e && method_is_certain(t, e) ? e : NULL;
}

const struct method_entry *method_known_pool(const struct method_table *t, uint64_t pool)
{
	return entry_of(t, u64map_get(&t->known.pools, pool));
}

const char *method_known_symbol(const struct method_table *t, uint64_t symbol)
{
	uint32_t value = symbol ? u64map_get(&t->known.symbols, symbol) : 0;
	const struct method_entry *e = entry_of(t, value >> WHICH_BITS);
	const struct hs_method *m = e ? &e->method : NULL;

	if (!m)
		return NULL;
	return (const char *[]){m->name, m->signature, m->source_file, NULL}[value % (1 << WHICH_BITS)];
}

/* If memory runs out, it is read again the next time. */
static void put(struct u64map *m, uint64_t key, uint32_t value)
{
	if (m->n >= KNOWN_MAX)
		u64map_clear(m);
	u64map_put(m, key, value);
}

void method_known_add(struct method_table *t, uint32_t id, const uint64_t symbol[3])
{
	const struct method_entry *e = method_entry(t, id);
	size_t before = bytes_of(&t->known);

	if (id > ID_MAX || !method_known_usable(t))
		return;
	put(&t->known.pools, e->pool, id);
	for (uint32_t i = 0; i < 3; i++)
		if (symbol[i] && !method_known_symbol(t, symbol[i]))
			put(&t->known.symbols, symbol[i], id << WHICH_BITS | i);
	t->methods.copies->bytes += bytes_of(&t->known) - before;
}
