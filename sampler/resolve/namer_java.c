#include <string.h>

#include "jvm-bridge/peer/timeline.h"
#include "sampler/resolve/java_name.h"
#include "sampler/resolve/namer_text.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/methods/method.h"

/* Bytes of a line table that are searched as fast as the clock is read, which a budget does twice. Few tables are longer. */
enum { QUICK_TABLE = 1024 };

static void add_class(struct namer *n, struct buf *b, const char *name)
{
	if (n->o->show.raw_names)
		buf_add_z(b, name);
	else
		java_class_add(b, name);
}

/* "java/util/HashMap.java": the path of the source file in a source tree. */
static void add_file(struct buf *b, const struct hs_method *m)
{
	const char *slash = strrchr(m->class_name, '/');

	if (!m->source_file)
		return;
	if (slash)
		buf_add(b, m->class_name, slash + 1 - m->class_name);
	buf_add_z(b, m->source_file);
}

static void note_compilation(struct namer *n, const struct hs_method *m, uint32_t function)
{
	struct named_compile c = {0};
	struct buf why = {0};

	if (!n->s->compile)
		return;
	n->s->compile(n->s->compile_ctx, m->id, &c, &why);
	c.why_interpreted = named_builder_string(n->b, why.data);
	named_builder_compile(n->b, function, &c);
	buf_done(&why);
}

static uint32_t method_function_new(struct namer *n, const struct hs_method *m)
{
	struct buf file = {0};
	uint32_t f;

	buf_reset(&n->name);
	buf_reset(&n->system);
	add_class(n, &n->name, m->class_name);
	buf_printf(&n->name, ".%s", m->name);
	buf_printf(&n->system, "%s%s", n->name.data ? n->name.data : "", m->signature);
	add_file(&file, m);
	if (n->name.failed || n->system.failed || file.failed)
		f = UINT32_MAX;
	else
		f = namer_function(n, n->name.data, n->system.data, file.data);
	buf_done(&file);
	note_compilation(n, m, f);
	return f;
}

static uint32_t method_function(struct namer *n, const struct hs_method *m)
{
	/* Methods may have been added since the table was made. */
	if (m->id >= n->n_functions)
		return method_function_new(n, m);
	if (n->functions[m->id] == UINT32_MAX)
		n->functions[m->id] = method_function_new(n, m);
	return n->functions[m->id];
}

static const struct hs_method *method_of(const struct namer *n, uint32_t id)
{
	const struct hs_method *m;

	if (!n->s->hs || !id || id > hs_method_count(n->s->hs))
		return NULL;
	m = hs_method(n->s->hs, id);
	return m && *m->name ? m : NULL;
}

static const struct code *code_of(const struct namer *n, uint32_t id)
{
	if (!n->s->hs || !id || id > hs_code_count(n->s->hs))
		return NULL;
	return hs_code(n->s->hs, id);
}

/* A line table can have 64 KB, and is searched from its start for each bci: 0.1 ms. */
static int line_in_long_table(struct namer *n, const struct hs_method *m, int32_t bci)
{
	struct budget *b = n->s->files;
	int line = -1;

	budget_begin(b);
	if (budget_poll(b))
		budget_refuse(b, 0, "line numbers of Java methods, for lack of time");
	else
		line = hs_method_line(n->s->hs, m, bci);
	budget_end(b);
	return line;
}

/* 0: none. */
static int line_of(struct namer *n, const struct hs_method *m, int32_t bci)
{
	int line;

	if (m->access_flags & METHOD_NATIVE)
		return 0;
	line = m->line_table_len > QUICK_TABLE ? line_in_long_table(n, m, bci) : hs_method_line(n->s->hs, m, bci);
	return line > 0 ? line : 0;
}

/* Adds a line of a method; a method that could not be read stays unknown. */
static struct named_line method_line(struct namer *n, uint32_t method_id, int32_t bci, enum named_kind kind)
{
	const struct hs_method *m = method_of(n, method_id);
	struct named_line l = {.bci = bci, .kind = m ? kind : NAMED_UNKNOWN};

	if (!m) {
		l.function = namer_function(n, "[unknown]", "", "");
		return l;
	}
	l.function = method_function(n, m);
	l.line = line_of(n, m, bci);
	return l;
}

struct named_frame namer_interpreted(struct namer *n, const struct frame_key *key)
{
	struct named_line l = method_line(n, key->id, (int32_t)key->off, NAMED_INTERPRETED);
	uint32_t m = named_builder_mapping(n->b, "[interpreter]", "");

	return (struct named_frame){named_builder_location(n->b, m, 0, &l, 1), EXACTNESS_COUNT};
}

static enum named_kind tier_kind(const struct code *c)
{
	return c->tier >= TIER_C1_SIMPLE && c->tier <= TIER_C1_FULL ? NAMED_C1 : NAMED_C2;
}

/* Wrappers of native methods and method handle intrinsics have no scopes and one method. */
static struct named_frame name_wrapper(struct namer *n, const struct code *c)
{
	struct named_line l = method_line(n, c->method_id, -1, NAMED_JAVA_NATIVE);
	uint32_t m = named_builder_mapping(n->b, "[jit]", "");

	return (struct named_frame){named_builder_location(n->b, m, 0, &l, 1), EXACTNESS_COUNT};
}

/* Will the frame be deoptimised, and is its original pc unreadable? The handler's pc does not say where it was. */
static bool is_pc_lost(const struct code *c, const struct frame_key *key)
{
	return (key->flags & FRAME_DEOPTED) && key->off >= 0 &&
	       (key->off == c->deopt_handler || key->off == c->deopt_mh_handler);
}

/* The chain of inlined methods at the pc; if there is none, only the compiled method. */
static void find_chain(struct namer *n, const struct code *c, const struct frame_key *key, struct attributed *ret)
{
	ret->n = 0;
	if (n->s->attribution && !is_pc_lost(c, key))
		attribution_find(n->s->attribution, c, key->off, !(key->flags & FRAME_PC_EXACT), ret);
	if (ret->n && ret->n <= CODE_MAX_SCOPES)
		return;
	ret->scope[0] = (struct code_scope){c->method_id, -1};
	ret->n = 1;
	ret->exactness = EXACT_APPROXIMATE;
}

static struct named_frame name_nmethod(struct namer *n, const struct code *c, const struct frame_key *key)
{
	uint32_t m = named_builder_mapping(n->b, "[jit]", "");
	struct named_line lines[CODE_MAX_SCOPES];
	struct attributed at;

	find_chain(n, c, key, &at);
	for (size_t i = 0; i < at.n; i++) {
		bool outer = i + 1 == at.n;

		lines[i] = method_line(n, at.scope[i].method_id, at.scope[i].bci, outer ? tier_kind(c) : NAMED_INLINED);
		lines[i].tier = c->tier > 0 ? c->tier : 0;
		lines[i].exactness = at.exactness;
		lines[i].osr = outer && c->osr_bci != CODE_NO_OSR;
	}
	return (struct named_frame){named_builder_location(n->b, m, 0, lines, at.n), at.exactness};
}

static struct named_line bridge_line(struct namer *n, const struct timeline_frame *f, enum named_kind kind)
{
	struct named_line l = {.bci = f->bci, .line = f->line, .kind = f->method ? kind : NAMED_UNKNOWN};
	struct hs_method m = {0};

	if (!f->method) {
		l.function = namer_function(n, "[unknown]", "", "");
		return l;
	}
	m.class_name = f->method->class_name;
	m.name = f->method->name;
	m.signature = f->method->signature;
	m.source_file = f->method->source_file;
	l.function = method_function_new(n, &m);
	return l;
}

/* Names from the bridge's records, which are the JVM's: the next record by address, so approximate. */
static struct named_frame name_from_bridge(struct namer *n, const struct code *c, const struct timeline_code *t,
					   const struct frame_key *key)
{
	uint32_t m = named_builder_mapping(n->b, "[jit]", ""), offset = (uint32_t)namer_lookup_pc(key);
	struct timeline_frame frames[CODE_MAX_SCOPES];
	struct named_line lines[CODE_MAX_SCOPES];
	size_t k = timeline_chain(n->s->timeline, t, offset, frames, CODE_MAX_SCOPES);

	for (size_t i = 0; i < k; i++) {
		lines[i] = bridge_line(n, &frames[i], i + 1 == k ? tier_kind(c) : NAMED_INLINED);
		lines[i].tier = c->tier > 0 ? c->tier : 0;
		lines[i].exactness = EXACT_APPROXIMATE;
		lines[i].osr = i + 1 == k && c->osr_bci != CODE_NO_OSR;
	}
	return (struct named_frame){named_builder_location(n->b, m, 0, lines, k), EXACT_APPROXIMATE};
}

static const struct timeline_code *bridge_code(const struct namer *n, const struct code *c)
{
	/* An nmethod whose class was unloaded may remain without its method (up to JDK 19). */
	if (!n->s->timeline || !(c->gone || !c->method_id || n->o->show.bridge_symbols))
		return NULL;
	return n->s->timeline_code(n->s->timeline_ctx, c);
}

struct named_frame namer_compiled(struct namer *n, const struct frame_key *key)
{
	const struct code *c = code_of(n, key->id);
	const struct timeline_code *t;

	if (!c)
		return namer_unknown(n);
	t = c->kind == BLOB_NMETHOD ? bridge_code(n, c) : NULL;
	if (t)
		return name_from_bridge(n, c, t, key);
	if (c->kind == BLOB_NMETHOD)
		return name_nmethod(n, c, key);
	if (c->kind == BLOB_NATIVE || c->kind == BLOB_MH_INTRINSIC)
		return name_wrapper(n, c);
	return namer_stub(n, key);
}

struct named_frame namer_stub(struct namer *n, const struct frame_key *key)
{
	const struct code *c = code_of(n, key->id);
	const char *name = c ? hs_stub_name(n->s->hs, c, (uint64_t)key->off) : NULL;

	if (c && (key->flags & FRAME_ITABLE))
		name = "itable stub";
	if (!name || !*name)
		name = c && c->name && *c->name ? c->name : NULL;
	if (!name)
		return namer_unknown(n);
	return namer_plain(n, name, NAMED_STUB, c->kind == BLOB_INTERPRETER ? "[interpreter]" : "[stubs]");
}
