#include "symbolizer/hotspot/forget.h"

#include <stdlib.h>

#include "symbolizer/hotspot/hs_private.h"

/* Sooner would cost time, later memory: between two times copies grow by an eighth, and by 2 MB. */
enum { FORGET_STEP = 2 << 20, FORGET_SHARE = 8 };

/* Why a copy is kept. */
enum { KEEP_NOT, KEEP_LIVE, KEEP_NAMED };

/* A pointer in an entry, by its offset, and the size of what it points to. 0: it becomes NULL. */
struct entry_part {
	size_t pointer, size;
};

static size_t aligned(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* An entry with all that it points to in one block, which free() frees. */
static void *entry_new(struct hotspot *hs, const void *entry, size_t size, const struct entry_part *parts, size_t n,
		size_t *ret_bytes)
{
	size_t all = aligned(size), at = all;
	uint8_t *block;

	for (size_t i = 0; i < n; i++)
		all += aligned(parts[i].size);
	block = malloc(all);
	if (!block)
		return NULL;
	memcpy(block, entry, size);
	for (size_t i = 0; i < n; i++) {
		const void *from, *to = parts[i].size ? block + at : NULL;

		memcpy(&from, block + parts[i].pointer, sizeof(from));
		if (to)
			memcpy(block + at, from, parts[i].size);
		memcpy(block + parts[i].pointer, &to, sizeof(to));
		at += aligned(parts[i].size);
	}
	hs->copies += all;
	*ret_bytes = all;
	return block;
}

struct code_entry *code_entry_new(struct hotspot *hs, const struct code_entry *e)
{
	const struct code *c = &e->code;
	const struct entry_part parts[] = {
		{offsetof(struct code, records), c->n_records * sizeof(*c->records)},
		{offsetof(struct code, scopes), c->scopes_len},
		{offsetof(struct code, methods), c->n_methods * sizeof(*c->methods)},
		{offsetof(struct code, bytes), c->n_bytes},
		{offsetof(struct code, null_checks), c->n_null_checks * sizeof(*c->null_checks)},
		{offsetof(struct code, handlers), c->n_handlers * sizeof(*c->handlers)},
	};
	size_t bytes;
	struct code_entry *ret = entry_new(hs, e, sizeof(*e), parts, sizeof(parts) / sizeof(*parts), &bytes);

	if (ret)
		ret->bytes = bytes;
	return ret;
}

static size_t text_size(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

struct method_entry *method_entry_new(struct hotspot *hs, const struct method_entry *e)
{
	const struct hs_method *m = &e->method;
	const struct entry_part parts[] = {
		{offsetof(struct hs_method, class_name), text_size(m->class_name)},
		{offsetof(struct hs_method, name), text_size(m->name)},
		{offsetof(struct hs_method, signature), text_size(m->signature)},
		{offsetof(struct hs_method, source_file), text_size(m->source_file)},
		{offsetof(struct hs_method, bytecodes), m->bytecodes ? m->code_size : 0},
		{offsetof(struct hs_method, line_table), m->line_table_len},
	};
	size_t bytes;
	struct method_entry *ret = entry_new(hs, e, sizeof(*e), parts, sizeof(parts) / sizeof(*parts), &bytes);

	if (ret)
		ret->bytes = bytes;
	return ret;
}

void entries_done(struct hotspot *hs)
{
	for (size_t i = 0; i < hs->codes.n; i++)
		free(hs->codes.v[i]);
	for (size_t i = 0; i < hs->methods.n; i++)
		free(hs->methods.v[i]);
}

bool hotspot_forget_due(const struct hotspot *hs)
{
	return hs->copies >= hs->forget_at;
}

static struct method_entry *method_entry_of(const struct hotspot *hs, uint32_t id)
{
	return id && id <= hs->methods.n ? hs->methods.v[id - 1] : NULL;
}

static bool method_keep(struct hotspot *hs, uint32_t id, uint8_t why)
{
	struct method_entry *e = method_entry_of(hs, id);

	if (!e || e->keep)
		return false;
	e->keep = why;
	return true;
}

static void code_keep(struct hotspot *hs, uint32_t id, uint8_t why)
{
	struct code_entry *e = id && id <= hs->codes.n ? hs->codes.v[id - 1] : NULL;

	if (!e || e->keep)
		return;
	e->keep = why;
	method_keep(hs, e->code.method_id, why);
	for (uint32_t i = 0; i < e->code.n_methods; i++)
		method_keep(hs, e->code.methods[i], why);
}

/* What stands in the code cache, and what only others know: they have the ids. */
void hotspot_forget_begin(struct hotspot *hs)
{
	for (size_t i = 0; i < hs->codes.n; i++)
		if (hs->codes.v[i])
			hs->codes.v[i]->keep = KEEP_NOT;
	for (size_t i = 0; i < hs->methods.n; i++)
		if (hs->methods.v[i])
			hs->methods.v[i]->keep = hs->methods.v[i]->method.gone ? KEEP_NAMED : KEEP_NOT;
	for (size_t i = 0; i < hs->live.n; i++)
		code_keep(hs, hs->live.v[i].id, KEEP_LIVE);
	for (uint32_t id = 1; id <= hs->codes.n; id++)
		if (hs->code_stamps.v[id - 1] == STAMP_PERMANENT)
			code_keep(hs, id, hs->codes.v[id - 1]->code.gone ? KEEP_NAMED : KEEP_LIVE);
}

void hotspot_keep_code(struct hotspot *hs, uint32_t id)
{
	code_keep(hs, id, KEEP_NAMED);
}

bool hotspot_keep_method(struct hotspot *hs, uint32_t id)
{
	return method_keep(hs, id, KEEP_NAMED);
}

bool hotspot_keeps_method(const struct hotspot *hs, uint32_t id)
{
	const struct method_entry *e = method_entry_of(hs, id);

	return e && e->keep;
}

static void code_forget(struct hotspot *hs, uint32_t id)
{
	struct code_entry *e = hs->codes.v[id - 1];
	uint64_t key = code_key(e->code.blob, e->identity);

	if (u64map_get(&hs->code_ids, key) == id)
		u64map_remove(&hs->code_ids, key);
	hs->copies -= e->bytes;
	free(e);
	hs->codes.v[id - 1] = NULL;
	hs->stats.forgotten_codes++;
}

static void method_forget(struct hotspot *hs, uint32_t id)
{
	struct method_entry *e = hs->methods.v[id - 1];

	if (u64map_get(&hs->method_ids, e->method.addr) == id)
		u64map_remove(&hs->method_ids, e->method.addr);
	hs->copies -= e->bytes;
	free(e);
	hs->methods.v[id - 1] = NULL;
	hs->stats.forgotten_methods++;
}

void hotspot_forget_end(struct hotspot *hs)
{
	/* An id takes its place in the tables for ever. */
	uint64_t kept = (hs->codes.n + hs->methods.n) * (sizeof(void *) + sizeof(uint32_t));

	for (uint32_t id = 1; id <= hs->codes.n; id++) {
		const struct code_entry *e = hs->codes.v[id - 1];

		if (e && !e->keep)
			code_forget(hs, id);
		else if (e && e->keep == KEEP_NAMED)
			kept += e->bytes;
	}
	for (uint32_t id = 1; id <= hs->methods.n; id++) {
		const struct method_entry *e = hs->methods.v[id - 1];

		if (e && !e->keep)
			method_forget(hs, id);
		else if (e && e->keep == KEEP_NAMED)
			kept += e->bytes;
	}
	hs->pc_generation++;
	hs->used_codes.n = hs->used_methods.n = 0;
	hs->kept = kept;
	hs->forget_at = hs->copies + hs->copies / FORGET_SHARE + FORGET_STEP;
}

uint64_t hotspot_kept_bytes(const struct hotspot *hs)
{
	return hs->kept;
}
