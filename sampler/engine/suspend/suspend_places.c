#include "sampler/engine/suspend/suspend_places.h"

#include <stddef.h>

#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"

static bool read_frame(struct mem *m, uint64_t fp, uint64_t ret[2])
{
	return mem_read_u64(m, fp, &ret[0]) && mem_read_u64(m, fp + sizeof(uint64_t), &ret[1]);
}

static const struct suspend_place *find(const struct suspend_places *p, const struct regs *r)
{
	const struct arch *a = arch_host();

	for (unsigned i = 0; i < SUSPEND_PLACES; i++)
		if (p->v[i].pc && p->v[i].pc == arch_pc(a, r) && p->v[i].sp == arch_sp(a, r))
			return &p->v[i];
	return NULL;
}

void suspend_places_keep(struct suspend_places *p, const struct regs *r, struct mem *m)
{
	const struct arch *a = arch_host();
	const struct suspend_place *old = find(p, r);
	struct suspend_place *to = &p->v[old ? (unsigned)(old - p->v) : p->next++ % SUSPEND_PLACES];
	uint64_t fp = r->r[a->fp];

	*to = (struct suspend_place){.pc = arch_pc(a, r), .sp = arch_sp(a, r)};
	if (fp >= to->sp && fp < a->user_limit && read_frame(m, fp, to->frame))
		to->fp = fp;
}

bool suspend_places_complete(const struct suspend_places *p, struct regs *r, struct mem *m)
{
	const struct suspend_place *at = find(p, r);
	uint64_t frame[2];

	if (!at || !at->fp)
		return at != NULL;
	if (!read_frame(m, at->fp, frame) || frame[0] != at->frame[0] || frame[1] != at->frame[1])
		return false;
	regs_set(r, arch_host()->fp, at->fp);
	return true;
}
