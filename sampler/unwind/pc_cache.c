#include "sampler/unwind/pc_cache.h"

#include <stdlib.h>

#include "symbolizer/base/hash.h"

enum { ROWS = 2048, VERDICTS = 8192, CODES = 1024 };

struct verdict {
	uint64_t pc;
	uint32_t owner;
	uint8_t value;
};

struct code_fact {
	uint32_t id;
	uint8_t moves_sp;
};

struct pc_cache {
	struct code_fact code[CODES];
	struct pc_entry row[ROWS];
	struct verdict verdict[VERDICTS];
};

struct pc_cache *pc_cache_new(void)
{
	return calloc(1, sizeof(struct pc_cache));
}

void pc_cache_free(struct pc_cache *c)
{
	free(c);
}

struct pc_entry *pc_cache_get(struct pc_cache *c, uint64_t pc, uint32_t code_id, bool *hit)
{
	struct pc_entry *e = &c->row[hash_u64(pc) % ROWS];

	*hit = e->pc == pc && e->code_id == code_id;
	e->pc = pc;
	e->code_id = code_id;
	return e;
}

const struct pc_entry *pc_cache_find(const struct pc_cache *c, uint64_t pc, uint32_t code_id)
{
	const struct pc_entry *e = &c->row[hash_u64(pc) % ROWS];

	return e->pc == pc && e->code_id == code_id ? e : NULL;
}

uint8_t *pc_cache_verdict(struct pc_cache *c, uint64_t pc, uint32_t owner)
{
	struct verdict *v = &c->verdict[hash_u64(pc) % VERDICTS];

	if (v->pc != pc || v->owner != owner)
		*v = (struct verdict){pc, owner, 0};
	return &v->value;
}

uint8_t *pc_cache_moves_sp(struct pc_cache *c, uint32_t code_id)
{
	struct code_fact *f = &c->code[code_id % CODES];

	if (f->id != code_id)
		*f = (struct code_fact){code_id, 0};
	return &f->moves_sp;
}
