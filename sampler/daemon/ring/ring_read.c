#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/ring/ring_private.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/frame_bits.h"
#include "sampler/store/stacks/stacks_out.h"
#include "sampler/store/stacks/stacks_wanted.h"
#include "sampler/store/stacks/varint.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* What is requested of one segment, by the numbers of its dictionary. */
struct choice {
	uint8_t *labels; /* NULL: all */
	struct stacks_wanted stacks;
	uint32_t n_labels, n_nodes;
};

struct one_sample {
	uint64_t time_ns;
	uint32_t node, label;
	uint64_t count, weight;
};

struct reading {
	struct ring *ring;
	const struct ring_query *rq;
	int (*sample)(struct reading *rd, const struct one_sample *s);
	/* ring_heat() */
	uint64_t cell_ns;
	struct store_cell *cells;
	size_t n;
	/* ring_read() */
	struct named_builder *b;
	struct stacks_out out;
	const struct dictionary *dict; /* of the present segment */
	uint64_t samples, period; /* period: 0: various */
};

static void choice_done(struct choice *c)
{
	free(c->labels);
	stacks_wanted_done(&c->stacks);
}

/* --- what is wanted --- */

typedef int wants_fn(void *ctx, const char *name, struct err *err);

/* Texts of the segment's strings, which do not move: name 0 of each row. NULL: out of memory. */
static const char **names_of(const struct segment *s, enum dictionary_table t, uint32_t n)
{
	const char **names = calloc(n, sizeof(*names));

	for (uint32_t i = 0; names && i < n; i++)
		names[i] = strtab_get(s->dict->strings, dictionary_row(s->dict, t, i)[0]);
	return names;
}

static int ask(wants_fn *wants, void *ctx, const char *const *names, uint32_t first, uint32_t n, uint8_t *verdicts,
	       struct err *err)
{
	for (uint32_t i = first; i < n; i++) {
		int r = wants(ctx, names[i], err);

		if (r < 0)
			return r;
		verdicts[i] = (uint8_t)r;
	}
	return 0;
}

/* Matching an expression may take seconds, so the lock is released. The segment is pinned. */
static int judge(struct ring *r, const char *const *names, uint32_t first, uint32_t n, wants_fn *wants, void *ctx,
		 uint8_t *verdicts, struct err *err)
{
	int e;

	pthread_mutex_unlock(&r->lock);
	e = ask(wants, ctx, names, first, n, verdicts, err);
	pthread_mutex_lock(&r->lock);
	return e;
}

static int judge_labels(struct ring *r, const struct segment *s, const struct ring_query *rq, struct choice *c,
			struct err *err)
{
	CLEANUP(free_at_exit) const char **names = names_of(s, DICT_LABELS, c->n_labels);

	c->labels = calloc(c->n_labels, 1);
	if (!names || !c->labels)
		return err_set(err, -ENOMEM, "out of memory");
	return judge(r, names, 0, c->n_labels, rq->wants_thread, rq->ctx, c->labels, err);
}

static int judge_functions(struct ring *r, const struct segment *s, uint32_t n, const struct ring_query *rq,
			   struct choice *c, struct err *err)
{
	CLEANUP(free_at_exit) const char **names = names_of(s, DICT_FUNCTIONS, n);
	CLEANUP(free_at_exit) uint8_t *verdicts = calloc(n, 1);
	int e = names && verdicts ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (e == 0)
		e = judge(r, names, 1, n, rq->wants_function, rq->ctx, verdicts, err);
	for (uint32_t i = 1; e == 0 && i < n; i++)
		stacks_wanted_know(&c->stacks, i, verdicts[i]);
	return e;
}

/* The segment may grow meanwhile; the chunks that it has now refer only to names that it has now. */
static int choose(struct ring *r, const struct segment *s, const struct ring_query *rq, struct choice *c,
		  struct err *err)
{
	uint32_t n_functions = dictionary_count(s->dict, DICT_FUNCTIONS);
	int e = 0;

	c->n_labels = dictionary_count(s->dict, DICT_LABELS);
	c->n_nodes = dictionary_count(s->dict, DICT_NODES);
	c->stacks =
		(struct stacks_wanted){.dict = s->dict, .wants = rq->wants_function, .ctx = rq->ctx, .self = rq->self};
	if (rq->wants_function && stacks_wanted_begin(&c->stacks) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (rq->wants_thread)
		e = judge_labels(r, s, rq, c, err);
	if (e == 0 && rq->wants_function)
		e = judge_functions(r, s, n_functions, rq, c, err);
	return e;
}

/* 1, 0 or -errno. */
static int is_wanted(struct choice *c, const struct one_sample *s, struct err *err)
{
	if (c->labels && !c->labels[s->label])
		return 0;
	return c->stacks.wants ? stacks_wanted_node(&c->stacks, s->node, err) : 1;
}

/* --- samples --- */

static bool chunk_matches(const struct segment *s, const struct chunk *c, const struct store_query *q)
{
	const uint32_t *event = dictionary_row(s->dict, DICT_EVENTS, c->event);

	return c->first_ns < q->to_ns && c->last_ns >= q->from_ns &&
	       strcmp(strtab_get(s->dict->strings, event[0]), q->event) == 0 &&
	       store_query_takes(q, &s->targets.v[c->target]);
}

static int read_chunk(struct reading *rd, const struct segment *s, const struct chunk *c, struct choice *choice,
		      struct err *err)
{
	const struct store_query *q = rd->rq->q;
	struct cursor at = cursor_make(s->samples.data + c->at, c->len);
	uint64_t slice = 0;
	int r = 0;

	while (r == 0 && cursor_left(&at)) {
		struct one_sample one;
		uint64_t count;

		slice += varint_take(&at);
		one.time_ns = c->base_ns + (slice - 1) * c->slice_ns;
		one.node = varint_take_u32(&at, choice->n_nodes - 1);
		one.label = varint_take_u32(&at, choice->n_labels - 1);
		count = varint_take(&at);
		one.count = count >> 1;
		one.weight = count & 1 ? varint_take(&at) : one.count * c->unit;
		if (one.time_ns < q->from_ns || one.time_ns >= q->to_ns)
			continue;
		r = is_wanted(choice, &one, err);
		if (r > 0 && (r = rd->sample(rd, &one)) < 0)
			err_set(err, r, "out of memory");
	}
	return r;
}

/* What is requested, and where its stacks go. From here on, the lock is held until the segment is read. */
static int begin_reading(struct reading *rd, const struct segment *s, struct choice *c, struct err *err)
{
	int r = choose(rd->ring, s, rd->rq, c, err);

	if (r < 0 || !rd->b)
		return r;
	rd->dict = s->dict;
	r = stacks_out_begin(&rd->out, s->dict, rd->b);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int read_segment(struct reading *rd, const struct segment *s, struct err *err)
{
	CLEANUP(choice_done) struct choice choice = {0};
	size_t n = s->chunks.n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct chunk *c;

		if (!chunk_matches(s, &s->chunks.v[i], rd->rq->q))
			continue;
		if (!choice.n_nodes)
			r = begin_reading(rd, s, &choice, err);
		c = &s->chunks.v[i];
		if (r == 0 && rd->samples && rd->period != c->unit)
			rd->period = 0;
		else if (r == 0 && !rd->samples)
			rd->period = c->unit;
		if (r == 0)
			r = read_chunk(rd, s, c, &choice, err);
	}
	return r;
}

/*
 * The first segment from that number on, pinned, with the lock held; NULL: none. New ones may be added between two
 * calls.
 */
static struct segment *lock_segment(struct ring *r, uint64_t number)
{
	struct segment *s;

	pthread_mutex_lock(&r->lock);
	for (s = r->oldest; s && s->number < number; s = s->newer)
		;
	if (s)
		segment_pin(s);
	else
		pthread_mutex_unlock(&r->lock);
	return s;
}

static void unlock_segment(struct ring *r, struct segment *s)
{
	segment_unpin(s);
	pthread_mutex_unlock(&r->lock);
}

/* --- the heat map --- */

static int add_heat(struct reading *rd, const struct one_sample *s)
{
	uint64_t cell = (s->time_ns - rd->rq->q->from_ns) / rd->cell_ns;

	if (cell < rd->n) {
		rd->cells[cell].samples += s->count;
		rd->cells[cell].weight += s->weight;
	}
	return 0;
}

int ring_heat(struct ring *r, const struct ring_query *rq, uint64_t cell_ns, struct store_cell *cells, size_t n,
	      struct err *err)
{
	struct reading rd = {.ring = r, .rq = rq, .sample = add_heat, .cell_ns = cell_ns, .cells = cells, .n = n};
	struct segment *s;
	uint64_t number = 0;
	int e = 0;

	while (e == 0 && (s = lock_segment(r, number))) {
		number = s->number + 1;
		e = read_segment(&rd, s, err);
		unlock_segment(r, s);
	}
	return e;
}

/* --- a profile --- */

static int add_sample(struct reading *rd, const struct one_sample *s)
{
	const uint32_t *label = dictionary_row(rd->dict, DICT_LABELS, s->label);
	struct named_sample to = {.count = s->count, .weight = s->weight};

	to.stack = stacks_out_stack(&rd->out, s->node);
	to.thread = named_builder_string(rd->b, strtab_get(rd->dict->strings, label[0]));
	to.state = named_builder_string(rd->b, strtab_get(rd->dict->strings, label[1]));
	rd->samples += s->count;
	return named_builder_sample(rd->b, &to) == UINT32_MAX ? -ENOMEM : 0;
}

static int finish(struct reading *rd, struct named_profile **ret, struct err *err)
{
	const struct store_query *q = rd->rq->q;
	struct named_meta *m = named_builder_meta(rd->b);

	if (!rd->samples)
		return err_set(err, -ENODATA, "there are no samples of that time");
	m->event = named_builder_keep(rd->b, q->event);
	m->unit = named_builder_keep(rd->b, "nanoseconds");
	m->period = rd->period;
	m->start_realtime_ns = q->from_ns;
	m->duration_ns = q->to_ns - q->from_ns;
	*ret = named_builder_take(take_ptr(rd->b));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int check_begin(struct ring *r, const struct store_query *q, struct err *err)
{
	uint64_t since_ns = ring_state(r).since_ns;

	return q->from_ns >= since_ns ?
		       0 :
		       err_set(err, -ENODATA, "the memory of the last hour begins at %.3f, after `from`",
			       (double)since_ns / 1e9);
}

int ring_read(struct ring *r, const struct ring_query *rq, struct named_profile **ret, struct err *err)
{
	struct reading rd = {.ring = r, .rq = rq, .sample = add_sample, .b = named_builder_new()};
	uint64_t number = 0;
	struct segment *s;
	int e = rd.b ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (e == 0)
		e = check_begin(r, rq->q, err);
	while (e == 0 && (s = lock_segment(r, number))) {
		number = s->number + 1;
		rd.out = (struct stacks_out){0};
		e = read_segment(&rd, s, err);
		stacks_out_done(&rd.out);
		unlock_segment(r, s);
	}
	if (e == 0) /* its first segments may have been dropped meanwhile */
		e = check_begin(r, rq->q, err);
	if (e == 0)
		e = finish(&rd, ret, err);
	named_builder_free(rd.b);
	return e;
}
