#include "symbolizer/hotspot/reader/vmstructs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/hotspot/reader/cstrs.h"
#include "symbolizer/target/mem.h"

enum { ENTRIES_MAX = 1 << 14, STRIDE_MAX = 256, READ_CHUNK = 1 << 16, CHAIN_MAX = 16 };

enum table_kind { TABLE_FIELDS, TABLE_TYPES, TABLE_INTS, TABLE_LONGS, N_TABLES };

enum { COL_NAME, COL_NAME2, COL_TYPE, COL_STATIC, COL_OFFSET, COL_VALUE, N_COLS };

/*
 * A column of a table: the symbol of its offset, and the offset usual in all known JDKs (8 to 28), for builds without
 * the symbol.
 */
struct column {
	const char *symbol; /* after the entry prefix; NULL: no such column */
	uint64_t usual;
	uint8_t width;
};

static const struct table_desc {
	const char *array, *entry;
	uint64_t usual_stride;
	struct column cols[N_COLS];
	/* clang-format off */
} tables[N_TABLES] = {
	[TABLE_FIELDS] = {"gHotSpotVMStructs", "gHotSpotVMStructEntry", 48,
		{[COL_NAME] = {"TypeNameOffset", 0, 8}, [COL_NAME2] = {"FieldNameOffset", 8, 8},
			[COL_TYPE] = {"TypeStringOffset", 16, 8}, [COL_STATIC] = {"IsStaticOffset", 24, 4},
			[COL_OFFSET] = {"OffsetOffset", 32, 8}, [COL_VALUE] = {"AddressOffset", 40, 8}}},
	[TABLE_TYPES] = {"gHotSpotVMTypes", "gHotSpotVMTypeEntry", 40,
		{[COL_NAME] = {"TypeNameOffset", 0, 8}, [COL_NAME2] = {"SuperclassNameOffset", 8, 8},
			[COL_VALUE] = {"SizeOffset", 32, 8}}},
	[TABLE_INTS] = {"gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntry", 16,
		{[COL_NAME] = {"NameOffset", 0, 8}, [COL_VALUE] = {"ValueOffset", 8, 4}}},
	[TABLE_LONGS] = {"gHotSpotVMLongConstants", "gHotSpotVMLongConstantEntry", 16,
		{[COL_NAME] = {"NameOffset", 0, 8}, [COL_VALUE] = {"ValueOffset", 8, 8}}},
};
/* clang-format on */

struct vm_entry {
	enum table_kind kind;
	const char *name, *name2, *type;
	bool is_static;
	uint64_t offset, value;
};

struct vmstructs {
	struct arena arena;
	struct vm_entry *entries;
	size_t n;
	struct slots by_name; /* positions of entries */
};

/* A table while it is being read. */
struct raw_table {
	const struct table_desc *desc;
	uint64_t stride, at[N_COLS];
	uint8_t *bytes;
	size_t n;
};

struct table_source {
	struct mem *mem;
	hs_symbol_fn *symbol;
	void *ctx;
};

/* Reads a number about the layout of a table, or takes the usual one in builds without the symbol. */
static bool number_read(const struct table_source *s, const char *entry, const char *what, uint64_t usual,
			uint64_t *ret)
{
	char name[96];
	uint64_t addr;

	*ret = usual;
	if (snprintf(name, sizeof(name), "%s%s", entry, what) >= (int)sizeof(name))
		return true;
	return !s->symbol(s->ctx, name, &addr) || mem_read_u64(s->mem, addr, ret);
}

static int raw_layout(const struct table_source *s, struct raw_table *r, struct err *err)
{
	bool ok = number_read(s, r->desc->entry, "ArrayStride", r->desc->usual_stride, &r->stride);

	/* Static constructors of libjvm set it; it is 0 until they have run. */
	if (ok && r->stride == 0)
		return err_set(err, -EAGAIN, "the JVM is still starting (its tables are empty)");
	for (int i = 0; ok && i < N_COLS; i++) {
		const struct column *c = &r->desc->cols[i];

		if (!c->symbol)
			continue;
		ok = number_read(s, r->desc->entry, c->symbol, c->usual, &r->at[i]) && r->at[i] <= r->stride &&
		     r->stride - r->at[i] >= c->width;
	}
	if (!ok || r->stride > STRIDE_MAX)
		return err_set(err, -ENOTSUP, "the layout of %s is invalid", r->desc->array);
	return 0;
}

static uint64_t raw_get(const struct raw_table *r, size_t i, int col)
{
	const struct column *c = &r->desc->cols[col];
	uint64_t v = 0;
	int32_t v32;

	if (!c->symbol)
		return 0;
	if (c->width == 8) {
		memcpy(&v, r->bytes + i * r->stride + r->at[col], 8);
		return v;
	}
	memcpy(&v32, r->bytes + i * r->stride + r->at[col], 4);
	return (uint64_t)(int64_t)v32;
}

/* Reads entries up to one without a name. */
static int raw_entries(const struct table_source *s, uint64_t array, struct raw_table *r, struct err *err)
{
	const size_t chunk = s->mem->exact ? r->stride : READ_CHUNK;
	size_t have = 0;

	for (;;) {
		uint8_t *p = realloc(r->bytes, have + chunk);
		size_t got;

		if (!p)
			return -ENOMEM;
		r->bytes = p;
		got = mem_read_some(s->mem, array + have, p + have, chunk);
		have += got;
		while ((r->n + 1) * r->stride <= have) {
			if (raw_get(r, r->n, COL_NAME) == 0)
				return 0;
			r->n++;
		}
		if (got < chunk || r->n > ENTRIES_MAX)
			return err_set(err, -ENOTSUP, "%s has no end", r->desc->array);
	}
}

static int raw_read(const struct table_source *s, enum table_kind kind, struct raw_table *r, struct err *err)
{
	uint64_t var, array;
	int err_code;

	r->desc = &tables[kind];
	if (!s->symbol(s->ctx, r->desc->array, &var))
		return err_set(err, -ENOTSUP, "libjvm.so does not export %s: not a HotSpot JVM", r->desc->array);
	if (!mem_read_u64(s->mem, var, &array))
		return err_set(err, -EFAULT, "%s is unreadable", r->desc->array);
	if (array == 0)
		return err_set(err, -EAGAIN, "the JVM is still starting (no tables yet)");
	err_code = raw_layout(s, r, err);
	return err_code ? err_code : raw_entries(s, array, r, err);
}

static void entries_fill(struct vmstructs *v, const struct raw_table *raw, uint64_t *strings)
{
	for (int k = 0; k < N_TABLES; k++) {
		for (size_t i = 0; i < raw[k].n; i++) {
			strings[3 * v->n] = raw_get(&raw[k], i, COL_NAME);
			strings[3 * v->n + 1] = raw_get(&raw[k], i, COL_NAME2);
			strings[3 * v->n + 2] = raw_get(&raw[k], i, COL_TYPE);
			v->entries[v->n++] = (struct vm_entry){
				.kind = (enum table_kind)k,
				.is_static = raw_get(&raw[k], i, COL_STATIC) != 0,
				.offset = raw_get(&raw[k], i, COL_OFFSET),
				.value = raw_get(&raw[k], i, COL_VALUE),
			};
		}
	}
}

/* Constants share one name space. Only fields have a second name. */
static uint64_t key_hash(enum table_kind kind, const char *a, const char *b)
{
	uint64_t h = hash_mix(kind == TABLE_LONGS ? TABLE_INTS : kind, hash_bytes_secret(a, strlen(a)));

	return kind == TABLE_FIELDS ? hash_mix(h, hash_bytes_secret(b, strlen(b))) : h;
}

static bool same_kind(enum table_kind a, enum table_kind b)
{
	return a == b || (a >= TABLE_INTS && b >= TABLE_INTS);
}

static bool entry_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct vm_entry *e = &((const struct vmstructs *)ctx)->entries[position], *w = wanted;

	return same_kind(e->kind, w->kind) && strcmp(e->name, w->name) == 0 &&
	       (w->kind != TABLE_FIELDS || strcmp(e->name2, w->name2) == 0);
}

static const struct vm_entry *entry_find(const struct vmstructs *v, enum table_kind kind, const char *a, const char *b)
{
	struct vm_entry wanted = {.kind = kind, .name = a, .name2 = b};
	uint32_t i = slots_find(&v->by_name, key_hash(kind, a, b), entry_is, v, &wanted);

	return i == SLOTS_NONE ? NULL : &v->entries[i];
}

/* If several entries have the same name, the first is found. */
static int index_build(struct vmstructs *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		const struct vm_entry *e = &v->entries[i];

		if (!e->name || (e->kind == TABLE_FIELDS && !e->name2) || entry_find(v, e->kind, e->name, e->name2))
			continue;
		if (!slots_add(&v->by_name, key_hash(e->kind, e->name, e->name2), i))
			return -ENOMEM;
	}
	return 0;
}

static int tables_join(struct vmstructs *v, struct mem *mem, const struct raw_table *raw)
{
	size_t n = raw[0].n + raw[1].n + raw[2].n + raw[3].n;
	uint64_t *strings CLEANUP(free_at_exit) = calloc(3 * n + 1, sizeof(*strings));
	const char **texts CLEANUP(free_at_exit) = calloc(3 * n + 1, sizeof(*texts));
	int r;

	v->entries = calloc(n + 1, sizeof(*v->entries));
	if (!strings || !texts || !v->entries)
		return -ENOMEM;
	entries_fill(v, raw, strings);
	r = cstrs_read(mem, strings, 3 * n, &v->arena, texts);
	for (size_t i = 0; r == 0 && i < n; i++) {
		v->entries[i].name = texts[3 * i];
		v->entries[i].name2 = texts[3 * i + 1];
		v->entries[i].type = texts[3 * i + 2];
	}
	return r ? r : index_build(v);
}

int vmstructs_read(struct mem *mem, hs_symbol_fn *symbol, void *ctx, struct vmstructs **ret, struct err *err)
{
	struct table_source s = {mem, symbol, ctx};
	struct raw_table raw[N_TABLES] = {0};
	struct vmstructs *v = calloc(1, sizeof(*v));
	int r = v ? 0 : -ENOMEM;

	for (int k = 0; r == 0 && k < N_TABLES; k++)
		r = raw_read(&s, (enum table_kind)k, &raw[k], err);
	if (r == 0)
		r = tables_join(v, mem, raw);
	for (int k = 0; k < N_TABLES; k++)
		free(raw[k].bytes);
	if (r == -ENOMEM)
		err_set(err, r, "out of memory");
	if (r) {
		vmstructs_free(v);
		return r;
	}
	*ret = v;
	return 0;
}

void vmstructs_free(struct vmstructs *v)
{
	if (!v)
		return;
	arena_done(&v->arena);
	free(v->entries);
	slots_done(&v->by_name);
	free(v);
}

static const char *superclass(const struct vmstructs *v, const char *type)
{
	const struct vm_entry *e = entry_find(v, TABLE_TYPES, type, "");

	return e ? e->name2 : NULL;
}

bool vmstructs_field(const struct vmstructs *v, const char *type, const char *field, struct vm_field *ret)
{
	for (int depth = 0; type && depth < CHAIN_MAX; depth++, type = superclass(v, type)) {
		const struct vm_entry *e = entry_find(v, TABLE_FIELDS, type, field);

		if (!e)
			continue;
		ret->type = e->type ? e->type : "";
		ret->is_static = e->is_static;
		ret->at = e->is_static ? e->value : e->offset;
		return true;
	}
	return false;
}

bool vmstructs_size(const struct vmstructs *v, const char *type, uint64_t *ret)
{
	const struct vm_entry *e = entry_find(v, TABLE_TYPES, type, "");

	if (e)
		*ret = e->value;
	return e != NULL;
}

bool vmstructs_constant(const struct vmstructs *v, const char *name, int64_t *ret)
{
	const struct vm_entry *e = entry_find(v, TABLE_INTS, name, "");

	if (e)
		*ret = (int64_t)e->value;
	return e != NULL;
}
