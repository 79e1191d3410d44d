#include "sampler/engine/perf/stack_end.h"

#include <stdbool.h>
#include <string.h>

/*
 * glibc keeps a thread's control block at the upper end of its stack, aligned to 64 bytes, with its
 * own address in words 0 and 2 (tcbhead_t in sysdeps/x86_64/nptl/tls.h).
 */
enum {
	ALIGN = 64,
	HEAD = 24, /* bytes */
};

static bool is_block(uint64_t at, const uint8_t *bytes)
{
	uint64_t words[HEAD / 8];

	memcpy(words, bytes, sizeof(words));
	return words[0] == at && words[2] == at;
}

static uint64_t search(uint64_t addr, const uint8_t *bytes, size_t len)
{
	for (size_t i = -addr & (ALIGN - 1); i + HEAD <= len; i += ALIGN)
		if (is_block(addr + i, bytes + i))
			return addr + i;
	return 0;
}

static bool is_known(const struct stack_end *t, uint64_t addr, const uint8_t *bytes, size_t len)
{
	uint64_t off = t->block - addr;

	return t->block >= addr && len >= HEAD && off <= len - HEAD && is_block(t->block, bytes + off);
}

size_t stack_end_find(struct stack_ends *e, pid_t tid, uint64_t addr, const uint8_t *bytes,
		      size_t len)
{
	struct stack_end *t = &e->threads[(unsigned)tid % STACK_END_THREADS];

	if (t->tid != tid || !is_known(t, addr, bytes, len))
		*t = (struct stack_end){tid, search(addr, bytes, len)};
	return t->block ? t->block - addr + HEAD : 0;
}
