#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/hs_private.h"

bool jvm_count_find(struct hotspot *hs, uint64_t address, struct jvm_count *ret)
{
	ret->counter = address && hs_read_fresh(hs, address, &ret->count, sizeof(ret->count)) ? address : 0;
	return ret->counter;
}

void jvm_count_poll(struct hotspot *hs, struct jvm_count *c)
{
	uint64_t count;

	if (!c->counter || !hs_read_fresh(hs, c->counter, &count, sizeof(count)) || count == c->count)
		return;
	c->count = count;
	c->since_ns = clock_monotonic_ns();
}

bool jvm_count_moved(struct hotspot *hs, struct jvm_count *c)
{
	if (!hs->walking || !hs->sample_ns)
		return false;
	jvm_count_poll(hs, c);
	return hs->sample_ns < c->since_ns;
}
