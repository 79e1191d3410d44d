#include "symbolizer/attribution/invokes.h"

#include <stdlib.h>

#include "symbolizer/attribution/decode/bytecodes.h"
#include "symbolizer/base/vec.h"

enum { SLOTS = 512 };

struct method_invokes {
	uint32_t method_id; /* 0: none */
	bool ok;
	VEC(uint16_t) bcis;
};

struct invokes_memo {
	struct method_invokes slots[SLOTS];
};

struct invokes_memo *invokes_memo_new(void)
{
	return calloc(1, sizeof(struct invokes_memo));
}

void invokes_memo_free(struct invokes_memo *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < SLOTS; i++)
		vec_done(&m->slots[i].bcis);
	free(m);
}

static bool slot_fill(struct method_invokes *s, const struct hs_method *m, int major)
{
	struct bytecode b;
	int32_t bci = 0;

	s->bcis.n = 0;
	if (!m || !m->bytecodes)
		return false;
	for (; bytecode_at(m, major, bci, &b); bci += (int32_t)b.len)
		if ((b.kind == BYTECODE_INVOKE || b.kind == BYTECODE_INVOKEDYNAMIC) &&
		    !vec_push(&s->bcis, (uint16_t)bci))
			return false;
	return bci == m->code_size;
}

bool method_invokes(const struct attribution_env *env, uint32_t method_id, struct invokes *ret)
{
	struct method_invokes *s;

	if (!env->invokes || !env->method || !method_id)
		return false;
	s = &env->invokes->slots[method_id % SLOTS];
	if (s->method_id != method_id) {
		s->method_id = method_id;
		s->ok = slot_fill(s, env->method(env->ctx, method_id), env->major);
	}
	*ret = (struct invokes){s->bcis.v, (uint32_t)s->bcis.n};
	return s->ok;
}
