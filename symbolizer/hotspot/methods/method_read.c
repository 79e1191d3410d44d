#include "symbolizer/hotspot/methods/method_read.h"

#include <stdlib.h>

/* A batch of spans. *fail is set for each that was unreadable. */
struct batch {
	const struct method_table *table;
	struct mem_span span[READ_GROUP * READ_SPANS];
	bool *fail[READ_GROUP * READ_SPANS];
	size_t n;
};

static void batch_add(struct batch *b, uint64_t addr, void *dst, uint64_t len, bool *fail)
{
	b->fail[b->n] = fail;
	b->span[b->n++] = (struct mem_span){addr, dst, (uint32_t)len, false};
}

static void batch_read(struct batch *b)
{
	if (b->n)
		mem_read_batch(b->table->jvm->mem, b->span, b->n);
	for (size_t i = 0; i < b->n; i++)
		if (!b->span[i].ok)
			*b->fail[i] = true;
	b->n = 0;
}

static uint32_t method_span(const struct hs_layout *l)
{
	const struct hs_field f[] = {l->method_const, l->method_flags};

	return hs_fields_span(f, 2, METHOD_SPAN_MAX);
}

static uint32_t pool_span(const struct hs_layout *l)
{
	const struct hs_field f[] = {l->cp_holder, l->cp_length, l->cp_source_file};

	return hs_fields_span(f, 3, POOL_SPAN_MAX);
}

struct bytes method_read_fields(const struct jvm *jvm, const struct method_read *m)
{
	return (struct bytes){m->method + HEADER_GUESS, method_span(&jvm->l)};
}

struct bytes method_read_header(const struct jvm *jvm, const struct method_read *m)
{
	return (struct bytes){m->header, jvm->l.size.const_method};
}

static bool wanted(const struct method_read *m)
{
	return !m->done && !m->bad && !m->known;
}

/* Nothing may be mapped before it, and a recording has what was needed. */
static void step_before(struct batch *b, struct method_read *m)
{
	m->bad = !object_ok(m->addr);
	m->before_bad = b->table->jvm->mem->exact;
	if (!m->bad && !m->before_bad)
		batch_add(b, m->addr - HEADER_GUESS, m->method, HEADER_GUESS + method_span(&b->table->jvm->l),
			  &m->before_bad);
}

static void step_method(struct batch *b, struct method_read *m)
{
	if (m->before_bad)
		batch_add(b, m->addr, m->method + HEADER_GUESS, method_span(&b->table->jvm->l), &m->bad);
}

/* Is the ConstMethod just before the Method? Then it was read. */
static bool header_before(const struct jvm *jvm, struct method_read *m)
{
	uint64_t distance = m->addr - m->const_method;

	if (m->before_bad || distance > HEADER_GUESS || distance < jvm->l.size.const_method)
		return false;
	m->header_len = (uint32_t)distance;
	memcpy(m->header, m->method + HEADER_GUESS - distance, distance);
	return true;
}

static void step_const_method(struct batch *b, struct method_read *m)
{
	const struct jvm *jvm = b->table->jvm;

	m->const_method = bytes_get(method_read_fields(jvm, m), jvm->l.method_const);
	m->bad = !object_ok(m->const_method);
	if (m->bad || header_before(jvm, m))
		return;
	m->header_len = jvm->mem->exact ? 0 : HEADER_GUESS;
	if (m->header_len)
		batch_add(b, m->const_method, m->header, m->header_len, &m->header_bad);
}

/* Nothing may be mapped after it, and a recording has what was needed. */
static void step_header(struct batch *b, struct method_read *m)
{
	if (m->header_len && !m->header_bad)
		return;
	m->header_len = (uint32_t)b->table->jvm->l.size.const_method;
	batch_add(b, m->const_method, m->header, m->header_len, &m->bad);
}

/* The bytecodes and, if the size of the ConstMethod is known, the line table after them: plans to read what `header` lacks. */
static void tail_plan(struct batch *b, struct method_read *m)
{
	const struct hs_layout *l = &b->table->jvm->l;
	struct bytes h = method_read_header(b->table->jvm, m);
	uint64_t all = bytes_get(h, l->cm_size) * 8, head = l->size.const_method;

	m->code_size = (uint32_t)bytes_get(h, l->cm_code_size);
	m->tail_len = m->code_size;
	if (all >= head + m->code_size)
		m->tail_len = all - head < m->code_size + METHOD_BYTES_MAX ? (uint32_t)(all - head) :
									     m->code_size + METHOD_BYTES_MAX;
	m->tail = m->tail_len ? malloc(m->tail_len) : NULL;
	m->tail_bad = !m->tail;
	if (m->tail && head + m->tail_len <= m->header_len)
		memcpy(m->tail, m->header + head, m->tail_len);
	else if (m->tail)
		batch_add(b, m->const_method + head, m->tail, m->tail_len, &m->tail_bad);
}

static uint64_t pool_slot(const struct jvm *jvm, const struct method_read *m, uint64_t index)
{
	return m->pool + jvm->l.size.constant_pool + 8 * index;
}

static void step_pool(struct batch *b, struct method_read *m)
{
	const struct hs_layout *l = &b->table->jvm->l;
	struct bytes h = method_read_header(b->table->jvm, m);
	uint32_t id = m->fresh ? 0 : u64map_get(&b->table->methods.ids, m->addr);
	const struct method_entry *e = method_entry(b->table, id);

	if (e && e->method.const_method == m->const_method && e->identity == method_identity(b->table->jvm, h))
		m->candidate = id;
	m->known = m->candidate && !m->whole && method_is_certain(b->table, e);
	m->pool = bytes_get(h, l->cm_constants);
	m->bad = !object_ok(m->pool);
	if (!wanted(m))
		return;
	if (!m->candidate)
		tail_plan(b, m);
	batch_add(b, m->pool, m->cp, pool_span(l), &m->bad);
	batch_add(b, pool_slot(b->table->jvm, m, bytes_get(h, l->cm_name)), &m->slot[NAME], 8, &m->bad);
	batch_add(b, pool_slot(b->table->jvm, m, bytes_get(h, l->cm_signature)), &m->slot[SIGNATURE], 8, &m->bad);
}

static void class_take(const struct jvm *jvm, struct method_read *m)
{
	const struct hs_layout *l = &jvm->l;
	struct bytes cp = {m->cp, pool_span(l)};

	m->pool_length = (uint32_t)bytes_get(cp, l->cp_length);
	m->holder = bytes_get(cp, l->cp_holder);
	m->source_index = (uint32_t)bytes_get(cp, l->cp_source_file);
}

/* Constant pools of synthetic methods have only three entries, so every index is checked. */
static bool pool_check(const struct jvm *jvm, const struct method_read *m)
{
	struct bytes h = method_read_header(jvm, m);
	uint64_t name = bytes_get(h, jvm->l.cm_name), signature = bytes_get(h, jvm->l.cm_signature);

	return m->pool_length <= 65535 && name && name < m->pool_length && signature && signature < m->pool_length &&
	       object_ok(m->holder);
}

/* A slot of the pool contains a Symbol* with a mark in its low bit. */
static void symbol_plan(struct batch *b, struct method_read *m, int s)
{
	m->symbol[s] = m->slot[s] & ~UINT64_C(1);
	m->guess_bad[s] = !addr_ok(m->symbol[s]);
	if (!m->guess_bad[s])
		batch_add(b, m->symbol[s], m->guess[s], SYMBOL_GUESS, &m->guess_bad[s]);
}

/*
 * A method of the same class and constant pool, by which the names of both are known: they stay as they are if the class
 * is never unloaded, and never redefined.
 */
static uint32_t sibling_find(const struct method_table *table, const struct method_read *m)
{
	const struct redefinitions *r = &table->redefinitions;
	uint32_t id = u64map_get(&table->lasting, m->holder);
	const struct method_entry *e = method_entry(table, id);

	return e && e->holder == m->holder && e->pool == m->pool && r->seen.counter && !r->seen.count && !r->classes.n ?
		       id :
		       0;
}

static void step_names(struct batch *b, struct method_read *m)
{
	const struct hs_layout *l = &b->table->jvm->l;
	bool exact = b->table->jvm->mem->exact;

	class_take(b->table->jvm, m);
	if (!pool_check(b->table->jvm, m)) {
		m->bad = true;
		return;
	}
	symbol_plan(b, m, NAME);
	symbol_plan(b, m, SIGNATURE);
	m->sibling = m->candidate || m->whole || exact ? 0 : sibling_find(b->table, m);
	if (m->sibling)
		return;
	batch_add(b, m->holder + l->klass_name.at, &m->slot[CLASS], 8, &m->bad);
	if (l->klass_cld.ok && !exact)
		batch_add(b, m->holder + l->klass_cld.at, &m->loader, 8, &m->loader_bad);
	m->slot[SOURCE] = 0;
	if (l->cp_source_file.ok && m->source_index && m->source_index < m->pool_length)
		batch_add(b, pool_slot(b->table->jvm, m, m->source_index), &m->slot[SOURCE], 8, &m->guess_bad[SOURCE]);
	else if (!l->cp_source_file.ok && l->klass_source_file.ok)
		batch_add(b, m->holder + l->klass_source_file.at, &m->source_index, 2, &m->guess_bad[SOURCE]);
}

/* Up to JDK 14 the index of the source file is in the class, so that reading it takes one more step. */
static void step_source_index(struct batch *b, struct method_read *m)
{
	const struct hs_layout *l = &b->table->jvm->l;

	if (m->sibling)
		return;
	if (!l->cp_source_file.ok && l->klass_source_file.ok && m->source_index && m->source_index < m->pool_length)
		batch_add(b, pool_slot(b->table->jvm, m, m->source_index), &m->slot[SOURCE], 8, &m->guess_bad[SOURCE]);
}

static void step_class(struct batch *b, struct method_read *m)
{
	if (m->sibling)
		return;
	symbol_plan(b, m, CLASS);
	symbol_plan(b, m, SOURCE);
}

bool method_read_text(const struct jvm *jvm, const struct method_read *m, int s, struct bytes *ret)
{
	size_t len;

	if (m->text[s]) {
		*ret = (struct bytes){m->text[s], m->text_len[s]};
		return true;
	}
	return !m->guess_bad[s] && symbol_decode(jvm, (struct bytes){m->guess[s], SYMBOL_GUESS}, ret, &len) &&
	       ret->n == len;
}

/* NULL: it is unreadable. */
static uint8_t *text_read(struct jvm *jvm, uint64_t symbol, size_t *ret_len)
{
	uint8_t *all = malloc(SYMBOL_MAX), *less;

	if (!all || !symbol_read(jvm, symbol, all, SYMBOL_MAX, ret_len)) {
		free(all);
		return NULL;
	}
	less = realloc(all, *ret_len + 1);
	return less ? less : all;
}

/* Few symbols are so long. They are read before the fields that are compared, and before the JVM's counts. */
static void step_texts(struct batch *b, struct method_read *m)
{
	struct jvm *jvm = b->table->jvm;
	struct bytes t;

	for (int s = 0; s < N_SYMBOLS; s++)
		if (addr_ok(m->symbol[s]) && !method_read_text(jvm, m, s, &t))
			m->text[s] = text_read(jvm, m->symbol[s], &m->text_len[s]);
}

/*
 * The last step: if these fields have not changed, everything read before belongs to one method of one class. The JVM's counts
 * do not show that: a Method* from a stack may be stale, of a class that was unloaded long ago, and a class that is loaded to
 * its memory moves no count.
 */
static void step_again(struct batch *b, struct method_read *m)
{
	const struct hs_layout *l = &b->table->jvm->l;
	struct bytes h = method_read_header(b->table->jvm, m);

	batch_add(b, m->addr + l->method_const.at, &m->again[AGAIN_CONST_METHOD], 8, &m->bad);
	batch_add(b, m->pool + l->cp_holder.at, &m->again[AGAIN_HOLDER], 8, &m->bad);
	if (!m->sibling)
		batch_add(b, m->holder + l->klass_name.at, &m->again[AGAIN_CLASS], 8, &m->bad);
	batch_add(b, pool_slot(b->table->jvm, m, bytes_get(h, l->cm_name)), &m->again[AGAIN_NAME], 8, &m->bad);
}

static bool unchanged(const struct method_read *m)
{
	return m->again[AGAIN_CONST_METHOD] == m->const_method && m->again[AGAIN_HOLDER] == m->holder &&
	       m->again[AGAIN_CLASS] == m->slot[CLASS] && m->again[AGAIN_NAME] == m->slot[NAME];
}

void methods_read(const struct method_table *table, struct method_read *m, size_t n)
{
	static void (*const steps[])(struct batch *, struct method_read *) = {
		step_before, step_method,       step_const_method, step_header, step_pool,
		step_names,  step_source_index, step_class,        step_texts,  step_again,
	};
	struct batch b = {.table = table};

	for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++) {
		for (size_t i = 0; i < n; i++)
			if (wanted(&m[i]))
				steps[s](&b, &m[i]);
		batch_read(&b);
	}
	for (size_t i = 0; i < n; i++) {
		if (wanted(&m[i]) && !unchanged(&m[i]))
			m[i].bad = true;
		m[i].done = true;
	}
}

void method_read_done(struct method_read *m)
{
	free(m->tail);
	m->tail = NULL;
	for (int s = 0; s < N_SYMBOLS; s++) {
		free(m->text[s]);
		m->text[s] = NULL;
	}
}
