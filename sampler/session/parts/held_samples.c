#include "sampler/session/parts/held_samples.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/raw_sample.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/vec.h"

/* Followed by what the pointers point to: kernel chain, stack, frozen frames. */
struct copy {
	struct raw_sample sample;
	uint64_t bytes[];
};

struct held_samples {
	VEC(struct copy *) copies;
	size_t taken; /* copies taken so far; all but the last one are freed */
	size_t bytes; /* of the copies that were not taken yet */
	struct budget *budget; /* borrowed; NULL: none */
	uint64_t reserved; /* bytes taken from the budget */
};

struct held_samples *held_samples_new(struct budget *b)
{
	struct held_samples *h = calloc(1, sizeof(*h));

	if (h)
		h->budget = b;
	return h;
}

void held_samples_free(struct held_samples *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->copies.n; i++)
		free(h->copies.v[i]);
	vec_done(&h->copies);
	budget_give(h->budget, h->reserved);
	free(h);
}

/* Not counting the struct raw_sample itself. */
static size_t size_of(const struct raw_sample *s)
{
	return s->n_kernel * sizeof(s->kernel[0]) + s->stack_len + s->frozen_len;
}

static const uint8_t *append(uint8_t **at, const void *src, size_t len)
{
	uint8_t *dst = *at;

	if (len)
		memcpy(dst, src, len);
	*at += len;
	return dst;
}

static struct copy *copy_of(const struct raw_sample *s)
{
	struct copy *c = malloc(sizeof(*c) + size_of(s));
	uint8_t *at;

	if (!c)
		return NULL;
	c->sample = *s;
	at = (uint8_t *)c->bytes;
	append(&at, s->kernel, s->n_kernel * sizeof(s->kernel[0]));
	c->sample.kernel = c->bytes;
	c->sample.stack = append(&at, s->stack, s->stack_len);
	c->sample.frozen = append(&at, s->frozen, s->frozen_len);
	return c;
}

bool held_samples_add(struct held_samples *h, const struct raw_sample *sample)
{
	size_t size = size_of(sample);
	struct copy *c;

	if (h->copies.n - h->taken >= HELD_MAX || size > HELD_BYTES - h->bytes ||
	    !budget_hold(h->budget, &h->reserved, h->bytes + size))
		return false;
	c = copy_of(sample);
	if (!c || !vec_push(&h->copies, c)) {
		free(c);
		return false;
	}
	h->bytes += size;
	return true;
}

const struct raw_sample *held_samples_next(struct held_samples *h)
{
	struct copy *c;

	if (h->taken)
		free(h->copies.v[h->taken - 1]);
	if (h->taken)
		h->copies.v[h->taken - 1] = NULL;
	if (h->taken == h->copies.n) {
		h->copies.n = h->taken = 0;
		return NULL;
	}
	c = h->copies.v[h->taken++];
	h->bytes -= size_of(&c->sample);
	budget_hold(h->budget, &h->reserved, h->bytes);
	return &c->sample;
}
