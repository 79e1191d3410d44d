#include "sampler/store/stacks/recent.h"

uint32_t recent_get(const struct recent *r, uint64_t key)
{
	uint32_t value = u64map_get(&r->young, key);

	return value ? value : u64map_get(&r->old, key);
}

uint32_t recent_use(struct recent *r, uint64_t key)
{
	uint32_t value = u64map_get(&r->young, key);

	if (!value && (value = u64map_get(&r->old, key)))
		recent_put(r, key, value);
	return value;
}

static void age(struct recent *r)
{
	u64map_done(&r->old);
	r->old = r->young;
	r->young = (struct u64map){0};
}

void recent_put(struct recent *r, uint64_t key, uint32_t value)
{
	if (r->young.n >= r->max)
		age(r);
	(void)u64map_put(&r->young, key, value);
}

void recent_period(struct recent *r, int64_t period)
{
	if (period == r->period || period + 1 == r->period)
		return;
	if (r->period)
		age(r);
	r->period = period;
}

size_t recent_bytes(const struct recent *r)
{
	return (r->young.cap + r->old.cap) * sizeof(*r->young.slots);
}

void recent_done(struct recent *r)
{
	u64map_done(&r->young);
	u64map_done(&r->old);
}
