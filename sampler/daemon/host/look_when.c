#include "sampler/daemon/host/look_when.h"

#define SECOND_NS UINT64_C(1000000000)
#define UNTOLD_NS (32 * SECOND_NS)
#define TOLD_NS (256 * SECOND_NS)

static uint64_t delay(const struct look_when *l, bool told)
{
	return told || l->delay_ns < UNTOLD_NS ? l->delay_ns : UNTOLD_NS;
}

uint64_t look_when_next(const struct look_when *l, bool told)
{
	return l->looked_ns + delay(l, told);
}

uint64_t look_when_latest(const struct look_when *l, bool told)
{
	return look_when_next(l, told) + delay(l, told) / 4;
}

void look_when_done(struct look_when *l, uint64_t now_ns, bool told)
{
	if (now_ns >= look_when_next(l, told))
		l->delay_ns = !l->delay_ns ? SECOND_NS : l->delay_ns < TOLD_NS ? 2 * l->delay_ns : TOLD_NS;
	l->looked_ns = now_ns;
}
