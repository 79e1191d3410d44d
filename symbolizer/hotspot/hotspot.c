#include "symbolizer/hotspot/hotspot.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/methods/method_table.h"
#include "symbolizer/hotspot/objects/java_objects.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/vmstructs.h"
#include "symbolizer/hotspot/threads/thread_list.h"
#include "symbolizer/hotspot/walk_check.h"

enum { FORGET_FIRST = 4 << 20 };

struct whole {
	struct hotspot hs; /* must be the first member */
	struct jvm jvm;
	struct java_objects objects;
	struct thread_list threads;
	struct copies copies;
	struct method_table methods;
	struct code_cache cache;
	struct walk_check check;
};

/* NULL: out of memory. */
static struct hotspot *hotspot_new(struct mem *mem)
{
	struct whole *w = calloc(1, sizeof(*w));
	struct jvm *jvm;

	if (!w)
		return NULL;
	jvm = &w->jvm;
	jvm_init(jvm, mem);
	w->objects.jvm = w->threads.jvm = w->copies.jvm = w->methods.jvm = w->cache.jvm = jvm;
	w->threads.objects = &w->objects;
	w->methods.methods.copies = w->cache.codes.copies = &w->copies;
	w->cache.methods = &w->methods;
	w->copies.forget_at = FORGET_FIRST;
	w->copies.names = strtab_new();
	w->hs = (struct hotspot){jvm, &w->objects, &w->threads, &w->copies, &w->methods, &w->cache, &w->check};
	if (w->copies.names)
		return &w->hs;
	free(w);
	return NULL;
}

static int no_thread_yet(struct err *err)
{
	return err_set(err, -EAGAIN, "the JVM is still starting (no thread yet)");
}

int hotspot_open(struct mem *mem, hs_symbol_fn *symbol, void *ctx, struct hotspot **ret, struct err *err)
{
	struct vmstructs *tables = NULL;
	struct hotspot *hs;
	int r;

	if (*ret && !threads_begun((*ret)->jvm))
		return no_thread_yet(err);
	/* Its tables may have been read while the JVM was filling them in. */
	hotspot_close(*ret);
	*ret = NULL;
	hs = hotspot_new(mem);
	if (!hs)
		return err_set(err, -ENOMEM, "out of memory");
	r = vmstructs_read(mem, symbol, ctx, &tables, err);
	if (r == 0)
		r = jvm_read(hs->jvm, tables, err);
	if (r == 0 && !threads_begun(hs->jvm)) {
		vmstructs_free(tables);
		*ret = hs;
		return no_thread_yet(err);
	}
	if (r == 0)
		r = code_cache_open(hs->cache, tables, symbol, ctx, err);
	vmstructs_free(tables);
	if (r) {
		hotspot_close(hs);
		return r;
	}
	unloads_poll(hs->jvm, &hs->methods->unloads);
	redefinitions_find(hs->jvm, &hs->methods->redefinitions, symbol, ctx);
	vm_threads_find(hs->threads, symbol, ctx);
	*ret = hs;
	return 0;
}

void hotspot_set_budget(struct hotspot *hs, struct budget *b)
{
	hs->copies->budget = b;
}

void hotspot_close(struct hotspot *hs)
{
	struct whole *w = (struct whole *)hs;

	if (!w)
		return;
	code_cache_done(&w->cache);
	method_table_done(&w->methods);
	budget_give(w->copies.budget, w->copies.taken);
	strtab_free(w->copies.names);
	thread_list_done(&w->threads);
	vec_done(&w->check.spans);
	vec_done(&w->check.bytes);
	jvm_done(&w->jvm);
	free(w);
}

const struct hs_version *hotspot_version(const struct hotspot *hs)
{
	return &hs->jvm->version;
}

const char *const *hotspot_notes(const struct hotspot *hs)
{
	static const char *const none[] = {NULL};

	return hs->jvm->notes.n ? hs->jvm->notes.v : none;
}

int hotspot_flag(struct hotspot *hs, const char *name, uint64_t *ret, int *ret_origin)
{
	return jvm_flag(hs->jvm, name, ret, ret_origin);
}

bool hotspot_property(struct hotspot *hs, const char *key, char *dst, size_t size)
{
	return jvm_property(hs->jvm, key, dst, size);
}

bool hotspot_command(struct hotspot *hs, char *dst, size_t size)
{
	return jvm_command(hs->jvm, dst, size);
}

static uint64_t bytes_held(const struct hotspot *hs)
{
	const struct code_cache *c = hs->cache;
	const struct method_table *m = hs->methods;

	return sizeof(struct whole) + copies_bytes(hs->copies) + hs->jvm->flag_arena.bytes +
	       c->live.cap * sizeof(*c->live.v) + interned_bytes(&c->codes) + interned_bytes(&m->methods);
}

struct hotspot_stats hotspot_stats(const struct hotspot *hs)
{
	const struct code_cache *c = hs->cache;
	const struct method_table *m = hs->methods;

	return (struct hotspot_stats){
		.codes = c->codes.added,
		.methods = m->methods.added,
		.lookups = c->lookups,
		.remote_lookups = c->remote_lookups,
		.replaced = c->codes.replaced + m->methods.replaced,
		.bad_blobs = c->bad,
		.bad_methods = m->bad,
		.forgotten_codes = c->codes.forgotten,
		.forgotten_methods = m->methods.forgotten,
		.bytes = bytes_held(hs),
	};
}
