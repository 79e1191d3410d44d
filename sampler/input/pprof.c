#include "sampler/input/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "sampler/input/pprof_parse.h"
#include "sampler/input/pprof_scan.h"
#include "sampler/input/source.h"
#include "sampler/pprof/pprof_notes.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* A parsed part of a message takes some thirty times its size in memory. */
enum { PART_MAX = 4 << 20, UNPACKED_MAX = 1 << 30 };

/* Field numbers of the outermost message. */
enum {
	SAMPLE_TYPE = 1,
	SAMPLE,
	MAPPING,
	LOCATION,
	FUNCTION,
	STRING,
	TIME = 9,
	DURATION,
	PERIOD_TYPE,
	PERIOD,
	COMMENT,
	DEFAULT_TYPE,
};

int pprof_bad(struct pprof_run *r, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_set(r->err, -EINVAL, "'%s': bad pprof at byte %" PRIu64 " (%s %" PRIu64 "): %s", r->name, r->place,
		       r->what, r->number, why);
}

int pprof_no_memory(struct pprof_run *r)
{
	return err_set(r->err, -ENOMEM, "'%s': out of memory at byte %" PRIu64, r->name, r->place);
}

const char *pprof_text(struct pprof_run *r, int64_t index)
{
	if (index < 0 || (uint64_t)index >= r->texts.n) {
		pprof_bad(r, "text %" PRId64 " of %zu", index, r->texts.n);
		return NULL;
	}
	buf_reset(&r->scratch);
	buf_add(&r->scratch, r->texts.v[index].s, r->texts.v[index].len);
	if (!r->scratch.failed)
		return r->scratch.data ? r->scratch.data : "";
	pprof_no_memory(r);
	return NULL;
}

uint32_t pprof_string(struct pprof_run *r, int64_t index)
{
	const char *text = pprof_text(r, index);
	struct pprof_text *t;

	if (!text)
		return UINT32_MAX;
	t = &r->texts.v[index];
	if (t->id == UINT32_MAX)
		t->id = named_builder_string(r->b, text);
	if (t->id == UINT32_MAX)
		pprof_no_memory(r);
	return t->id;
}

static void *unpack(struct pprof_run *r, const ProtobufCMessageDescriptor *d, const struct pprof_field *f)
{
	void *m = NULL;

	if (!f->bytes)
		pprof_bad(r, "a number in place of a message");
	else if (f->len > PART_MAX)
		pprof_bad(r, "longer than %d MiB", PART_MAX >> 20);
	else if (!(m = protobuf_c_message_unpack(d, NULL, f->len, f->bytes)))
		pprof_bad(r, "damaged");
	return m;
}

#define ADD_PART(r, field, Type, type, add)                                                                            \
	__extension__({                                                                                                \
		Type *m_ = unpack(r, &type##__descriptor, field);                                                      \
		int rc_ = m_ ? add(r, m_) : (r)->err->code;                                                            \
		if (m_)                                                                                                \
			type##__free_unpacked(m_, NULL);                                                               \
		rc_;                                                                                                   \
	})

static int add_type(struct pprof_run *r, const Pprof__ValueType *t)
{
	r->n_types++;
	return vec_push(&r->types, t->type) && vec_push(&r->types, t->unit) ? 0 : pprof_no_memory(r);
}

static int add_string(struct pprof_run *r, const struct pprof_field *f)
{
	struct pprof_text t = {.s = (const char *)f->bytes, .len = f->len, .id = UINT32_MAX};

	if (!f->bytes || f->len > PART_MAX)
		return pprof_bad(r, "not a string, or a very long one");
	if (!r->texts.n && f->len)
		return pprof_bad(r, "the first string is not empty");
	t.label = pprof_label_of(t.s, t.len);
	return vec_push(&r->texts, t) ? 0 : pprof_no_memory(r);
}

/* First pass: everything that other fields refer to. */
static int take_basics(struct pprof_run *r, const struct pprof_field *f)
{
	struct named_meta *m = named_builder_meta(r->b);

	switch (f->number) {
	case SAMPLE_TYPE: return ADD_PART(r, f, Pprof__ValueType, pprof__value_type, add_type);
	case STRING: return add_string(r, f);
	case TIME: m->start_realtime_ns = (int64_t)f->value > 0 ? f->value : 0; return 0;
	case DURATION: m->duration_ns = (int64_t)f->value > 0 ? f->value : 0; return 0;
	case PERIOD: r->period = (int64_t)f->value; return 0;
	case DEFAULT_TYPE: r->default_type = (int64_t)f->value; return 0;
	}
	return 0;
}

static int take_comment(struct pprof_run *r, int64_t index)
{
	const char *text = pprof_text(r, index), *value, **place;

	if (!text)
		return r->err->code;
	if (!pprof_note_parse(text, named_builder_meta(r->b), &place, &value) || !place)
		return 0;
	*place = named_builder_keep(r->b, value);
	return 0;
}

/* Repeated numbers are either packed or one field each. */
static int take_comments(struct pprof_run *r, const struct pprof_field *f)
{
	struct pprof_scan s = {f->bytes, f->bytes, f->bytes ? f->bytes + f->len : NULL};
	int rc = f->bytes ? 0 : take_comment(r, f->value);
	uint64_t v;

	while (!rc && s.p < s.end) {
		if (!pprof_scan_varint(&s, &v))
			return pprof_bad(r, "damaged");
		rc = take_comment(r, v);
	}
	return rc;
}

static int take_tables(struct pprof_run *r, const struct pprof_field *f)
{
	switch (f->number) {
	case MAPPING: return ADD_PART(r, f, Pprof__Mapping, pprof__mapping, pprof_add_mapping);
	case FUNCTION: return ADD_PART(r, f, Pprof__Function, pprof__function, pprof_add_function);
	case COMMENT: return take_comments(r, f);
	}
	return 0;
}

static int take_locations(struct pprof_run *r, const struct pprof_field *f)
{
	return f->number != LOCATION ? 0 : ADD_PART(r, f, Pprof__Location, pprof__location, pprof_add_location);
}

static int take_samples(struct pprof_run *r, const struct pprof_field *f)
{
	return f->number != SAMPLE ? 0 : ADD_PART(r, f, Pprof__Sample, pprof__sample, pprof_add_sample);
}

/* A pass over all fields. */
static int scan(struct pprof_run *r, const uint8_t *bytes, size_t len,
		int (*take)(struct pprof_run *, const struct pprof_field *))
{
	static const char *const names[] = {"field",    "sample type", "sample", "mapping",
					    "location", "function",    "text"};
	struct pprof_scan s = {bytes, bytes, bytes + len};
	uint64_t numbers[sizeof(names) / sizeof(names[0])] = {0};
	struct pprof_field f;
	int rc;

	for (;;) {
		size_t kind;

		r->place = s.p - s.start;
		rc = pprof_scan_next(&s, &f);
		kind = rc > 0 && f.number < sizeof(names) / sizeof(names[0]) ? f.number : 0;
		r->what = names[kind];
		r->number = ++numbers[kind];
		if (rc < 0)
			return pprof_bad(r, "damaged, or not pprof");
		if (rc == 0)
			return 0;
		if ((rc = take(r, &f)))
			return rc;
	}
}

static int sort_ids(struct pprof_run *r, struct pprof_ids *ids, const char *what)
{
	if (pprof_ids_sort(ids))
		return 0;
	return err_set(r->err, -EINVAL, "'%s': bad pprof: two %ss have the same id", r->name, what);
}

static int parse(struct pprof_run *r, const uint8_t *bytes, size_t len)
{
	int rc = scan(r, bytes, len, take_basics);

	if (!rc && !r->n_types && !r->texts.n && len)
		rc = err_set(r->err, -EINVAL, "'%s' is not a profile", r->name);
	if (!rc)
		rc = pprof_set_types(r);
	if (!rc)
		rc = scan(r, bytes, len, take_tables);
	if (!rc)
		rc = sort_ids(r, &r->mapping_ids, "mapping");
	if (!rc)
		rc = sort_ids(r, &r->function_ids, "function");
	if (!rc)
		rc = scan(r, bytes, len, take_locations);
	if (!rc)
		rc = sort_ids(r, &r->location_ids, "location");
	return rc ? rc : scan(r, bytes, len, take_samples);
}

int pprof_read(struct source *s, struct named_builder *b, struct err *err)
{
	struct err own = {0};
	struct pprof_run r = {.name = source_name(s), .b = b, .err = err ? err : &own, .what = ""};
	CLEANUP(free_at_exit) char *bytes = NULL;
	size_t len;
	int rc = source_rest(s, UNPACKED_MAX, &bytes, &len, r.err);

	if (!rc)
		rc = parse(&r, (const uint8_t *)bytes, len);
	vec_done(&r.texts);
	vec_done(&r.mappings);
	vec_done(&r.functions);
	vec_done(&r.mapping_ids);
	vec_done(&r.function_ids);
	vec_done(&r.location_ids);
	vec_done(&r.lines);
	vec_done(&r.stack);
	vec_done(&r.types);
	buf_done(&r.scratch);
	return rc;
}
