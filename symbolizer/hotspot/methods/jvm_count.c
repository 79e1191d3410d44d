#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/methods/unloads.h"
#include "symbolizer/hotspot/reader/jvm.h"

void jvm_count_find(struct jvm *jvm, uint64_t address, struct jvm_count *ret)
{
	ret->counter = address && jvm_read_fresh(jvm, address, &ret->count, sizeof(ret->count)) ? address : 0;
}

void jvm_count_poll(struct jvm *jvm, struct jvm_count *c)
{
	uint64_t count, now = clock_monotonic_ns();

	if (!c->counter || !jvm_read_fresh(jvm, c->counter, &count, sizeof(count)))
		return;
	c->polled_ns = now;
	if (count == c->count)
		return;
	c->count = count;
	c->since_ns = clock_monotonic_ns();
}

bool jvm_count_moved(struct jvm *jvm, struct jvm_count *c, uint64_t until_ns)
{
	if (!jvm->moment.walking || !jvm->moment.sample_ns)
		return false;
	if (c->polled_ns < until_ns)
		jvm_count_poll(jvm, c);
	return jvm->moment.sample_ns < c->since_ns;
}
