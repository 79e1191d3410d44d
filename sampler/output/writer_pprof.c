#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/gzip.h"
#include "sampler/output/writer.h"
#include "sampler/pprof/pprof_kind.h"
#include "sampler/pprof/pprof_notes.h"
#include "sampler/pprof/profile.pb-c.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/text.h"
#include "symbolizer/base/vec.h"

/*
 * Parts of the message are packed one by one: a repeated field is the sum of its pieces, wherever
 * they are. Ids are indices of the named profile, so they are consecutive from 1; texts are its
 * string ids, followed by the writer's own.
 */

enum { SAMPLE = 2, MAPPING, LOCATION, FUNCTION, STRING }; /* field numbers of Profile */
enum { MAX_LABELS = 5, MAX_VALUES = 2 };

struct pprof_writer {
	const struct named_profile *np;
	struct gzip *gz;
	struct buf part, text;
	VEC(char *) own; /* texts after those of the profile */
	uint32_t *mapping_ids; /* by index */
	uint64_t *limits; /* end of the addresses, by mapping */
	uint64_t *locations; /* of one sample */
	Pprof__Line *lines; /* of one location */
	Pprof__Line **line_list;
	bool counts_only; /* one value per sample */
	bool location_none, function_none; /* index 0 is referred to */
	bool failed; /* out of memory */
};

static size_t put_varint(uint8_t *to, uint64_t v)
{
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		to[n++] = (v & 0x7f) | 0x80;
	to[n++] = v;
	return n;
}

static void put_bytes(struct pprof_writer *w, int field, const void *bytes, size_t len)
{
	uint8_t head[16] = {field << 3 | 2};

	gzip_add(w->gz, head, 1 + put_varint(head + 1, len));
	gzip_add(w->gz, bytes, len);
}

/* Packs a message into w->part. */
static void pack(struct pprof_writer *w, const ProtobufCMessage *m)
{
	static const char zeros[256];
	size_t size = protobuf_c_message_get_packed_size(m);

	buf_reset(&w->part);
	while (w->part.len < size && !w->part.failed)
		buf_add(&w->part, zeros, size - w->part.len < 256 ? size - w->part.len : 256);
	if (w->part.failed)
		w->failed = true;
	else if (size)
		protobuf_c_message_pack(m, (uint8_t *)w->part.data);
}

static void put_part(struct pprof_writer *w, int field, const ProtobufCMessage *m)
{
	pack(w, m);
	if (!w->failed)
		put_bytes(w, field, w->part.data, w->part.len);
}

/* Index of one of the writer's own texts. */
static int64_t own_text(struct pprof_writer *w, const char *s)
{
	uint32_t base = strtab_count(w->np->strings);
	char *copy;

	if (!*s)
		return 0;
	for (size_t i = 0; i < w->own.n; i++)
		if (!strcmp(w->own.v[i], s))
			return base + i;
	copy = strdup(s);
	if (!copy || !vec_push(&w->own, copy)) {
		free(copy);
		w->failed = true;
		return 0;
	}
	return base + w->own.n - 1;
}

static void put_comments(struct pprof_writer *w, Pprof__Profile *p, int64_t *comments)
{
	p->comment = comments;
	for (size_t i = 0; i < pprof_notes_count(); i++) {
		buf_reset(&w->text);
		if (pprof_note_add(&w->text, &w->np->meta, i))
			comments[p->n_comment++] = own_text(w, w->text.data ? w->text.data : "");
	}
	w->failed |= w->text.failed;
}

static void put_basics(struct pprof_writer *w)
{
	const struct named_meta *m = &w->np->meta;
	Pprof__Profile p = PPROF__PROFILE__INIT;
	Pprof__ValueType count = PPROF__VALUE_TYPE__INIT, weight = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *types[MAX_VALUES] = {&count, &weight};
	int64_t *comments = calloc(pprof_notes_count(), sizeof(*comments));

	if (!comments) {
		w->failed = true;
		return;
	}
	count.type = own_text(w, "samples");
	count.unit = own_text(w, "count");
	weight.type = own_text(w, m->event);
	weight.unit = own_text(w, m->unit);
	p.sample_type = types;
	p.n_sample_type = w->counts_only ? 1 : 2;
	p.period_type = types[p.n_sample_type - 1];
	p.default_sample_type = p.period_type->type;
	p.period = m->period <= INT64_MAX ? (int64_t)m->period : 0;
	p.time_nanos = m->start_realtime_ns <= INT64_MAX ? (int64_t)m->start_realtime_ns : 0;
	p.duration_nanos = m->duration_ns <= INT64_MAX ? (int64_t)m->duration_ns : 0;
	put_comments(w, &p, comments);
	pack(w, &p.base);
	if (!w->failed)
		gzip_add(w->gz, w->part.data, w->part.len);
	free(comments);
}

/* Index 0 means "none" and is not a valid id: references to it get an id after all others. */
static uint64_t location_id(struct pprof_writer *w, uint32_t index)
{
	w->location_none |= !index;
	return index ? index : w->np->n_locations;
}

/* A text or a number, unless it is 0. */
static void add_label(Pprof__Label *l, size_t *n, int64_t key, uint32_t text, int64_t number)
{
	if (!text && !number)
		return;
	l[*n].key = key;
	l[*n].str = text;
	l[(*n)++].num = number;
}

static void put_sample(struct pprof_writer *w, const struct named_sample *s, const int64_t *keys)
{
	const struct named_stack *stack = &w->np->stacks[s->stack];
	int64_t values[MAX_VALUES] = {s->count, s->weight};
	Pprof__Sample to = PPROF__SAMPLE__INIT;
	Pprof__Label labels[MAX_LABELS], *list[MAX_LABELS];

	for (size_t i = 0; i < MAX_LABELS; i++) {
		pprof__label__init(&labels[i]);
		list[i] = &labels[i];
	}
	for (uint32_t i = 0; i < stack->n; i++)
		w->locations[i] = location_id(w, w->np->stack_locations[stack->first + i]);
	to.location_id = w->locations;
	to.n_location_id = stack->n;
	to.value = values;
	to.n_value = w->counts_only ? 1 : 2;
	to.label = list;
	add_label(labels, &to.n_label, keys[0], 0, s->pid);
	add_label(labels, &to.n_label, keys[1], 0, s->tid);
	add_label(labels, &to.n_label, keys[2], s->thread, 0);
	add_label(labels, &to.n_label, keys[3], s->state, 0);
	add_label(labels, &to.n_label, keys[4], 0, s->slice);
	put_part(w, SAMPLE, &to.base);
}

static void put_samples(struct pprof_writer *w)
{
	const int64_t keys[MAX_LABELS] = {own_text(w, "pid"), own_text(w, "tid"), own_text(w, "thread"),
					  own_text(w, "state"), own_text(w, "slice")};

	for (uint32_t i = 0; i < w->np->n_samples && !w->failed; i++)
		put_sample(w, &w->np->samples[i], keys);
}

static bool is_file(const struct named_profile *np, uint32_t mapping)
{
	return *named_string(np, np->mappings[mapping].file) != '[';
}

/* Tools take the first mapping for the program, so files come before [jit] and the like. */
static void number_mappings(struct pprof_writer *w)
{
	uint32_t id = 1;

	for (int file = 1; file >= 0; file--)
		for (uint32_t i = 1; i < w->np->n_mappings; i++)
			if (is_file(w->np, i) == file)
				w->mapping_ids[i] = id++;
	for (uint32_t i = 1; i < w->np->n_locations; i++) {
		const struct named_location *l = &w->np->locations[i];

		if (l->address >= w->limits[l->mapping])
			w->limits[l->mapping] = l->address + 1;
	}
}

static void put_mapping(struct pprof_writer *w, uint32_t i)
{
	Pprof__Mapping m = PPROF__MAPPING__INIT;

	m.id = w->mapping_ids[i];
	/* Addresses of locations are addresses in the file; 1: no location has an address. */
	m.memory_limit = w->limits[i] > 1 ? w->limits[i] : 0;
	m.filename = w->np->mappings[i].file;
	m.build_id = w->np->mappings[i].build_id;
	/* Frames without a name have none anywhere else: tools need not look for symbols. */
	m.has_functions = m.has_filenames = m.has_line_numbers = m.has_inline_frames = true;
	put_part(w, MAPPING, &m.base);
}

static void put_mappings(struct pprof_writer *w)
{
	for (int file = 1; file >= 0; file--)
		for (uint32_t i = 1; i < w->np->n_mappings && !w->failed; i++)
			if (is_file(w->np, i) == file)
				put_mapping(w, i);
}

static void set_line(struct pprof_writer *w, Pprof__Line *to, const struct named_line *l)
{
	pprof__line__init(to);
	w->function_none |= !l->function;
	to->function_id = l->function ? l->function : w->np->n_functions;
	to->line = l->line;
	to->kind = pprof_kind(l->kind);
	to->tier = l->tier;
	to->exactness = l->exactness;
	to->bci_plus_one = l->bci < 0 ? 0 : (uint32_t)l->bci + 1;
	to->osr = l->osr;
}

static void put_location(struct pprof_writer *w, uint32_t i)
{
	const struct named_location *l = &w->np->locations[i];
	Pprof__Location to = PPROF__LOCATION__INIT;

	to.id = i ? i : w->np->n_locations;
	to.mapping_id = w->mapping_ids[l->mapping];
	to.address = l->address;
	to.line = w->line_list;
	to.n_line = l->n_lines;
	for (uint32_t k = 0; k < l->n_lines; k++)
		set_line(w, w->line_list[k], &w->np->lines[l->first_line + k]);
	put_part(w, LOCATION, &to.base);
}

static void put_locations(struct pprof_writer *w)
{
	for (uint32_t i = 1; i < w->np->n_locations && !w->failed; i++)
		put_location(w, i);
	if (w->location_none)
		put_location(w, 0);
}

static void put_function(struct pprof_writer *w, uint32_t i)
{
	const struct named_function *f = &w->np->functions[i];
	Pprof__Function to = PPROF__FUNCTION__INIT;

	to.id = i ? i : w->np->n_functions;
	to.name = f->name;
	to.system_name = f->system_name;
	to.filename = f->file;
	to.why_interpreted = f->compile.why_interpreted;
	to.c1_ms = f->compile.c1_ms;
	to.c2_ms = f->compile.c2_ms;
	to.not_entrant = f->compile.not_entrant;
	put_part(w, FUNCTION, &to.base);
}

static void put_functions(struct pprof_writer *w)
{
	for (uint32_t i = 1; i < w->np->n_functions && !w->failed; i++)
		put_function(w, i);
	if (w->function_none)
		put_function(w, 0);
}

/* The format requires UTF-8. */
static void put_string(struct pprof_writer *w, const char *s)
{
	buf_reset(&w->text);
	buf_add_z(&w->text, s);
	if (w->text.failed) {
		w->failed = true;
		return;
	}
	if (w->text.len)
		w->text.len = text_sanitise(w->text.data, w->text.len + 1, w->text.data, w->text.len);
	put_bytes(w, STRING, w->text.data, w->text.len);
}

static void put_strings(struct pprof_writer *w)
{
	for (uint32_t i = 0; i < strtab_count(w->np->strings) && !w->failed; i++)
		put_string(w, strtab_get(w->np->strings, i));
	for (size_t i = 0; i < w->own.n && !w->failed; i++)
		put_string(w, w->own.v[i]);
}

static bool writer_init(struct pprof_writer *w, const struct named_profile *np, struct gzip *gz)
{
	uint32_t deepest = 0, most = 0;

	*w = (struct pprof_writer){.np = np};
	for (uint32_t i = 0; i < np->n_stacks; i++)
		deepest = np->stacks[i].n > deepest ? np->stacks[i].n : deepest;
	for (uint32_t i = 0; i < np->n_locations; i++)
		most = np->locations[i].n_lines > most ? np->locations[i].n_lines : most;
	w->counts_only = !strcmp(np->meta.event, "samples") && !strcmp(np->meta.unit, "count");
	w->mapping_ids = calloc((size_t)np->n_mappings + 1, sizeof(*w->mapping_ids));
	w->limits = calloc((size_t)np->n_mappings + 1, sizeof(*w->limits));
	w->locations = calloc((size_t)deepest + 1, sizeof(*w->locations));
	w->lines = calloc((size_t)most + 1, sizeof(*w->lines));
	w->line_list = calloc((size_t)most + 1, sizeof(*w->line_list));
	w->gz = gz;
	if (!w->mapping_ids || !w->limits || !w->locations || !w->lines || !w->line_list || !w->gz)
		return false;
	for (uint32_t i = 0; i <= most; i++)
		w->line_list[i] = &w->lines[i];
	number_mappings(w);
	return true;
}

static int writer_done(struct pprof_writer *w)
{
	int rc = w->gz ? gzip_end(w->gz) : -ENOMEM;

	for (size_t i = 0; i < w->own.n; i++)
		free(w->own.v[i]);
	vec_done(&w->own);
	free(w->mapping_ids);
	free(w->limits);
	free(w->locations);
	free(w->lines);
	free(w->line_list);
	buf_done(&w->part);
	buf_done(&w->text);
	return w->failed ? -ENOMEM : rc;
}

/* Writes everything, whatever the options: the file's reader chooses. */
static int write_to(struct gzip *gz, const struct named_profile *np, FILE *out, struct err *err)
{
	struct pprof_writer w;
	int rc;

	if (writer_init(&w, np, gz)) {
		put_basics(&w);
		put_samples(&w);
		put_mappings(&w);
		put_locations(&w);
		put_functions(&w);
		put_strings(&w);
	} else {
		w.failed = true;
	}
	rc = writer_done(&w);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : writer_end(out, rc, err);
}

static int pprof_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	(void)o;
	return write_to(gzip_new(out), np, out, err);
}

static int pprof_plain_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	(void)o;
	return write_to(gzip_new_plain(out), np, out, err);
}

const struct writer writer_pprof_plain = {
	.name = "pprof",
	.endings = ".pb",
	.write = pprof_plain_write,
};

const struct writer writer_pprof = {
	.name = "pprof",
	.endings = ".pb.gz .pprof",
	.write = pprof_write,
};
