#include "symbolizer/attribution/env_cache.h"

#include <stdlib.h>

#include "symbolizer/attribution/invokes.h"
#include "symbolizer/attribution/traits.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/hotspot/forget.h"

enum {
	ROLES = 1024, /* a power of two */
	CALLEES_MAX = 1 << 16,
	KEEP_DEPTH = 8, /* how deep callees of callees are kept */
};

/* Runtime stubs are never freed, so their roles never change. */
struct cached_role {
	uint64_t target;
	enum blob_role role;
};

struct env_cache {
	struct attribution_env asked; /* the functions behind the cache */
	struct attribution_env env; /* ctx is this struct */
	struct cached_role roles[ROLES];
	struct u64map callees; /* method id << 32 | bci -> method id; calls not resolved yet are missing */
};

static enum blob_role role_of(void *ctx, uint64_t target)
{
	struct env_cache *k = ctx;
	struct cached_role *r = &k->roles[hash_u64(target) & (ROLES - 1)];
	enum blob_role role;

	if (r->target == target && target)
		return r->role;
	role = k->asked.role(k->asked.ctx, target);
	if (role != ROLE_NONE)
		*r = (struct cached_role){.target = target, .role = role};
	return role;
}

static const struct hs_method *method_of(void *ctx, uint32_t id)
{
	struct env_cache *k = ctx;

	return k->asked.method(k->asked.ctx, id);
}

static uint32_t bytes_of(void *ctx, uint64_t addr, uint8_t *dst, uint32_t len)
{
	struct env_cache *k = ctx;

	return k->asked.bytes(k->asked.ctx, addr, dst, len);
}

static uint32_t callee_of(void *ctx, uint32_t method_id, int32_t bci)
{
	struct env_cache *k = ctx;
	uint64_t key = (uint64_t)method_id << 32 | (uint32_t)bci;
	uint32_t callee = u64map_get(&k->callees, key);

	if (callee)
		return callee;
	callee = k->asked.callee(k->asked.ctx, method_id, bci);
	if (callee && k->callees.n < CALLEES_MAX)
		u64map_put(&k->callees, key, callee);
	return callee;
}

static enum trap_kind trap_of(void *ctx, int32_t request)
{
	struct env_cache *k = ctx;

	return k->asked.trap(k->asked.ctx, request);
}

struct env_cache *env_cache_new(const struct attribution_env *env)
{
	struct env_cache *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->asked = *env;
	k->env = (struct attribution_env){
		.ctx = k,
		.major = env->major,
		.role = role_of,
		.method = env->method ? method_of : NULL,
		.bytes = env->bytes ? bytes_of : NULL,
		.callee = env->callee ? callee_of : NULL,
		.trap = env->trap ? trap_of : NULL,
		.traits = traits_memo_new(),
		.invokes = invokes_memo_new(),
	};
	if (!k->env.traits || !k->env.invokes) {
		env_cache_free(k);
		return NULL;
	}
	return k;
}

void env_cache_free(struct env_cache *k)
{
	if (!k)
		return;
	traits_memo_free(k->env.traits);
	invokes_memo_free(k->env.invokes);
	u64map_done(&k->callees);
	free(k);
}

/* Keeps the callees of methods that are kept. true: some of them were not kept before. */
static bool keep_callees(const struct env_cache *k, struct hotspot *hs)
{
	bool more = false;

	for (size_t i = 0; i < k->callees.cap; i++) {
		const struct u64map_slot *s = &k->callees.slots[i];

		if (s->key && hotspot_keeps_method(hs, (uint32_t)(s->key >> 32)))
			more |= hotspot_keep_method(hs, s->value);
	}
	return more;
}

void env_cache_keep(struct env_cache *k, struct hotspot *hs)
{
	struct u64map old = k->callees;

	for (int i = 0; i < KEEP_DEPTH && keep_callees(k, hs); i++)
		;
	k->callees = (struct u64map){0};
	u64map_reserve(&k->callees, old.n);
	for (size_t i = 0; i < old.cap; i++) {
		const struct u64map_slot *s = &old.slots[i];

		if (s->key && hotspot_keeps_method(hs, (uint32_t)(s->key >> 32)) && hotspot_keeps_method(hs, s->value))
			u64map_put(&k->callees, s->key, s->value);
	}
	u64map_done(&old);
}

const struct attribution_env *env_cache_env(const struct env_cache *k)
{
	return &k->env;
}
