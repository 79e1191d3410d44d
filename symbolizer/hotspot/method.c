#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/line_table.h"
#include "symbolizer/hotspot/method_read.h"

/* Longest symbol, and what its UTF-8 can grow to. */
enum { SYMBOL_MAX = 65535, TEXT_MAX = SYMBOL_MAX / 2 * 3 + 8 };

/* The text of a symbol, among method_parts; NULL: none, or no text. */
static const char *symbol_text(struct hotspot *hs, const struct method_read *m, int s)
{
	uint8_t *bytes CLEANUP(free_at_exit) = NULL;
	char *text CLEANUP(free_at_exit) = NULL;
	char small[SYMBOL_GUESS * 2], *dst = small;
	struct bytes t = {0};
	size_t len = 0, size = sizeof(small);
	long n;

	if (m->symbol[s] == 0)
		return NULL;
	if (m->long_way[s] ||
		!symbol_decode(hs, (struct bytes){m->guess[s], SYMBOL_GUESS}, &t, &len) || t.n < len) {
		bytes = malloc(SYMBOL_MAX);
		dst = text = malloc(TEXT_MAX);
		size = TEXT_MAX;
		if (!bytes || !text || !symbol_read(hs, m->symbol[s], bytes, SYMBOL_MAX, &len))
			return NULL;
		t = (struct bytes){bytes, len};
	}
	n = utf8_from_modified(dst, size, t.p, t.n);
	if (n <= 0)
		return NULL;
	return arena_strndup(&hs->method_parts, dst, (size_t)n);
}

static bool names_fill(struct hotspot *hs, const struct method_read *m, struct hs_method *ret)
{
	ret->signature = symbol_text(hs, m, SIGNATURE);
	if (!ret->signature || ret->signature[0] != '(' || !strchr(ret->signature, ')'))
		return false;
	ret->class_name = symbol_text(hs, m, CLASS);
	ret->name = symbol_text(hs, m, NAME);
	ret->source_file = symbol_text(hs, m, SOURCE);
	return ret->class_name && ret->name;
}

static bool has_line_table(const struct hotspot *hs, struct bytes header)
{
	uint64_t bit = hs->l.c.has_line_table.ok ? (uint64_t)hs->l.c.has_line_table.value : 1;

	return bytes_get(header, hs->l.cm_flags) & bit;
}

/* The line table's length is known only by its end mark. */
static uint32_t line_table_length(const struct hotspot *hs, const uint8_t *p, size_t n)
{
	struct line_reader r = {.c = cursor_make(p, n),
		.bias = hs->version.major >= 20 ? 1 : 0};

	while (line_table_next(&r))
		;
	return r.c.bad ? 0 : (uint32_t)(r.c.p - p);
}

static void line_table_keep(struct hotspot *hs, const uint8_t *p, size_t n, struct hs_method *ret)
{
	uint32_t len = line_table_length(hs, p, n < METHOD_BYTES_MAX ? n : METHOD_BYTES_MAX);

	ret->line_table = len > 1 ? arena_copy(&hs->method_parts, p, len) : NULL;
	ret->line_table_len = ret->line_table ? len : 0;
}

/* JVMs that do not say how large a ConstMethod is: read on as far as memory goes. */
static void line_table_seek(struct hotspot *hs, struct hs_method *ret)
{
	uint8_t *p CLEANUP(free_at_exit) = malloc(METHOD_BYTES_MAX);
	uint64_t at = ret->code_base + ret->code_size;

	for (size_t n = 256; p && n <= METHOD_BYTES_MAX && !ret->line_table; n *= 4) {
		size_t got = mem_read_some(hs->mem, at, p, n);

		line_table_keep(hs, p, got, ret);
		if (got < n)
			break;
	}
}

static void code_keep(struct hotspot *hs, const struct method_read *m, struct hs_method *ret)
{
	struct bytes h = method_read_header(hs, m);

	if (!m->tail_bad && m->code_size)
		ret->bytecodes = arena_copy(&hs->method_parts, m->tail, m->code_size);
	if (!has_line_table(hs, h))
		return;
	if (!m->tail_bad && m->tail_len > m->code_size)
		line_table_keep(hs, m->tail + m->code_size, m->tail_len - m->code_size, ret);
	else
		line_table_seek(hs, ret);
}

static bool method_build(struct hotspot *hs, const struct method_read *m, struct hs_method *ret)
{
	const struct hs_layout *l = &hs->l;
	struct bytes h = method_read_header(hs, m);

	*ret = (struct hs_method){
		.addr = m->addr,
		.const_method = m->const_method,
		.access_flags =
			(uint32_t)bytes_get((struct bytes){m->method, METHOD_SPAN_MAX}, l->method_flags),
		.code_base = m->const_method + l->size.const_method,
		.code_size = (uint16_t)m->code_size,
		.max_locals = (uint16_t)bytes_get(h, l->cm_max_locals),
		.max_stack = (uint16_t)bytes_get(h, l->cm_max_stack),
	};
	if (!names_fill(hs, m, ret))
		return false;
	code_keep(hs, m, ret);
	return true;
}

/* The end of the class name as it stands in memory, for the check after each walk. */
static void class_tail_note(struct hotspot *hs, const struct method_read *m, struct method_entry *e)
{
	uint8_t tail[CLASS_TAIL_MAX];
	struct bytes t;
	size_t len;

	if (!symbol_decode(hs, (struct bytes){m->guess[CLASS], SYMBOL_GUESS}, &t, &len) || !len)
		return;
	e->tail_len = (uint8_t)(len < CLASS_TAIL_MAX ? len : CLASS_TAIL_MAX);
	e->tail_addr = e->class_symbol + hs->l.symbol_body.at + len - e->tail_len;
	if (mem_read(hs->mem, e->tail_addr, tail, e->tail_len))
		e->tail_hash = hash_bytes(tail, e->tail_len);
	else
		e->tail_len = 0;
}

uint32_t method_entry_add(struct hotspot *hs, struct method_entry *e, uint32_t stamp)
{
	struct method_entry *kept;

	e->method.id = (uint32_t)hs->methods.n + 1;
	if (e->method.id >= STAMP_PERMANENT || !vec_push(&hs->method_stamps, stamp))
		return 0;
	if (!vec_push(&hs->methods, NULL)) {
		hs->method_stamps.n--;
		return 0;
	}
	kept = method_entry_new(hs, e);
	if (!kept) {
		hs->method_stamps.n--;
		hs->methods.n--;
		return 0;
	}
	hs->methods.v[e->method.id - 1] = kept;
	hs->stats.methods++;
	return e->method.id;
}

static uint32_t method_add(struct hotspot *hs, const struct method_read *m)
{
	struct hs_method method;
	struct method_entry e;
	uint32_t id;

	if (memory_full(hs) || !method_build(hs, m, &method))
		return 0;
	e = (struct method_entry){
		.method = method,
		.identity = method_identity(hs, method_read_header(hs, m)),
		.holder = m->holder,
		.class_symbol = m->symbol[CLASS],
		.unloads = hs->unloads.seen.count,
		.added_ns = clock_monotonic_ns(),
	};
	class_tail_note(hs, m, &e);
	id = method_entry_add(hs, &e, 0);
	if (id)
		u64map_put(&hs->method_ids, m->addr, id);
	return id;
}

static bool text_same(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* A loader that replaces another gets its memory, word for word: only the names tell (hotspot.md 11). */
static bool same_names(struct hotspot *hs, const struct method_read *m, uint32_t id)
{
	const struct hs_method *old = hs_method(hs, id);

	return text_same(symbol_text(hs, m, CLASS), old->class_name) &&
		text_same(symbol_text(hs, m, NAME), old->name) &&
		text_same(symbol_text(hs, m, SIGNATURE), old->signature);
}

static uint32_t method_take_fresh(struct hotspot *hs, const struct method_read *m)
{
	uint32_t id;

	if (m->bad) {
		hs->stats.bad_methods += m->addr != 0;
		return 0;
	}
	/* Twice in one group. */
	id = u64map_get(&hs->method_ids, m->addr);
	if (id && hs_method(hs, id)->const_method == m->const_method &&
		hs->methods.v[id - 1]->identity == method_identity(hs, method_read_header(hs, m)) &&
		same_names(hs, m, id))
		return id;
	if (id)
		redefined_note(hs, id);
	id = method_add(hs, m);
	hs->stats.bad_methods += id == 0;
	return id;
}

static uint32_t method_take(struct hotspot *hs, struct method_read *m)
{
	uint64_t addr = m->addr;

	if (m->bad || !m->candidate)
		return method_take_fresh(hs, m);
	if (same_names(hs, m, m->candidate))
		return m->candidate;
	hs->stats.replaced++;
	method_drop(hs, m->candidate);
	method_read_done(m);
	*m = (struct method_read){.addr = addr, .fresh = true};
	methods_read(hs, m, 1);
	return method_take_fresh(hs, m);
}

int methods_intern(struct hotspot *hs, const uint64_t *addrs, size_t n, uint32_t *ret)
{
	size_t group = n < READ_GROUP ? n : READ_GROUP;
	struct method_read *m CLEANUP(free_at_exit) = calloc(group + 1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += group) {
		size_t k = n - i < group ? n - i : group;

		memset(m, 0, k * sizeof(*m));
		for (size_t j = 0; j < k; j++)
			m[j].addr = addrs[i + j];
		methods_read(hs, m, k);
		for (size_t j = 0; j < k; j++) {
			ret[i + j] = method_take(hs, &m[j]);
			method_read_done(&m[j]);
			arena_done(&hs->method_parts);
		}
	}
	return 0;
}

bool method_class_same(const struct method_entry *e, const struct mem_span *name,
	const struct mem_span *tail)
{
	uint64_t symbol;

	if (!name->ok || !tail->ok)
		return false;
	memcpy(&symbol, name->dst, sizeof(symbol));
	return symbol == e->class_symbol &&
		(!e->tail_len || hash_bytes(tail->dst, e->tail_len) == e->tail_hash);
}

void method_drop(struct hotspot *hs, uint32_t id)
{
	const struct hs_method *m = hs_method(hs, id);

	redefined_note(hs, id);
	if (u64map_get(&hs->method_ids, m->addr) == id)
		u64map_remove(&hs->method_ids, m->addr);
}

/* Reads it; what may be another's by now counts only as far as others know the same. */
static uint32_t method_read_now(struct hotspot *hs, uint64_t method)
{
	uint64_t count = hs->unloads.seen.count;
	size_t known = hs->methods.n;
	uint32_t id, was;

	if (methods_intern(hs, &method, 1, &id) < 0)
		id = 0;
	if (id && id <= known) {
		hs->methods.v[id - 1]->unloads = count;
		return id;
	}
	if (!unloads_since_sample(hs) || (id && unloads_spare(hs, hs->methods.v[id - 1]->holder)))
		return id;
	was = gone_method_find(hs, method, hs_method(hs, id));
	if (id && was != id)
		method_drop(hs, id);
	return was;
}

/* One that was read before classes were unloaded may be another's now: its names are looked at again. */
uint32_t hs_method_find(struct hotspot *hs, uint64_t method)
{
	uint32_t id = u64map_get(&hs->method_ids, method);
	uint32_t *stamp;

	if (!id || hs->methods.v[id - 1]->unloads != hs->unloads.seen.count)
		id = method_read_now(hs, method);
	if (!id || hs_method(hs, id)->gone)
		return id;
	if (redefined_doubt(hs, id))
		return 0;
	stamp = &hs->method_stamps.v[id - 1];
	if (*stamp != hs->walk && hs->walking &&
		!walk_checked(hs, hs->methods.v[id - 1]->checked_ns) && vec_push(&hs->used_methods, id))
		*stamp = hs->walk;
	return id;
}

bool hs_method_lost(struct hotspot *hs)
{
	return unloads_since_sample(hs) || redefined_since_sample(hs);
}

const struct hs_method *hs_method(const struct hotspot *hs, uint32_t id)
{
	const struct method_entry *e = id && id <= hs->methods.n ? hs->methods.v[id - 1] : NULL;

	return e ? &e->method : NULL;
}

uint32_t hs_method_count(const struct hotspot *hs)
{
	return (uint32_t)hs->methods.n;
}

int32_t hs_method_bci(const struct hs_method *m, uint64_t bcp)
{
	return bcp >= m->code_base && bcp - m->code_base < m->code_size ?
		(int32_t)(bcp - m->code_base) :
		-1;
}
