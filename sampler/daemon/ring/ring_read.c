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

/* What is wanted of one segment, by the numbers of its dictionary. */
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

static int judge_labels(const struct segment *s, const struct ring_query *rq, struct choice *c, struct err *err)
{
	int r;

	c->labels = calloc(c->n_labels, 1);
	if (!c->labels)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < c->n_labels; i++) {
		const uint32_t *row = dictionary_row(s->dict, DICT_LABELS, i);

		r = rq->wants_thread(rq->ctx, strtab_get(s->dict->strings, row[0]), err);
		if (r < 0)
			return r;
		c->labels[i] = (uint8_t)r;
	}
	return 0;
}

static int choose(const struct segment *s, const struct ring_query *rq, struct choice *c, struct err *err)
{
	c->n_labels = dictionary_count(s->dict, DICT_LABELS);
	c->n_nodes = dictionary_count(s->dict, DICT_NODES);
	c->stacks =
		(struct stacks_wanted){.dict = s->dict, .wants = rq->wants_function, .ctx = rq->ctx, .self = rq->self};
	if (rq->wants_function && stacks_wanted_begin(&c->stacks) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return rq->wants_thread ? judge_labels(s, rq, c, err) : 0;
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

static int read_segment(struct reading *rd, const struct segment *s, struct err *err)
{
	CLEANUP(choice_done) struct choice choice = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->chunks.n; i++) {
		const struct chunk *c = &s->chunks.v[i];

		if (!chunk_matches(s, c, rd->rq->q))
			continue;
		if (!choice.n_nodes)
			r = choose(s, rd->rq, &choice, err);
		if (r == 0 && rd->samples && rd->period != c->unit)
			rd->period = 0;
		else if (r == 0 && !rd->samples)
			rd->period = c->unit;
		if (r == 0)
			r = read_chunk(rd, s, c, &choice, err);
	}
	return r;
}

/* The first segment from that number on, locked; NULL: none. Others may add between two segments. */
static struct segment *lock_segment(struct ring *r, uint64_t number)
{
	struct segment *s;

	pthread_mutex_lock(&r->lock);
	for (s = r->oldest; s && s->number < number; s = s->newer)
		;
	if (!s)
		pthread_mutex_unlock(&r->lock);
	return s;
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
	struct reading rd = {.rq = rq, .sample = add_heat, .cell_ns = cell_ns, .cells = cells, .n = n};
	struct segment *s;
	uint64_t number = 0;
	int e = 0;

	while (e == 0 && (s = lock_segment(r, number))) {
		number = s->number + 1;
		e = read_segment(&rd, s, err);
		pthread_mutex_unlock(&r->lock);
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

static int name_segment(struct reading *rd, const struct segment *s, struct err *err)
{
	int r = stacks_out_begin(&rd->out, s->dict, rd->b);

	rd->dict = s->dict;
	r = r < 0 ? err_set(err, r, "out of memory") : read_segment(rd, s, err);
	stacks_out_done(&rd->out);
	return r;
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
	struct reading rd = {.rq = rq, .sample = add_sample, .b = named_builder_new()};
	uint64_t number = 0;
	struct segment *s;
	int e = rd.b ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (e == 0)
		e = check_begin(r, rq->q, err);
	while (e == 0 && (s = lock_segment(r, number))) {
		number = s->number + 1;
		e = name_segment(&rd, s, err);
		pthread_mutex_unlock(&r->lock);
	}
	if (e == 0) /* what it begins with may have been forgotten meanwhile */
		e = check_begin(r, rq->q, err);
	if (e == 0)
		e = finish(&rd, ret, err);
	named_builder_free(rd.b);
	return e;
}
