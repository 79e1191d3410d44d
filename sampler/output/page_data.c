#include "sampler/output/page_data.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/flat.h"
#include "sampler/output/frame_ranks.h"
#include "sampler/output/page_pack.h"
#include "sampler/output/page_trie.h"
#include "symbolizer/base/json.h"
#include "symbolizer/base/map.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"

/* The page draws each slice; a file could have any number of them. */
enum { SLICES_MAX = 100000 };

struct label_key {
	int32_t pid, tid;
	uint32_t thread, state;
};

struct label {
	struct label_key key;
	uint32_t number; /* from 1 on */
	UT_hash_handle hh;
};

struct page_data {
	const struct named_profile *np;
	struct frame_ranks names; /* texts of frames */
	uint32_t *frames; /* variant, by line of the profile */
	VEC(uint64_t) variants; /* name << 6 | kind << 2 | exactness; sorted */
	uint32_t unknown; /* variant of [unknown] */
	struct label *labels; /* in order of their numbers */
	uint32_t n_labels;
	struct page_trie *trie;
	bool weighted;
	uint64_t samples, weight;
	uint32_t n_slices; /* 0: no slices */
};

static int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return ascending(x, y);
}

static uint64_t variant_of(uint32_t rank, const struct named_line *l)
{
	unsigned kind = l->kind < NAMED_KINDS ? l->kind : NAMED_UNKNOWN;
	bool compiled = kind == NAMED_C1 || kind == NAMED_C2 || kind == NAMED_INLINED;

	return (uint64_t)rank << 6 | kind << 2 | (compiled ? l->exactness & 3 : 0);
}

static uint32_t variant_find(const struct page_data *d, uint64_t v)
{
	const uint64_t *at = bsearch(&v, d->variants.v, d->variants.n, sizeof(v), u64_compare);

	return at ? (uint32_t)(at - d->variants.v) : 0;
}

static void remove_duplicates(struct page_data *d)
{
	size_t n = 0;

	qsort(d->variants.v, d->variants.n, sizeof(*d->variants.v), u64_compare);
	for (size_t i = 0; i < d->variants.n; i++)
		if (!n || d->variants.v[i] != d->variants.v[n - 1])
			d->variants.v[n++] = d->variants.v[i];
	d->variants.n = n;
}

static bool make_frames(struct page_data *d)
{
	const struct named_line *lines = d->np->lines;
	const struct named_line none = {.kind = NAMED_UNKNOWN};
	uint64_t unknown;
	bool ok;

	if (!frame_ranks_make(&d->names, d->np, false, false))
		return false;
	unknown = variant_of(d->names.unknown, &none);
	ok = vec_push(&d->variants, unknown);
	for (uint32_t i = 0; i < d->np->n_lines && ok; i++)
		ok = vec_push(&d->variants, variant_of(d->names.of_line[i], &lines[i]));
	if (!ok)
		return false;
	remove_duplicates(d);
	for (uint32_t i = 0; i < d->np->n_lines; i++)
		d->frames[i] = variant_find(d, variant_of(d->names.of_line[i], &lines[i]));
	d->unknown = variant_find(d, unknown);
	return true;
}

/* The label's id; UINT32_MAX: out of memory. */
static uint32_t label_of(struct page_data *d, const struct named_sample *s)
{
	struct label_key key = {s->pid, s->tid, s->thread, s->state};
	struct label *l = map_entry(d->labels, &key);

	if (!l)
		return UINT32_MAX;
	if (!l->number)
		l->number = ++d->n_labels;
	return l->number - 1;
}

/* The node at the leaf of a stack; UINT32_MAX: out of memory. */
static uint32_t add_stack(struct page_data *d, const struct named_stack *s)
{
	const struct named_profile *np = d->np;
	uint32_t node = 0;

	for (uint32_t k = s->n; k > 0 && node != UINT32_MAX; k--) {
		const struct named_location *l = &np->locations[np->stack_locations[s->first + k - 1]];

		for (uint32_t j = l->n_lines; j > 0 && node != UINT32_MAX; j--)
			node = page_trie_child(d->trie, node, d->frames[l->first_line + j - 1]);
		if (!l->n_lines)
			node = page_trie_child(d->trie, node, d->unknown);
	}
	return s->n ? node : page_trie_child(d->trie, 0, d->unknown);
}

/* Samples without a count are left out, as in text outputs. */
static bool add_samples(struct page_data *d)
{
	const struct named_sample *first = NULL;

	for (uint32_t i = 0; i < d->np->n_samples; i++) {
		const struct named_sample *s = &d->np->samples[i];
		uint32_t node, label;

		if (!s->count)
			continue;
		first = first ? first : s;
		d->weighted |=
			(unsigned __int128)s->weight * first->count != (unsigned __int128)first->weight * s->count;
		d->samples += s->count;
		d->weight += s->weight;
		node = add_stack(d, &d->np->stacks[s->stack]);
		label = label_of(d, s);
		if (node == UINT32_MAX || label == UINT32_MAX ||
		    !page_trie_add(d->trie, node, label, s->count, s->weight) ||
		    (d->n_slices && !page_trie_slice(d->trie, node, label, s->slice, s->count)))
			return false;
	}
	return true;
}

/* A key on a line of its own. */
static void begin_list(struct json *j, const char *key)
{
	json_line(j);
	json_member_open(j, key, '[');
}

static void put_meta(const struct page_data *d, struct json *j)
{
	const struct named_meta *m = &d->np->meta;

	json_member_open(j, "meta", '{');
	json_member_text(j, "event", m->event);
	json_member_text(j, "unit", m->unit);
	json_member_text(j, "command", m->command);
	json_member_text(j, "jdk", m->jdk);
	json_member_text(j, "jsampler", m->jsampler);
	json_member_text(j, "version", JS_VERSION);
	json_member_uint(j, "period", m->period);
	json_member_uint(j, "start", m->start_realtime_ns / 1000000);
	json_member_uint(j, "duration", m->duration_ns);
	json_member_uint(j, "samples", d->samples);
	json_member_uint(j, "weight", d->weight);
	json_member_uint(j, "lost", m->lost);
	json_member_uint(j, "complete", m->complete);
	json_member_uint(j, "resynchronised", m->resynchronised);
	json_member_uint(j, "incomplete", m->incomplete);
	json_member_uint(j, "frozen", m->frozen);
	json_close(j, '}');
}

static void put_kinds(struct json *j)
{
	begin_list(j, "kinds");
	for (int k = 0; k < NAMED_KINDS; k++)
		json_text(j, flat_kind_name((enum named_kind)k));
	json_close(j, ']');
}

/* Only ASCII is compared, because JavaScript's characters are not bytes. */
static size_t shared_ascii(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n] && !(a[n] & 0x80))
		n++;
	return n;
}

static void put_names(const struct page_data *d, struct json *j)
{
	const char *before = "";

	begin_list(j, "names");
	for (uint32_t i = 0; i < d->names.n; i++) {
		const char *s = d->names.texts[i].s;
		size_t shared = shared_ascii(before, s);

		json_uint(j, shared);
		json_text(j, s + shared);
		before = s;
	}
	json_close(j, ']');
}

static void put_variants(const struct page_data *d, struct json *j)
{
	begin_list(j, "variants");
	for (size_t i = 0; i < d->variants.n; i++)
		json_uint(j, d->variants.v[i]);
	json_close(j, ']');
}

static void put_labels(const struct page_data *d, struct json *j)
{
	begin_list(j, "labels");
	for (const struct label *l = d->labels; l; l = l->hh.next) {
		json_open(j, '[');
		json_int(j, l->key.pid);
		json_int(j, l->key.tid);
		json_text(j, named_string(d->np, l->key.thread));
		json_text(j, named_string(d->np, l->key.state));
		json_close(j, ']');
	}
	json_close(j, ']');
}

struct row_output {
	const struct page_data *d;
	struct page_packer packer;
};

static void put_row(void *ctx, const struct page_row *row)
{
	struct row_output *o = ctx;

	page_packer_add(&o->packer, row->shared);
	page_packer_add(&o->packer, row->n);
	for (uint32_t i = 0; i < row->n; i++)
		page_packer_add(&o->packer, row->frames[i]);
	page_packer_add(&o->packer, row->count);
	if (o->d->n_labels > 1)
		page_packer_add(&o->packer, row->label);
	if (o->d->weighted)
		page_packer_add(&o->packer, row->weight);
}

static void put_row_slices(void *ctx, const struct page_row *row)
{
	struct row_output *o = ctx;

	page_packer_add(&o->packer, row->n_slices);
	for (uint32_t i = 0; i < row->n_slices; i++) {
		page_packer_add(&o->packer, row->slices[i].slice);
		page_packer_add(&o->packer, row->slices[i].count);
	}
}

/* Numbers of all rows, packed. */
static int put_packed(const struct page_data *d, struct json *j, const char *key,
		      void (*put)(void *ctx, const struct page_row *row))
{
	struct row_output rows = {d, {.out = j->out}};
	int r;

	json_member_open(j, key, '"');
	r = page_trie_walk(d->trie, put, &rows);
	page_packer_end(&rows.packer);
	json_close(j, '"');
	return r;
}

static int put_slices(const struct page_data *d, struct json *j)
{
	int r;

	json_line(j);
	json_member_open(j, "slices", '{');
	json_member_uint(j, "ns", d->np->meta.slice_ns);
	json_member_uint(j, "n", d->n_slices);
	r = put_packed(d, j, "counts", put_row_slices);
	json_close(j, '}');
	return r;
}

static int put_all(const struct page_data *d, FILE *out)
{
	struct json j = {.out = out};
	int r;

	json_open(&j, '{');
	json_member_uint(&j, "v", 1);
	put_meta(d, &j);
	put_kinds(&j);
	put_names(d, &j);
	put_variants(d, &j);
	put_labels(d, &j);
	json_line(&j);
	json_member_uint(&j, "rows", page_trie_rows(d->trie));
	json_member_uint(&j, "weighted", d->weighted);
	json_line(&j);
	r = put_packed(d, &j, "stacks", put_row);
	if (r == 0 && d->n_slices)
		r = put_slices(d, &j);
	json_close(&j, '}');
	return r;
}

static void page_data_done(struct page_data *d)
{
	map_free(d->labels);
	frame_ranks_done(&d->names);
	page_trie_free(d->trie);
	free(d->frames);
	vec_done(&d->variants);
}

uint32_t page_data_slices(const struct named_profile *np)
{
	uint32_t n = 0;

	for (uint32_t i = 0; np->meta.slice_ns && i < np->n_samples; i++)
		if (np->samples[i].slice > n)
			n = np->samples[i].slice;
	return n < SLICES_MAX ? n : 0;
}

int page_data_write(const struct named_profile *np, FILE *out)
{
	struct page_data d = {.np = np, .trie = page_trie_new(), .n_slices = page_data_slices(np)};
	int r = -ENOMEM;

	d.frames = calloc((size_t)np->n_lines + 1, sizeof(*d.frames));
	if (d.trie && d.frames && make_frames(&d) && add_samples(&d))
		r = put_all(&d, out);
	page_data_done(&d);
	return r;
}
