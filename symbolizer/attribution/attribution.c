#include "symbolizer/attribution/attribution.h"

#include <stdlib.h>

#include "symbolizer/attribution/address_rule.h"
#include "symbolizer/attribution/env.h"
#include "symbolizer/hotspot/hotspot.h"

struct attribution {
	struct attribution_env env;
};

static enum blob_role hotspot_role(void *ctx, uint64_t target)
{
	return hs_code_role(ctx, target);
}

static const struct hs_method *hotspot_method(void *ctx, uint32_t id)
{
	return hs_method(ctx, id);
}

struct attribution *attribution_new_env(const struct attribution_env *env)
{
	struct attribution *a = calloc(1, sizeof(*a));

	if (a)
		a->env = *env;
	return a;
}

struct attribution *attribution_new(struct hotspot *hs)
{
	struct attribution_env env = {
		.ctx = hs,
		.major = hotspot_version(hs)->major,
		.role = hotspot_role,
		.method = hotspot_method,
	};

	return attribution_new_env(&env);
}

void attribution_free(struct attribution *a)
{
	free(a);
}

void attribution_find(struct attribution *a, const struct code *code, int64_t pc_offset,
		      int return_address, struct attributed *ret)
{
	ret->n = 0;
	ret->exactness = EXACT;
	if (code->kind == BLOB_NATIVE || code->kind == BLOB_MH_INTRINSIC)
		root_scope(code, -1, ret);
	else if (code->kind == BLOB_NMETHOD)
		address_rule(code, a->env.major, pc_offset, return_address, ret);
}
