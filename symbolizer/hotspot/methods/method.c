#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/methods/method_build.h"
#include "symbolizer/hotspot/methods/method_read.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/* How long a method's memory is trusted after it was read, if redefinitions of classes cannot be noticed. */
#define CONFIRMED_NS UINT64_C(10000000000)

static bool text_same(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* If a class loader replaces another, all addresses may be the same, so compare names. */
static bool same_names(struct method_table *table, const struct method_read *m, uint32_t id)
{
	const struct hs_method *old = method_get(table, id);

	return text_same(method_text(table, m, CLASS), old->class_name) &&
	       text_same(method_text(table, m, NAME), old->name) &&
	       text_same(method_text(table, m, SIGNATURE), old->signature);
}

static uint32_t method_take_fresh(struct method_table *table, const struct method_read *m, uint64_t unloads)
{
	uint32_t id;

	if (m->bad) {
		table->bad += m->addr != 0;
		return 0;
	}
	/* The same method may be twice in one group. */
	id = u64map_get(&table->methods.ids, m->addr);
	if (id && method_get(table, id)->const_method == m->const_method &&
	    method_entry(table, id)->identity == method_identity(table->jvm, method_read_header(table->jvm, m)) &&
	    same_names(table, m, id))
		return id;
	if (id)
		redefined_note(&table->redefinitions, method_entry(table, id)->holder);
	id = method_add(table, m, unloads);
	table->bad += id == 0;
	return id;
}

static void read_all(struct method_table *table, struct method_read *m, size_t n)
{
	methods_read(table, m, n);
	table->read_ns = clock_monotonic_ns();
}

static uint32_t method_take(struct method_table *table, struct method_read *m, uint64_t unloads)
{
	uint64_t addr = m->addr;

	if (m->bad || !m->candidate)
		return method_take_fresh(table, m, unloads);
	if (m->known)
		return m->candidate;
	if (same_names(table, m, m->candidate)) {
		method_entry(table, m->candidate)->unloads = unloads;
		return m->candidate;
	}
	table->methods.replaced++;
	method_drop(table, m->candidate);
	method_read_done(m);
	*m = (struct method_read){.addr = addr, .fresh = true};
	read_all(table, m, 1);
	return method_take_fresh(table, m, unloads);
}

/* What the JVM has counted, as far as that was read. */
struct counts {
	uint64_t unloads, redefinitions;
};

static struct counts counts_seen(const struct method_table *table)
{
	return (struct counts){table->unloads.seen.count, table->redefinitions.seen.count};
}

static bool is_read_since(const struct jvm_count *c, uint64_t since_ns)
{
	return !c->counter || c->polled_ns >= since_ns;
}

/* May they differ from those before? They are read, unless they were at or after since_ns. */
static bool counts_moved(struct method_table *table, struct counts before, uint64_t since_ns)
{
	struct counts now;

	if (table->unloads.seen.polled_ns < since_ns)
		unloads_poll(table->jvm, &table->unloads);
	if (table->redefinitions.seen.polled_ns < since_ns)
		redefinitions_poll(table->jvm, &table->redefinitions);
	now = counts_seen(table);
	return now.unloads != before.unloads || now.redefinitions != before.redefinitions ||
	       !is_read_since(&table->unloads.seen, since_ns) || !is_read_since(&table->redefinitions.seen, since_ns);
}

/* Since the JVM's counts were last read, a class may have been unloaded or redefined. */
static void confirm_known(struct method_table *table, struct method_read *m, size_t n, struct counts before)
{
	size_t i = 0;

	while (i < n && !m[i].known)
		i++;
	if (i == n || !counts_moved(table, before, table->read_ns))
		return;
	for (; i < n; i++)
		if (m[i].known)
			m[i] = (struct method_read){.addr = m[i].addr, .whole = true};
	read_all(table, m, n);
}

/* Interns a group of at most READ_GROUP methods. */
static void group_intern(struct method_table *table, struct method_read *m, size_t n, uint32_t *ret)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct counts before = counts_seen(table);

	read_all(table, m, n);
	confirm_known(table, m, n, before);
	for (size_t i = 0; i < n; i++) {
		ret[i] = method_take(table, &m[i], before.unloads);
		if (ret[i])
			method_entry(table, ret[i])->confirmed_ns = now_ns;
		method_read_done(&m[i]);
		arena_done(&table->parts);
	}
}

/*
 * The id of a method that is certainly still at its address, so that nothing has to be read; otherwise 0. The JVM frees
 * the old methods of a redefined class some time later, which no count shows. So after the first redefinition all
 * methods are read. Where redefinitions are not counted, one is believed for a short time.
 */
static uint32_t find_unread(const struct method_table *table, uint64_t addr, uint64_t now_ns)
{
	const struct jvm_count *redefined = &table->redefinitions.seen;
	uint32_t id = u64map_get(&table->methods.ids, addr);
	const struct method_entry *e = method_entry(table, id);

	if (!e || !method_is_certain(table, e))
		return 0;
	if (redefined->counter)
		return redefined->count ? 0 : id;
	return !table->redefinitions.classes.n && now_ns - e->confirmed_ns < CONFIRMED_NS ? id : 0;
}

/* A recording has what a replay reads, whatever the clock says then. */
static bool may_skip(const struct jvm *jvm)
{
	return jvm->moment.sample_ns && !jvm->mem->exact;
}

/*
 * Looks up what needs no reading, as far as the JVM's counts were read before, and moves the rest's positions to the
 * front of `left`. Returns their number.
 */
static size_t find_all_unread(struct method_table *table, const uint64_t *addrs, size_t n, uint32_t *ret,
			      uint32_t *left)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t rest = 0;
	bool skip = may_skip(table->jvm);

	for (size_t i = 0; i < n; i++) {
		ret[i] = skip ? find_unread(table, addrs[i], now_ns) : 0;
		if (!ret[i])
			left[rest++] = (uint32_t)i;
	}
	return rest;
}

/* Interns addrs[left[0]], ... in groups, in the memory of `m`. */
static void intern_left(struct method_table *table, const uint64_t *addrs, const uint32_t *left, size_t n,
			struct method_read *m, uint32_t *ret)
{
	uint32_t ids[READ_GROUP];

	for (size_t i = 0; i < n; i += READ_GROUP) {
		size_t k = n - i < READ_GROUP ? n - i : READ_GROUP;

		memset(m, 0, k * sizeof(*m));
		for (size_t j = 0; j < k; j++)
			m[j].addr = addrs[left[i + j]];
		group_intern(table, m, k, ids);
		for (size_t j = 0; j < k; j++)
			ret[left[i + j]] = ids[j];
	}
}

int methods_intern(struct method_table *table, const uint64_t *addrs, size_t n, uint64_t since_ns, uint32_t *ret)
{
	struct method_read *m CLEANUP(free_at_exit) = malloc((n < READ_GROUP ? n + 1 : READ_GROUP) * sizeof(*m));
	uint32_t *left CLEANUP(free_at_exit) = malloc((n + 1) * sizeof(*left));
	struct counts before = counts_seen(table);
	size_t rest;

	if (!m || !left)
		return -ENOMEM;
	rest = find_all_unread(table, addrs, n, ret, left);
	intern_left(table, addrs, left, rest, m, ret);
	if (rest == n || !counts_moved(table, before, since_ns))
		return 0;
	rest = find_all_unread(table, addrs, n, ret, left);
	intern_left(table, addrs, left, rest, m, ret);
	return 0;
}

void method_drop(struct method_table *table, uint32_t id)
{
	const struct hs_method *m = method_get(table, id);

	redefined_note(&table->redefinitions, method_entry(table, id)->holder);
	if (u64map_get(&table->methods.ids, m->addr) == id)
		u64map_remove(&table->methods.ids, m->addr);
}

void methods_drop_since(struct method_table *table, uint32_t known)
{
	for (uint32_t id = known + 1; id <= table->methods.n; id++)
		method_drop(table, id);
}

/* Reads the method. If it may have been replaced since the sample, others must confirm it. */
static uint32_t method_read_now(struct method_table *table, uint64_t method)
{
	size_t known = table->methods.n;
	uint32_t id, was;

	if (methods_intern(table, &method, 1, clock_monotonic_ns(), &id) < 0)
		id = 0;
	if (id && id <= known)
		return id;
	if (!unloads_since_sample(table->jvm, &table->unloads, table->read_ns) ||
	    (id && unloads_never_affects(table->jvm, &table->unloads, method_entry(table, id)->holder)))
		return id;
	was = gone_method_find(table, method, method_get(table, id));
	if (id && was != id)
		method_drop(table, id);
	return was;
}

/* A method that was read before classes were unloaded may have been replaced, so its names are read again. */
uint32_t hs_method_find(struct hotspot *hs, uint64_t method)
{
	struct method_table *table = hs->methods;
	uint32_t id = u64map_get(&table->methods.ids, method);
	const struct method_entry *e;

	if (!id || !method_is_recent(table, method_entry(table, id)))
		id = method_read_now(table, method);
	e = method_entry(table, id);
	if (!e || e->method.gone)
		return id;
	if (redefined_doubt(table->jvm, &table->redefinitions, e->holder, e->added_ns))
		return 0;
	interned_use(&table->methods, id);
	return id;
}

bool hs_method_lost(struct hotspot *hs)
{
	struct method_table *table = hs->methods;

	return unloads_since_sample(table->jvm, &table->unloads, JVM_COUNT_NOW) ||
	       redefined_since_sample(table->jvm, &table->redefinitions, JVM_COUNT_NOW);
}

const struct hs_method *method_get(const struct method_table *table, uint32_t id)
{
	const struct method_entry *e = method_entry(table, id);

	return e ? &e->method : NULL;
}

const struct hs_method *hs_method(const struct hotspot *hs, uint32_t id)
{
	return method_get(hs->methods, id);
}

uint32_t hs_method_count(const struct hotspot *hs)
{
	return hs->methods->methods.n;
}

int32_t hs_method_bci(const struct hs_method *m, uint64_t bcp)
{
	return bcp >= m->code_base && bcp - m->code_base < m->code_size ? (int32_t)(bcp - m->code_base) : -1;
}

void method_table_done(struct method_table *table)
{
	interned_done(&table->methods);
	arena_done(&table->parts);
	u64map_done(&table->redefinitions.classes);
	u64map_done(&table->lasting);
}

void methods_forget_begin(struct method_table *table)
{
	for (uint32_t id = 0; (id = interned_next(&table->methods, id));) {
		struct method_entry *e = method_entry(table, id);

		e->head.keep = e->method.gone ? KEEP_NAMED : KEEP_NOT;
	}
}
