#include "sampler/daemon/ring/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/ring/ring_private.h"
#include "sampler/store/day/target_id.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/stacks_in.h"
#include "sampler/store/stacks/varint.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"

struct ring *ring_new(uint64_t max_bytes, uint64_t now_ns)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	r->max_bytes = max_bytes;
	r->since_ns = now_ns;
	return r;
}

static void segment_free(struct segment *s)
{
	dictionary_free(s->dict);
	arena_done(&s->texts);
	vec_done(&s->targets);
	vec_done(&s->chunks);
	buf_done(&s->samples);
	free(s);
}

void segment_pin(struct segment *s)
{
	s->pins++;
}

void segment_unpin(struct segment *s)
{
	if (!--s->pins && s->forgotten)
		segment_free(s);
}

static size_t segment_bytes(const struct segment *s)
{
	return sizeof(*s) + dictionary_bytes(s->dict) + s->texts.bytes + s->targets.cap * sizeof(*s->targets.v) +
	       s->chunks.cap * sizeof(*s->chunks.v) + s->samples.cap;
}

static size_t ring_bytes(const struct ring *r)
{
	size_t n = 0;

	for (const struct segment *s = r->oldest; s; s = s->newer)
		n += segment_bytes(s);
	return n;
}

/* When the last segment is dropped, the ring begins where it ends: now. */
static void forget_oldest(struct ring *r, uint64_t now_ns)
{
	struct segment *s = r->oldest;

	r->oldest = s->newer;
	if (!r->oldest) {
		r->newest = NULL;
		r->since_ns = now_ns;
	}
	s->forgotten = true;
	if (!s->pins)
		segment_free(s);
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	while (r->oldest)
		forget_oldest(r, 0);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void ring_limit(struct ring *r, uint64_t max_bytes)
{
	pthread_mutex_lock(&r->lock);
	r->max_bytes = max_bytes;
	pthread_mutex_unlock(&r->lock);
}

struct ring_state ring_state(struct ring *r)
{
	struct ring_state s;

	pthread_mutex_lock(&r->lock);
	s = (struct ring_state){.bytes = ring_bytes(r), .since_ns = r->oldest ? r->oldest->since_ns : r->since_ns};
	pthread_mutex_unlock(&r->lock);
	return s;
}

/* --- segments --- */

static struct segment *begin_segment(struct ring *r, uint64_t now_ns, uint64_t mono_ns)
{
	struct segment *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->dict = dictionary_new();
	if (!s->dict) {
		free(s);
		return NULL;
	}
	s->number = r->next_number++;
	s->since_ns = r->newest ? now_ns : r->since_ns;
	s->mono_ns = mono_ns;
	if (r->newest) {
		dictionary_rest(r->newest->dict);
		r->newest->newer = s;
	} else {
		r->oldest = s;
	}
	r->newest = s;
	return s;
}

static struct segment *present_segment(struct ring *r, uint64_t now_ns, uint64_t mono_ns)
{
	struct segment *s = r->newest;

	if (s && mono_ns - s->mono_ns < RING_NS / RING_SEGMENTS && segment_bytes(s) < r->max_bytes / RING_SEGMENTS)
		return s;
	return begin_segment(r, now_ns, mono_ns);
}

static void forget(struct ring *r, uint64_t now_ns, uint64_t mono_ns)
{
	size_t bytes = ring_bytes(r);

	while (r->oldest && (bytes > r->max_bytes || mono_ns - r->oldest->last_mono_ns > RING_NS)) {
		bytes -= segment_bytes(r->oldest);
		forget_oldest(r, now_ns);
	}
}

/* --- adding --- */

static int copy_target(struct segment *s, const struct store_target *t)
{
	struct label *labels = arena_alloc(&s->texts, (t->n_labels + 1) * sizeof(*labels));
	struct store_target own = *t;

	own.boot_id = arena_strndup(&s->texts, t->boot_id, strlen(t->boot_id));
	if (!labels || !own.boot_id)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_labels; i++) {
		labels[i].key = arena_strndup(&s->texts, t->labels[i].key, strlen(t->labels[i].key));
		labels[i].value = arena_strndup(&s->texts, t->labels[i].value, strlen(t->labels[i].value));
		if (!labels[i].key || !labels[i].value)
			return -ENOMEM;
	}
	own.labels = labels;
	return vec_push(&s->targets, own) ? 0 : -ENOMEM;
}

static int find_target(struct segment *s, const struct store_target *t, uint32_t *ret)
{
	for (size_t i = 0; i < s->targets.n; i++) {
		if (target_id_is_same(&s->targets.v[i], t)) {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	*ret = (uint32_t)s->targets.n;
	return copy_target(s, t);
}

static int by_slice(const void *a, const void *b)
{
	const struct named_sample *x = a, *y = b;

	return ascending(x->slice, y->slice);
}

/* A copy, by time. NULL: out of memory. */
static struct named_sample *sorted(const struct named_profile *np, uint64_t base_ns)
{
	struct named_sample *v = malloc((np->n_samples + 1) * sizeof(*v));
	uint64_t end_ns = np->meta.start_realtime_ns + np->meta.duration_ns,
		 last = end_ns > base_ns ? (end_ns - base_ns) / np->meta.slice_ns + 1 : 1;

	if (!v)
		return NULL;
	memcpy(v, np->samples, np->n_samples * sizeof(*v));
	for (uint32_t i = 0; i < np->n_samples; i++)
		if (!v[i].slice)
			v[i].slice = last < UINT32_MAX ? (uint32_t)last : UINT32_MAX;
	qsort(v, np->n_samples, sizeof(*v), by_slice);
	return v;
}

static uint32_t label_id(struct stacks_in *in, const struct named_sample *s)
{
	uint32_t row[] = {stacks_in_text(in, s->thread), stacks_in_text(in, s->state)};

	return row[0] == UINT32_MAX || row[1] == UINT32_MAX ? UINT32_MAX : dictionary_id(in->dict, DICT_LABELS, row);
}

static int add_samples(struct segment *s, struct stacks_in *in, const struct named_sample *v, const struct chunk *c)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < in->np->n_samples; i++) {
		uint32_t node = stacks_in_node(in, v[i].stack), label = label_id(in, &v[i]);
		bool odd = v[i].weight != v[i].count * c->unit;

		if (node == UINT32_MAX || label == UINT32_MAX)
			return -ENOMEM;
		varint_add(&s->samples, v[i].slice - before);
		varint_add(&s->samples, node);
		varint_add(&s->samples, label);
		varint_add(&s->samples, v[i].count << 1 | odd);
		if (odd)
			varint_add(&s->samples, v[i].weight);
		before = v[i].slice;
	}
	return s->samples.failed ? -ENOMEM : 0;
}

static int add_chunk(struct segment *s, const struct store_target *t, const struct named_profile *np, uint64_t base_ns)
{
	CLEANUP(free_at_exit) struct named_sample *v = sorted(np, base_ns);
	CLEANUP(stacks_in_done) struct stacks_in in = {0};
	struct chunk c = {
		.slice_ns = np->meta.slice_ns, .base_ns = base_ns, .unit = np->meta.period, .at = s->samples.len};
	int r = v ? stacks_in_begin(&in, s->dict, np) : -ENOMEM;

	if (r == 0)
		r = find_target(s, t, &c.target);
	if (r < 0)
		return r;
	c.event = stacks_in_event(&in);
	c.first_ns = base_ns + (v[0].slice - 1) * c.slice_ns;
	c.last_ns = base_ns + (v[np->n_samples - 1].slice - 1) * c.slice_ns;
	r = c.event == UINT32_MAX ? -ENOMEM : add_samples(s, &in, v, &c);
	c.len = s->samples.len - c.at;
	if (r == 0 && !vec_push(&s->chunks, c))
		r = -ENOMEM;
	return r;
}

int ring_add(struct ring *r, const struct store_target *t, const struct named_profile *np, uint64_t base_ns,
	     uint64_t now_ns, uint64_t mono_ns)
{
	struct segment *s;
	int e = -ENOMEM;

	if (!np->n_samples || !np->meta.slice_ns)
		return 0;
	pthread_mutex_lock(&r->lock);
	s = present_segment(r, now_ns, mono_ns);
	if (s) {
		s->last_mono_ns = mono_ns;
		e = add_chunk(s, t, np, base_ns);
	}
	forget(r, now_ns, mono_ns);
	pthread_mutex_unlock(&r->lock);
	return e;
}
