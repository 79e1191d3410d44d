#include "sampler/store/day_add.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/named_profile.h"
#include "sampler/store/bucket.h"
#include "sampler/store/day.h"
#include "sampler/store/dictionary.h"
#include "sampler/store/frame_bits.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* Maps the profile's numbers to the day's; 0: not yet known, or none. UINT32_MAX in any of them: out of memory. */
struct adding {
	struct day *day;
	const struct named_profile *np;
	uint32_t *functions, *mappings, *nodes; /* nodes: by stack */
};

static void adding_done(struct adding *a)
{
	free(a->functions);
	free(a->mappings);
	free(a->nodes);
}

static uint32_t text_id(struct adding *a, uint32_t string)
{
	return dictionary_string(a->day->dict, named_string(a->np, string));
}

/* The number of a row of strings. */
static uint32_t texts_id(struct adding *a, enum dictionary_table t, uint32_t one, uint32_t two, uint32_t three)
{
	uint32_t row[] = {text_id(a, one), text_id(a, two), text_id(a, three)};

	if (row[0] == UINT32_MAX || row[1] == UINT32_MAX || row[2] == UINT32_MAX)
		return UINT32_MAX;
	return dictionary_id(a->day->dict, t, row);
}

static uint32_t function_id(struct adding *a, uint32_t function)
{
	const struct named_function *f = &a->np->functions[function];

	if (function && !a->functions[function])
		a->functions[function] = texts_id(a, DICT_FUNCTIONS, f->name, f->system_name, f->file);
	return a->functions[function];
}

static uint32_t mapping_id(struct adding *a, uint32_t mapping)
{
	const struct named_mapping *m = &a->np->mappings[mapping];

	if (mapping && !a->mappings[mapping])
		a->mappings[mapping] = texts_id(a, DICT_MAPPINGS, m->file, m->build_id, 0);
	return a->mappings[mapping];
}

/* Adds the innermost n frames of one location, outermost first; all others are marked as joined. */
static uint32_t add_location(struct adding *a, const struct named_location *l, uint32_t n, uint32_t parent)
{
	struct dictionary *dict = a->day->dict;

	for (uint32_t i = n; i-- && parent != UINT32_MAX;) {
		const struct named_line *line = &a->np->lines[l->first_line + i];
		uint32_t frame[] = {function_id(a, line->function), mapping_id(a, l->mapping),
				    frame_bits(line, i + 1 < n)};
		uint32_t node[] = {parent, 0, (uint32_t)line->line};

		if (frame[0] == UINT32_MAX || frame[1] == UINT32_MAX)
			return UINT32_MAX;
		node[1] = dictionary_id(dict, DICT_FRAMES, frame);
		parent = node[1] == UINT32_MAX ? UINT32_MAX : dictionary_id(dict, DICT_NODES, node);
	}
	return parent;
}

static const struct named_location *location_of(const struct adding *a, const struct named_stack *st, uint32_t k)
{
	return &a->np->locations[a->np->stack_locations[st->first + k]];
}

/* The root in place of what is not kept. */
static uint32_t truncated_node(struct adding *a)
{
	struct dictionary *dict = a->day->dict;
	const struct named_line line = {.kind = NAMED_MARK};
	uint32_t name = dictionary_string(dict, frame_mark_text(MARK_TRUNCATED)), row[] = {name, 0, 0};
	uint32_t frame[] = {0, 0, frame_bits(&line, false)}, node[] = {0, 0, 0};

	if (name != UINT32_MAX)
		frame[0] = dictionary_id(dict, DICT_FUNCTIONS, row);
	if (name == UINT32_MAX || frame[0] == UINT32_MAX)
		return UINT32_MAX;
	node[1] = dictionary_id(dict, DICT_FRAMES, frame);
	return node[1] == UINT32_MAX ? UINT32_MAX : dictionary_id(dict, DICT_NODES, node);
}

/* What is deeper than a file may have loses its outer frames. */
static uint32_t add_stack(struct adding *a, const struct named_stack *st)
{
	uint32_t k = 0, n = 0, left = DICT_DEPTH_MAX - 1, node = 0;

	for (; k < st->n && (n = location_of(a, st, k)->n_lines) <= left; k++)
		left -= n;
	if (k < st->n)
		node = truncated_node(a);
	if (k < st->n && left && node != UINT32_MAX)
		node = add_location(a, location_of(a, st, k), left, node);
	while (k-- && node != UINT32_MAX)
		node = add_location(a, location_of(a, st, k), location_of(a, st, k)->n_lines, node);
	return node;
}

static uint32_t stack_node(struct adding *a, uint32_t stack)
{
	if (!a->nodes[stack])
		a->nodes[stack] = add_stack(a, &a->np->stacks[stack]);
	return a->nodes[stack];
}

/* "http-nio-8080-exec-12" -> "http-nio-#-exec-#": threads of a pool are counted together. */
static void pool_name(const char *thread, char *dst, size_t size)
{
	size_t n = 0;

	for (const char *p = thread; *p && n + 1 < size; p++)
		if (!isdigit((unsigned char)*p))
			dst[n++] = *p;
		else if (!n || dst[n - 1] != '#')
			dst[n++] = '#';
	dst[n] = '\0';
}

static uint32_t label_id(struct adding *a, const struct named_sample *s)
{
	char pool[256];
	uint32_t row[2];

	pool_name(named_string(a->np, s->thread), pool, sizeof(pool));
	row[0] = dictionary_string(a->day->dict, pool);
	row[1] = text_id(a, s->state);
	if (row[0] == UINT32_MAX || row[1] == UINT32_MAX)
		return UINT32_MAX;
	return dictionary_id(a->day->dict, DICT_LABELS, row);
}

static int count_samples(struct adding *a, struct bucket *b)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < a->np->n_samples; i++) {
		const struct named_sample *s = &a->np->samples[i];
		uint32_t node = stack_node(a, s->stack), label = label_id(a, s);

		r = node == UINT32_MAX || label == UINT32_MAX ? -ENOMEM :
								bucket_count(b, node, label, s->count, s->weight);
	}
	return r;
}

static void add_sums(const struct named_meta *m, struct bucket *b)
{
	b->sums[SUM_LOST] += m->lost;
	b->sums[SUM_COMPLETE] += m->complete;
	b->sums[SUM_RESYNCHRONISED] += m->resynchronised;
	b->sums[SUM_INCOMPLETE] += m->incomplete;
	b->sums[SUM_FROZEN] += m->frozen;
	b->sums[SUM_NO_RECORD] += m->no_record;
	for (int i = 0; i < 4; i++)
		b->sums[SUM_EXACTNESS + i] += m->exactness[i];
}

/* Times in a profile count from the start of sampling, those in the file from 1970. */
static int64_t since_epoch(uint64_t since_ns, uint32_t ms)
{
	return ms ? (int64_t)(since_ns / 1000000 + ms) : 0;
}

static int add_notes(struct adding *a, const struct store_target *t, int64_t target, struct err *err)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < a->np->n_functions; i++) {
		const struct named_compile *c = &a->np->functions[i].compile;
		int64_t why = text_id(a, c->why_interpreted), function;

		if (!c->why_interpreted && !c->c1_ms && !c->c2_ms && !c->not_entrant)
			continue;
		function = function_id(a, i);
		if (function == UINT32_MAX || why == UINT32_MAX)
			return err_set(err, -ENOMEM, "out of memory");
		r = day_step(a->day,
			     day_statement(a->day, DAY_NOTE,
					   (int64_t[]){target, function, why, since_epoch(t->since_ns, c->c1_ms),
						       since_epoch(t->since_ns, c->c2_ms), c->not_entrant},
					   6),
			     err);
	}
	return r;
}

static int64_t event_id(struct day *d, const struct named_meta *m)
{
	uint32_t row[] = {dictionary_string(d->dict, m->event), dictionary_string(d->dict, m->unit)};

	return row[0] == UINT32_MAX || row[1] == UINT32_MAX ? UINT32_MAX : dictionary_id(d->dict, DICT_EVENTS, row);
}

int day_add_profile(struct day *d, const struct store_target *t, int64_t at, const struct named_profile *np,
		    struct err *err)
{
	CLEANUP(bucket_done) struct bucket b = {0};
	CLEANUP(adding_done)
	struct adding a = {
		.day = d,
		.np = np,
		.functions = calloc((size_t)np->n_functions + 1, sizeof(uint32_t)),
		.mappings = calloc((size_t)np->n_mappings + 1, sizeof(uint32_t)),
		.nodes = calloc((size_t)np->n_stacks + 1, sizeof(uint32_t)),
	};
	int64_t target = 0, event = event_id(d, &np->meta);
	int r;

	if (!a.functions || !a.mappings || !a.nodes || event == UINT32_MAX)
		return err_set(err, -ENOMEM, "out of memory");
	r = day_target(d, t, &target, err);
	if (r == 0)
		r = day_get_bucket(d, at, target, event, &b, err);
	if (r < 0)
		return r;
	bucket_period(&b, np->meta.period);
	add_sums(&np->meta, &b);
	if (count_samples(&a, &b) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = day_put_bucket(d, at, target, event, &b, err);
	return r < 0 ? r : add_notes(&a, t, target, err);
}

int day_add_happening(struct day *d, const struct store_target *t, uint64_t at_ns, const char *kind, const char *text,
		      struct err *err)
{
	int64_t target = 0;
	int r = t ? day_target(d, t, &target, err) : 0;
	sqlite3_stmt *s;

	if (r < 0)
		return r;
	s = day_statement(d, DAY_ADD_HAPPENING, (int64_t[]){(int64_t)at_ns, target}, 2);
	if (!s || sqlite3_bind_text(s, 3, kind, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_bind_text(s, 4, text, -1, SQLITE_STATIC) != SQLITE_OK)
		return day_failed(d, err);
	return day_step(d, s, err);
}
