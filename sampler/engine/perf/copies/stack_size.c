#include "sampler/engine/perf/copies/stack_size.h"

#include <string.h>

static const uint32_t sizes[] = {8192, 16384, 32768, 65528};

enum {
	N_SIZES = sizeof(sizes) / sizeof(sizes[0]),
	WINDOW = 1024, /* samples that count as recent */
	CUT_MIN = 2, /* one cut stack decides nothing */
	CUT_SHARE = 500, /* grow if more than 1 in 500 is cut, because the rest may be from another moment */
	CALM_SAMPLES = 1000,
	LOST_SAMPLES = 32, /* enough to shrink, if large copies leave no room for samples */
};
#define CALM_NS UINT64_C(1000000000)

const uint32_t *stack_size_all(size_t *n)
{
	*n = N_SIZES;
	return sizes;
}

static uint32_t larger(const struct stack_size *s)
{
	for (int i = 0; i < N_SIZES; i++)
		if (sizes[i] > s->now && sizes[i] <= s->max)
			return sizes[i];
	return 0;
}

/* The smallest size that holds stacks of `deepest` bytes with room to spare; 0: none below the present one does. */
static uint32_t smaller(const struct stack_size *s, uint64_t deepest)
{
	for (int i = 0; i < N_SIZES && sizes[i] < s->now; i++)
		if (deepest <= sizes[i] / 4 * 3)
			return sizes[i];
	return 0;
}

void stack_size_init(struct stack_size *s, uint32_t first, uint32_t max)
{
	memset(s, 0, sizeof(*s));
	s->max = max < sizes[N_SIZES - 1] ? max : sizes[N_SIZES - 1];
	/* A requested size does not shrink. */
	s->has_grown = first != 0;
	s->now = first ? first : sizes[N_SIZES - 1];
	if (s->now > s->max)
		s->now = s->max;
	s->now = s->now > 8 ? s->now & ~7u : 8; /* the kernel takes multiples of 8 */
}

static void start_over(struct stack_size *s, uint64_t now_ns)
{
	s->seen = s->cut = s->calm = 0;
	s->deepest = 0;
	s->since_ns = now_ns;
}

/* A target that once needed the larger size keeps it. */
static uint32_t end_of_calm(struct stack_size *s, uint64_t now_ns)
{
	uint32_t next = s->has_grown ? 0 : smaller(s, s->deepest);

	s->calm = 0;
	s->deepest = 0;
	s->since_ns = now_ns;
	return next;
}

uint32_t stack_size_note(struct stack_size *s, uint64_t used, bool cut, uint64_t now_ns)
{
	if (s->stays)
		return 0;
	if (!s->since_ns)
		s->since_ns = now_ns;
	if (s->seen == WINDOW) {
		s->seen /= 2;
		s->cut /= 2;
	}
	s->seen++;
	s->cut += cut;
	s->calm++;
	if (used > s->deepest)
		s->deepest = used;
	if (s->cut >= CUT_MIN && s->cut * CUT_SHARE > s->seen)
		return larger(s);
	if (s->calm < CALM_SAMPLES || now_ns - s->since_ns < CALM_NS)
		return 0;
	return end_of_calm(s, now_ns);
}

uint32_t stack_size_lost(const struct stack_size *s)
{
	if (s->stays || s->has_grown || s->calm < LOST_SAMPLES)
		return 0;
	return smaller(s, s->deepest);
}

void stack_size_changed(struct stack_size *s, uint32_t size, bool ok, uint64_t now_ns)
{
	start_over(s, now_ns);
	if (!ok) {
		s->stays = true;
		return;
	}
	if (size > s->now)
		s->has_grown = true;
	s->now = size;
}
