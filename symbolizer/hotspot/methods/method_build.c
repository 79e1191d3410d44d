#include "symbolizer/hotspot/methods/method_build.h"

#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/methods/line_table.h"
#include "symbolizer/hotspot/methods/method_read.h"
#include "symbolizer/hotspot/reader/utf8.h"

enum { TEXT_MAX = SYMBOL_MAX / 2 * 3 + 8 }; /* the longest UTF-8 form of a symbol */

const char *method_text(struct method_table *table, const struct method_read *m, int s)
{
	char *text CLEANUP(free_at_exit) = NULL;
	char small[SYMBOL_GUESS * 2], *dst = small;
	size_t size = sizeof(small);
	struct bytes t = {0};
	long n;

	if (m->sibling && s == CLASS)
		return method_get(table, m->sibling)->class_name;
	if (m->sibling && s == SOURCE)
		return method_get(table, m->sibling)->source_file;
	if (m->symbol[s] == 0 || !method_read_text(table->jvm, m, s, &t))
		return NULL;
	if (m->text[s]) {
		dst = text = malloc(TEXT_MAX);
		size = TEXT_MAX;
		if (!text)
			return NULL;
	}
	n = utf8_from_modified(dst, size, t.p, t.n);
	if (n <= 0)
		return NULL;
	return arena_strndup(&table->parts, dst, (size_t)n);
}

static bool names_fill(struct method_table *table, const struct method_read *m, struct hs_method *ret)
{
	ret->signature = method_text(table, m, SIGNATURE);
	if (!ret->signature || ret->signature[0] != '(' || !strchr(ret->signature, ')'))
		return false;
	ret->class_name = method_text(table, m, CLASS);
	ret->name = method_text(table, m, NAME);
	ret->source_file = method_text(table, m, SOURCE);
	return ret->class_name && ret->name;
}

static bool has_line_table(const struct jvm *jvm, struct bytes header)
{
	uint64_t bit = jvm->l.c.has_line_table.ok ? (uint64_t)jvm->l.c.has_line_table.value : 1;

	return bytes_get(header, jvm->l.cm_flags) & bit;
}

/* The line table has no length; an end mark terminates it. */
static uint32_t line_table_length(const struct jvm *jvm, const uint8_t *p, size_t n)
{
	struct line_reader r = {.c = cursor_make(p, n), .bias = jvm->version.major >= 20 ? 1 : 0};

	while (line_table_next(&r))
		;
	return r.c.bad ? 0 : (uint32_t)(r.c.p - p);
}

static void line_table_keep(struct method_table *table, const uint8_t *p, size_t n, struct hs_method *ret)
{
	uint32_t len = line_table_length(table->jvm, p, n < METHOD_BYTES_MAX ? n : METHOD_BYTES_MAX);

	ret->line_table = len > 1 ? arena_copy(&table->parts, p, len) : NULL;
	ret->line_table_len = ret->line_table ? len : 0;
}

/* For JVMs without the size of a ConstMethod in their tables: reads as far as memory is mapped. */
static void line_table_seek(struct method_table *table, struct hs_method *ret)
{
	uint8_t *p CLEANUP(free_at_exit) = malloc(METHOD_BYTES_MAX);
	uint64_t at = ret->code_base + ret->code_size;

	for (size_t n = 256; p && n <= METHOD_BYTES_MAX && !ret->line_table; n *= 4) {
		size_t got = mem_read_some(table->jvm->mem, at, p, n);

		line_table_keep(table, p, got, ret);
		if (got < n)
			break;
	}
}

/* Has it one that methods_read() has not read? */
static bool lacks_line_table(const struct jvm *jvm, const struct method_read *m)
{
	return has_line_table(jvm, method_read_header(jvm, m)) && (m->tail_bad || m->tail_len <= m->code_size);
}

static void bytecodes_keep(struct method_table *table, const struct method_read *m, struct hs_method *ret)
{
	if (!m->tail_bad && m->code_size)
		ret->bytecodes = arena_copy(&table->parts, m->tail, m->code_size);
	if (lacks_line_table(table->jvm, m))
		line_table_seek(table, ret);
	else if (has_line_table(table->jvm, method_read_header(table->jvm, m)))
		line_table_keep(table, m->tail + m->code_size, m->tail_len - m->code_size, ret);
}

static bool method_build(struct method_table *table, const struct method_read *m, struct hs_method *ret)
{
	const struct hs_layout *l = &table->jvm->l;
	struct bytes h = method_read_header(table->jvm, m);

	*ret = (struct hs_method){
		.addr = m->addr,
		.const_method = m->const_method,
		.access_flags = (uint32_t)bytes_get(method_read_fields(table->jvm, m), l->method_flags),
		.code_base = m->const_method + l->size.const_method,
		.code_size = (uint16_t)m->code_size,
		.max_locals = (uint16_t)bytes_get(h, l->cm_max_locals),
		.max_stack = (uint16_t)bytes_get(h, l->cm_max_stack),
	};
	if (!names_fill(table, m, ret))
		return false;
	bytecodes_keep(table, m, ret);
	return true;
}

/* Notes the class's name, and the end of that in memory, for the check after each walk. */
static void class_name_note(const struct method_table *table, const struct method_read *m, struct method_entry *e)
{
	const struct method_entry *sibling = method_entry(table, m->sibling);
	const struct jvm *jvm = table->jvm;
	struct bytes t;

	e->class_symbol = sibling ? sibling->class_symbol : m->symbol[CLASS];
	if (sibling) {
		e->tail_len = sibling->tail_len;
		e->tail_addr = sibling->tail_addr;
		e->tail_hash = sibling->tail_hash;
	}
	if (sibling || !method_read_text(jvm, m, CLASS, &t) || !t.n)
		return;
	e->tail_len = (uint8_t)(t.n < CLASS_TAIL_MAX ? t.n : CLASS_TAIL_MAX);
	e->tail_addr = e->class_symbol + jvm->l.symbol_body.at + t.n - e->tail_len;
	e->tail_hash = hash_bytes(t.p + t.n - e->tail_len, e->tail_len);
}

static size_t text_size(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

uint32_t method_entry_add(struct method_table *table, struct method_entry *e, uint32_t stamp)
{
	const struct hs_method *m = &e->method;
	const struct copy_part parts[] = {
		{offsetof(struct method_entry, method.class_name), text_size(m->class_name)},
		{offsetof(struct method_entry, method.name), text_size(m->name)},
		{offsetof(struct method_entry, method.signature), text_size(m->signature)},
		{offsetof(struct method_entry, method.source_file), text_size(m->source_file)},
		{offsetof(struct method_entry, method.bytecodes), m->bytecodes ? m->code_size : 0},
		{offsetof(struct method_entry, method.line_table), m->line_table_len},
	};

	e->method.id = table->methods.n + 1;
	e->head.stamp = stamp;
	return interned_add(&table->methods, &e->head, sizeof(*e), parts, sizeof(parts) / sizeof(*parts));
}

uint32_t method_add(struct method_table *table, const struct method_read *m, uint64_t unloads)
{
	struct hs_method method;
	struct method_entry e;
	uint32_t id;

	if (copies_full(table->methods.copies) || !method_build(table, m, &method))
		return 0;
	e = (struct method_entry){
		.head.key = m->addr,
		/* methods_read() has checked its identity, after reading all but what line_table_seek() reads */
		.head.checked_ns = lacks_line_table(table->jvm, m) ? 0 : table->jvm->moment.now_ns,
		.method = method,
		.identity = method_identity(table->jvm, method_read_header(table->jvm, m)),
		.holder = m->holder,
		.pool = m->pool,
		.unloads = unloads,
		.added_ns = table->read_ns,
	};
	class_name_note(table, m, &e);
	id = method_entry_add(table, &e, 0);
	if (!id)
		return 0;
	u64map_put(&table->methods.ids, m->addr, id);
	if (m->loader && !m->loader_bad && loader_lasts(table->jvm, &table->unloads, m->holder, m->loader))
		u64map_put(&table->lasting, m->holder, id);
	return id;
}
