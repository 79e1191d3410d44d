#include "symbolizer/hotspot/methods/compile_state.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/methods/method_table.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

enum { GROUP = 64, METHOD_SPAN = 128, HEAD_MAX = CONST_METHOD_MAX };

/* Small fields to which the Method points. */
enum {
	COUNTER_CALLS, /* of MethodCounters */
	COUNTER_LOOPS,
	COUNTER_BREAKPOINTS,
	DATA_NOT_ENTRANT, /* of MethodData */
	DATA_CALLS,
	DATA_LOOPS,
	CODE_TIER, /* of the nmethod */
	N_FIELDS
};

enum { IDENTITY_SPANS = 1 + REST_SPANS }; /* the Method itself comes first */

struct state_read {
	const struct method_entry *e;
	uint8_t method[METHOD_SPAN], head[HEAD_MAX], tail[CLASS_TAIL_MAX];
	uint64_t class_symbol;
	uint64_t field[N_FIELDS];
	bool has[N_FIELDS];
	bool bad;
};

struct state_batch {
	struct jvm *jvm;
	struct state_read at[GROUP];
	struct mem_span span[GROUP * N_FIELDS];
	bool *ok[GROUP * N_FIELDS];
	size_t n;
};

_Static_assert((int)IDENTITY_SPANS <= (int)N_FIELDS, "both batches use the same spans");

/*
 * Method::_flags is in the tables only up to JDK 20. From 21 on it is the MethodFlags word, 4 bytes before
 * _intrinsic_id (oops/method.hpp of 21 and 25); its bits are those of oops/methodFlags.hpp.
 */
enum { FLAGS_QUEUED = 1 << 7, FLAGS_NOT_C2 = 1 << 8, FLAGS_NOT_C1 = 1 << 9, FLAGS_NOT_OSR = 1 << 10 };
/* Up to 20, they are bits of the access flags (utilities/accessFlags.hpp of 8, 11 and 17). */
enum {
	ACCESS_QUEUED = 0x01000000,
	ACCESS_NOT_C2 = 0x02000000,
	ACCESS_NOT_C1 = 0x04000000,
	ACCESS_NOT_OSR = 0x08000000,
};

static struct hs_field flags_field(const struct jvm *jvm)
{
	const struct hs_field *i = &jvm->l.method_intrinsic;

	if (jvm->version.major < 21 || !i->ok || i->at < 4)
		return (struct hs_field){0};
	return (struct hs_field){.at = i->at - 4, .width = 4, .ok = true};
}

static void span_add(struct state_batch *b, uint64_t addr, void *dst, uint32_t len, bool *ok)
{
	b->ok[b->n] = ok;
	b->span[b->n++] = (struct mem_span){addr, dst, len, false};
}

static void batch_read(struct state_batch *b)
{
	mem_read_batch(b->jvm->mem, b->span, b->n);
	for (size_t i = 0; i < b->n; i++)
		if (b->ok[i])
			*b->ok[i] = b->span[i].ok;
	b->n = 0;
}

/* Reads no more of a Method than needed: the memory after the last one may be unmapped. */
static uint32_t method_span(const struct jvm *jvm)
{
	const struct hs_layout *l = &jvm->l;
	const struct hs_field f[] = {l->method_const, l->method_flags,    l->method_data,
				     l->method_code,  l->method_counters, flags_field(jvm)};

	return hs_fields_span(f, sizeof(f) / sizeof(*f), METHOD_SPAN);
}

/* Adds the Method, and the spans that show whether it is still the one that was interned, as after a walk. */
static void add_identity(struct state_batch *b, const struct method_table *table, struct state_read *r)
{
	void *const dst[REST_SPANS] = {[REST_HEAD] = r->head, [REST_CLASS] = &r->class_symbol, [REST_TAIL] = r->tail};
	struct mem_span rest[REST_SPANS];

	span_add(b, r->e->method.addr, r->method, method_span(b->jvm), NULL);
	method_rest_spans(b->jvm, r->e, rest);
	if (method_is_certain(table, r->e))
		rest[REST_CLASS].len = rest[REST_TAIL].len = 0;
	for (int i = 0; i < REST_SPANS; i++)
		span_add(b, rest[i].addr, dst[i], rest[i].len, NULL);
}

static bool identity_same(const struct jvm *jvm, const struct state_read *r, const struct mem_span *s)
{
	struct bytes method = {r->method, METHOD_SPAN};

	return s[0].ok && method_same(jvm, r->e, bytes_get(method, jvm->l.method_const), s + 1);
}

static void add_field(struct state_batch *b, struct state_read *r, int which, uint64_t base, struct hs_field f)
{
	if (f.ok && f.width <= 8 && object_ok(base))
		span_add(b, base + f.at, &r->field[which], f.width, &r->has[which]);
}

/*
 * MethodData's own counters are not exported (oops/methodData.hpp). In 9 to 25, they are four ints before
 * _tenure_traps: calls, loops, calls at start, loops at start. In 8, after _arg_returned (8 bytes): the mileage at
 * creation, calls, loops.
 */
static struct hs_field data_counter(const struct hs_layout *l, bool loops)
{
	struct hs_field f = l->md_tenure_traps.ok ? l->md_tenure_traps : l->md_arg_returned;
	uint64_t from = l->md_tenure_traps.ok ? f.at - 16 : f.at + 12;

	f.ok = f.ok && (!l->md_tenure_traps.ok || f.at >= 16);
	f.at = from + (loops ? 4 : 0);
	f.width = 4;
	return f;
}

static void add_fields(struct state_batch *b, struct state_read *r)
{
	const struct hs_layout *l = &b->jvm->l;
	struct bytes method = {r->method, METHOD_SPAN};
	uint64_t counters = bytes_get(method, l->method_counters);
	uint64_t data = bytes_get(method, l->method_data);

	add_field(b, r, COUNTER_CALLS, counters, l->mc_calls);
	add_field(b, r, COUNTER_LOOPS, counters, l->mc_loops);
	add_field(b, r, COUNTER_BREAKPOINTS, counters, l->mc_breakpoints);
	add_field(b, r, DATA_NOT_ENTRANT, data, l->md_decompiles);
	add_field(b, r, DATA_CALLS, data, data_counter(l, false));
	add_field(b, r, DATA_LOOPS, data, data_counter(l, true));
	/* It is one byte in all JDKs. */
	add_field(b, r, CODE_TIER, bytes_get(method, l->method_code),
		  (struct hs_field){l->nm_comp_level.at, 1, l->nm_comp_level.ok, false});
}

/* An InvocationCounter has the count above state bits; the highest of these shows an overflow. */
static uint64_t counter_add(const struct jvm *jvm, const struct state_read *r, int which, bool *full)
{
	const struct hs_constant *c = &jvm->l.c.count_shift;
	/* JDK 8 to 14 have two more state bits (interpreter/invocationCounter.hpp). */
	unsigned shift = c->ok && c->value > 0 && c->value < 8 ? (unsigned)c->value : jvm->version.major >= 15 ? 1 : 3;

	if (!r->has[which])
		return 0;
	*full |= r->field[which] >> (shift - 1) & 1;
	return (r->field[which] & UINT32_MAX) >> shift;
}

static void flags_fill(const struct jvm *jvm, struct bytes method, struct hs_compile_state *s)
{
	struct hs_field f = flags_field(jvm);
	bool access = !f.ok && jvm->version.major < 21;
	uint64_t v = f.ok ? bytes_get(method, f) : access ? bytes_get(method, jvm->l.method_flags) : 0;

	s->queued = v & (access ? ACCESS_QUEUED : FLAGS_QUEUED);
	s->not_c1 = v & (access ? ACCESS_NOT_C1 : FLAGS_NOT_C1);
	s->not_c2 = v & (access ? ACCESS_NOT_C2 : FLAGS_NOT_C2);
	s->not_c2_osr = v & (access ? ACCESS_NOT_OSR : FLAGS_NOT_OSR);
}

static void state_fill(const struct jvm *jvm, const struct state_read *r, struct hs_compile_state *s)
{
	s->known = true;
	s->counted = r->has[COUNTER_CALLS] && r->has[COUNTER_LOOPS];
	s->calls = counter_add(jvm, r, COUNTER_CALLS, &s->calls_full) + counter_add(jvm, r, DATA_CALLS, &s->calls_full);
	s->loops = counter_add(jvm, r, COUNTER_LOOPS, &s->loops_full) + counter_add(jvm, r, DATA_LOOPS, &s->loops_full);
	s->breakpoints = r->has[COUNTER_BREAKPOINTS] ? (uint32_t)r->field[COUNTER_BREAKPOINTS] : 0;
	s->not_entrant = r->has[DATA_NOT_ENTRANT] ? (uint32_t)r->field[DATA_NOT_ENTRANT] : 0;
	s->tier = r->has[CODE_TIER] && r->field[CODE_TIER] <= 4 ? (int8_t)r->field[CODE_TIER] : 0;
	flags_fill(jvm, (struct bytes){r->method, METHOD_SPAN}, s);
}

static void group_read(struct state_batch *b, const struct method_table *table, const uint32_t *methods, size_t n,
		       struct hs_compile_state *ret)
{
	struct jvm *jvm = b->jvm;

	memset(b->at, 0, n * sizeof(b->at[0]));
	for (size_t i = 0; i < n; i++) {
		b->at[i].bad = !method_get(table, methods[i]);
		if (!b->at[i].bad) {
			b->at[i].e = method_entry(table, methods[i]);
			add_identity(b, table, &b->at[i]);
		}
	}
	batch_read(b);
	for (size_t i = 0, s = 0; i < n; i++) {
		if (b->at[i].bad)
			continue;
		b->at[i].bad = !identity_same(jvm, &b->at[i], &b->span[s]);
		s += IDENTITY_SPANS;
	}
	for (size_t i = 0; i < n; i++)
		if (!b->at[i].bad)
			add_fields(b, &b->at[i]);
	batch_read(b);
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct hs_compile_state){0};
		if (!b->at[i].bad)
			state_fill(jvm, &b->at[i], &ret[i]);
	}
}

int hs_compile_states(struct hotspot *hs, const uint32_t *methods, size_t n, struct hs_compile_state *ret)
{
	struct state_batch *b CLEANUP(free_at_exit) = malloc(sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->jvm = hs->jvm;
	b->n = 0;
	unloads_poll(hs->jvm, &hs->methods->unloads);
	for (size_t i = 0; i < n; i += GROUP)
		group_read(b, hs->methods, methods + i, n - i < GROUP ? n - i : GROUP, ret + i);
	return 0;
}
