#include "sampler/unwind/pc_cache.h"

#include <stdlib.h>

#include "symbolizer/base/hash.h"

enum { ROWS = 2048, VERDICTS = 8192, CODES = 1024 };

struct verdict {
	uint64_t pc;
	uint32_t owner, jvm;
	uint8_t value;
};

struct code_fact {
	uint32_t id, jvm;
	uint8_t moves_sp;
};

struct pc_cache {
	uint32_t jvm, joined;
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

uint32_t pc_cache_join(struct pc_cache *c)
{
	return ++c->joined;
}

void pc_cache_use(struct pc_cache *c, uint32_t jvm)
{
	c->jvm = jvm;
}

static uint64_t hash_of(const struct pc_cache *c, uint64_t key)
{
	return hash_u64(key ^ (uint64_t)c->jvm << 48);
}

struct pc_entry *pc_cache_get(struct pc_cache *c, uint64_t pc, uint32_t code_id, bool *hit)
{
	struct pc_entry *e = &c->row[hash_of(c, pc) % ROWS];

	*hit = e->pc == pc && e->code_id == code_id && e->jvm == c->jvm;
	e->pc = pc;
	e->code_id = code_id;
	e->jvm = c->jvm;
	return e;
}

const struct pc_entry *pc_cache_find(const struct pc_cache *c, uint64_t pc, uint32_t code_id)
{
	const struct pc_entry *e = &c->row[hash_of(c, pc) % ROWS];

	return e->pc == pc && e->code_id == code_id && e->jvm == c->jvm ? e : NULL;
}

uint8_t *pc_cache_verdict(struct pc_cache *c, uint64_t pc, uint32_t owner)
{
	struct verdict *v = &c->verdict[hash_of(c, pc) % VERDICTS];

	if (v->pc != pc || v->owner != owner || v->jvm != c->jvm)
		*v = (struct verdict){pc, owner, c->jvm, 0};
	return &v->value;
}

uint8_t *pc_cache_moves_sp(struct pc_cache *c, uint32_t code_id)
{
	struct code_fact *f = &c->code[hash_of(c, code_id) % CODES];

	if (f->id != code_id || f->jvm != c->jvm)
		*f = (struct code_fact){code_id, c->jvm, 0};
	return &f->moves_sp;
}
