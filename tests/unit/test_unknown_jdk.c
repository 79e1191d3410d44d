#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/readers/readers.h"
#include "sampler/recording/recording.h"
#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/target/mem.h"

/*
 * A JDK that nobody knows: recordings of real JVMs in whose tables (gHotSpotVMStructs) one field after the
 * other has another name, and all fields of one type after the other; then each type, each constant. Each time
 * the JVM is refused, with the field in the message, or its stacks are read with what is left: no frame may be
 * another than with all of them there.
 */
enum { TYPE_AT = 0, FIELD_AT = 8, ENTRIES_MAX = 8192, NAME_MAX_LEN = 256 };
#define RENAMED UINT64_C(0x10000) /* no mapping is there */

struct entry {
	uint64_t name_at; /* of the pointer to its name: a field's, a type's, a constant's */
	bool field;
	char name[2 * NAME_MAX_LEN + 2]; /* "Type::_field"; of a type or a constant its name */
};

static const struct table {
	const char *symbol;
	uint64_t stride, name_at;
	size_t least; /* entries that every JDK has */
} tables[] = {
	{"gHotSpotVMStructs", 48, FIELD_AT, 300},
	{"gHotSpotVMTypes", 40, TYPE_AT, 300},
	{"gHotSpotVMIntConstants", 16, TYPE_AT, 200},
	{"gHotSpotVMLongConstants", 16, TYPE_AT, 1},
};
enum { N_TABLES = sizeof(tables) / sizeof(*tables) };

/* Frames of one walk as names: what may not change. */
enum { WALK_NAMES = 512 };
struct names {
	enum walk_end end;
	bool frozen; /* marked: the carrier's frames may be missing */
	uint32_t n;
	char store[WALK_NAMES][192]; /* of a Java frame class and method, of native ones the address, else the kind */
};

struct subject {
	struct recording *rec;
	struct entry *entries;
	size_t n;
	struct names whole[8]; /* of the first samples, with all fields there */
	size_t n_whole;
};

static int add_span(void *ctx, const struct recording_span *span)
{
	return mem_pages_add(ctx, span->addr, span->bytes, span->len);
}

/* Everything that was ever read, as it was first: tables do not change. */
static struct readers *open_view(const struct recording *rec)
{
	struct readers *v;

	assert_int_equal(readers_open_recording(rec, (struct unwinder_options){0}, NULL, &v, NULL), 0);
	for (size_t i = recording_sample_count(rec) + 1; i-- > 0;)
		assert_int_equal(recording_each_span(rec, i, add_span, v->mem), 0);
	return v;
}

static void name_frame(struct hotspot *hs, const struct frame_key *k, char *dst, size_t size)
{
	const struct code *c = k->kind == FRAME_COMPILED || k->kind == FRAME_STUB ? hs_code(hs, k->id) : NULL;
	const struct hs_method *m = hs ? hs_method(hs, k->kind == FRAME_INTERPRETED ? k->id :
						       c                            ? c->method_id :
										      0) :
					 NULL;

	if (k->kind == FRAME_NATIVE || !m)
		snprintf(dst, size, "%d %u %lld", k->kind, k->kind == FRAME_NATIVE ? k->id : 0,
			 k->kind == FRAME_NATIVE ? (long long)k->off : 0);
	else
		snprintf(dst, size, "%d %s.%s", k->kind, m->class_name, m->name);
}

static void walk_names(struct readers *v, const struct raw_sample *s, struct names *ret)
{
	struct walk w;

	unwinder_walk(v->unwinder, s, s->tid, &w);
	*ret = (struct names){.end = w.end, .frozen = w.frozen};
	for (uint32_t i = 0; i < w.n && i < WALK_NAMES; i++)
		name_frame(v->hs, &w.frames[i], ret->store[ret->n++], sizeof(ret->store[0]));
}

static bool read_text(struct mem *m, uint64_t at, char *dst)
{
	uint64_t addr;

	return mem_read_u64(m, at, &addr) && addr && mem_read_cstr(m, addr, dst, NAME_MAX_LEN);
}

static void read_table(struct subject *t, struct readers *v, const struct table *table)
{
	char type[NAME_MAX_LEN], field[NAME_MAX_LEN];
	size_t first = t->n;
	uint64_t bias, vaddr, size, at;
	uint32_t id;

	assert_int_equal(modmap_find_dso(v->modmap, "libjvm.so", &id, &bias), 0);
	assert_int_equal(dso_find_variable(modmap_dso(v->modmap, id), table->symbol, &vaddr, &size), 0);
	assert_true(mem_read_u64(v->mem, bias + vaddr, &at));
	for (; t->n < ENTRIES_MAX && read_text(v->mem, at + TYPE_AT, type); at += table->stride) {
		struct entry *e = &t->entries[t->n++];

		e->name_at = at + table->name_at;
		e->field = table == tables;
		if (e->field)
			assert_true(read_text(v->mem, at + FIELD_AT, field));
		snprintf(e->name, sizeof(e->name), "%s%s%s", type, e->field ? "::" : "", e->field ? field : "");
	}
	assert_in_range(t->n - first, table->least, ENTRIES_MAX - 1);
}

/* With the "::" in front of the field. */
static size_t type_len(const struct entry *e)
{
	return (size_t)(strstr(e->name, "::") - e->name) + 2;
}

/* The field, or all fields of its type. */
static void rename_fields(const struct subject *t, struct readers *v, const struct entry *e, bool type)
{
	static const char renamed[] = "_another_name";
	const uint64_t at = RENAMED;

	assert_int_equal(mem_pages_add(v->mem, RENAMED, renamed, sizeof(renamed)), 0);
	for (const struct entry *o = t->entries; o < t->entries + t->n; o++)
		if (o == e || (type && o->field && !strncmp(o->name, e->name, type_len(e))))
			assert_int_equal(mem_pages_add(v->mem, o->name_at, &at, sizeof(at)), 0);
}

static void walk_all(struct subject *t, struct readers *v, const struct entry *e)
{
	for (size_t i = 0; i < t->n_whole; i++) {
		struct names *now = calloc(1, sizeof(*now));
		const struct names *was = &t->whole[i];

		assert_non_null(now);
		walk_names(v, recording_sample(t->rec, i), now);
		for (uint32_t k = 0; k < now->n; k++) {
			/* A frame whose name is not known any more is no wrong name. */
			if (k < was->n && (!strcmp(now->store[k], was->store[k]) || !strchr(now->store[k], '.')))
				continue;
			if (k >= was->n && was->n == WALK_NAMES)
				break;
			fail_msg("without %s: sample %zu, frame %u is '%s', not '%s'", e->name, i, k, now->store[k],
				 k < was->n ? was->store[k] : "none");
		}
		if (now->end == WALK_ROOT && was->end == WALK_ROOT && !now->frozen && now->n != was->n)
			fail_msg("without %s: sample %zu has %u frames, not %u", e->name, i, now->n, was->n);
		free(now);
	}
}

/* 1: the JVM is refused. */
static bool try_without(struct subject *t, const struct entry *e, bool type)
{
	struct readers *v = open_view(t->rec);
	bool refused;

	rename_fields(t, v, e, type);
	readers_find_jvm(v);
	refused = v->jvm != JVM_READY;
	/* Of a subclass, where the field has moved between the two from one JDK to another. */
	if (v->jvm == JVM_UNSUPPORTED && e->field && !type && !strstr(v->why, strstr(e->name, "::")))
		fail_msg("without %s: \"%s\" does not name it", e->name, v->why);
	if (v->jvm == JVM_STARTING)
		fail_msg("without %s: taken for a JVM that is still starting", e->name);
	walk_all(t, v, e);
	readers_close(v);
	return refused;
}

/*
 * All tables: in two recordings, for time. Memory errors are looked for in a quarter of each recording's entries, in
 * another quarter of each, as that takes six times as long.
 */
#ifdef __SANITIZE_ADDRESS__
enum { EACH = 4 };
#else
enum { EACH = 1 };
#endif
struct recorded {
	const char *path;
	size_t n_tables, first;
};

static void every_entry(void **state)
{
	const struct recorded *r = *state;
	struct subject t = {.entries = calloc(ENTRIES_MAX, sizeof(*t.entries))};
	struct readers *v;
	size_t refused = 0, n_fields;

	assert_non_null(t.entries);

	assert_int_equal(recording_open(r->path, &t.rec, NULL), 0);
	v = open_view(t.rec);
	assert_true(readers_find_jvm(v));
	while (t.n_whole < 8 && t.n_whole < recording_sample_count(t.rec)) {
		walk_names(v, recording_sample(t.rec, t.n_whole), &t.whole[t.n_whole]);
		t.n_whole++;
	}
	assert_true(t.n_whole > 0);
	read_table(&t, v, &tables[0]);
	n_fields = t.n;
	for (size_t i = 1; i < r->n_tables; i++)
		read_table(&t, v, &tables[i]);
	readers_close(v);
	for (size_t i = r->first % EACH; i < t.n; i += EACH) {
		const struct entry *e = &t.entries[i];

		refused += try_without(&t, e, false) && e->field;
		if (e->field && (i == 0 || strncmp(e->name, e[-1].name, type_len(e)) != 0))
			try_without(&t, e, true);
	}
	/* Some are needed for certain, most are not even looked at. */
	assert_in_range(refused, 20 / EACH, n_fields / EACH / 4);
	print_message("%s: %zu fields, %zu of them required, %zu types and constants\n", r->path, n_fields, refused,
		      t.n - n_fields);
	recording_close(t.rec);
	free(t.entries);
}

int main(void)
{
	static struct recorded recorded[] = {
		{FIXTURES "/17-int.jsrec", 1, 0},
		{FIXTURES "/17-c2.jsrec", N_TABLES, 1},
		{FIXTURES "/25-virtual.jsrec", 1, 2},
		{FIXTURES "/25-heap.jsrec", N_TABLES, 3},
	};
	struct CMUnitTest tests[4];

	for (size_t i = 0; i < 4; i++)
		tests[i] = (struct CMUnitTest){recorded[i].path, every_entry, NULL, NULL, &recorded[i]};
	log_set_level(LOG_LEVEL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
