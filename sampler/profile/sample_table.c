#include "sampler/profile/sample_table.h"

#include "symbolizer/base/hash.h"

static uint64_t sample_hash(const struct profile_sample *s)
{
	uint64_t h = hash_u64((uint64_t)(uint32_t)s->pid << 32 | (uint32_t)s->tid);

	h = hash_mix(h, s->slice);
	return hash_mix(h, (uint64_t)s->stack << 8 | s->state);
}

static bool sample_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct sample_table *t = ctx;
	const struct profile_sample *a = wanted, *b = &t->list.v[position];

	return a->stack == b->stack && a->tid == b->tid && a->pid == b->pid && a->state == b->state &&
	       a->slice == b->slice;
}

struct profile_sample *sample_table_find(struct sample_table *t, const struct profile_sample *wanted)
{
	uint32_t i = slots_find(&t->slots, sample_hash(wanted), sample_is, t, wanted);

	return i != SLOTS_NONE ? &t->list.v[i] : NULL;
}

struct profile_sample *sample_table_add(struct sample_table *t, const struct profile_sample *s)
{
	return slots_push(&t->slots, sample_hash(s), &t->list, *s) ? &t->list.v[t->list.n - 1] : NULL;
}

void sample_table_fold(struct sample_table *t)
{
	size_t n = t->list.n;

	slots_done(&t->slots);
	t->list.n = 0;
	for (size_t i = 0; i < n; i++) {
		struct profile_sample s = t->list.v[i], *same;

		s.slice = s.slice / 2 + s.slice % 2;
		same = sample_table_find(t, &s);
		if (same) {
			same->count += s.count;
			same->weight += s.weight;
		} else if (!sample_table_add(t, &s)) {
			/* In place: writing never overtakes reading. */
			t->list.v[t->list.n++] = s;
		}
	}
}

void sample_table_close(struct sample_table *t)
{
	slots_done(&t->slots);
}

size_t sample_table_cost(const struct sample_table *t)
{
	size_t n = t->list.n == t->list.cap ? t->list.cap + 16 : 0;

	return n * sizeof(struct profile_sample) + slots_growth(&t->slots, 1);
}

size_t sample_table_bytes(const struct sample_table *t)
{
	return t->list.cap * sizeof(*t->list.v) + slots_bytes(&t->slots);
}

void sample_table_done(struct sample_table *t)
{
	vec_done(&t->list);
	slots_done(&t->slots);
}
