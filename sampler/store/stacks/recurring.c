#include "sampler/store/stacks/recurring.h"

void recurring_limit(struct recurring *r, size_t max)
{
	r->once.max = r->lasting.max = max;
}

void recurring_period(struct recurring *r, int64_t once, int64_t lasting)
{
	recent_period(&r->once, once);
	recent_period(&r->lasting, lasting);
}

/* What was added in an earlier period recurs. A second time in the same one does not count. */
static uint32_t seen_once(struct recurring *r, uint64_t key)
{
	uint32_t value = u64map_get(&r->once.young, key);

	if (!value && (value = u64map_get(&r->once.old, key)))
		recent_put(&r->lasting, key, value);
	return value;
}

uint32_t recurring_get(struct recurring *r, uint64_t key)
{
	uint32_t value = recent_get(&r->lasting, key);

	return value ? value : seen_once(r, key);
}

uint32_t recurring_use(struct recurring *r, uint64_t key)
{
	uint32_t value = recent_use(&r->lasting, key);

	return value ? value : seen_once(r, key);
}

void recurring_put(struct recurring *r, uint64_t key, uint32_t value)
{
	recent_put(&r->once, key, value);
}

size_t recurring_bytes(const struct recurring *r)
{
	return recent_bytes(&r->once) + recent_bytes(&r->lasting);
}

void recurring_done(struct recurring *r)
{
	recent_done(&r->once);
	recent_done(&r->lasting);
}
