#include "symbolizer/hotspot/hotspot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/flags.h"
#include "symbolizer/hotspot/hs_private.h"
#include "symbolizer/hotspot/vmstructs.h"

enum { MEMORY_MAX = 256 << 20, FORGET_FIRST = 4 << 20 };

bool hs_get(struct hotspot *hs, uint64_t base, struct hs_field f, uint64_t *ret)
{
	uint64_t v = 0;

	if (!f.ok || f.width > 8 || !addr_ok(base + f.at) ||
		!mem_read(hs->mem, base + f.at, &v, f.width))
		return false;
	*ret = v;
	return true;
}

bool hs_read_fresh(struct hotspot *hs, uint64_t addr, void *dst, uint32_t len)
{
	struct mem_span s = {addr, dst, len, false};

	mem_read_batch(hs->mem, &s, 1);
	return s.ok;
}

bool memory_full(struct hotspot *hs)
{
	uint64_t bytes = hs->arena.bytes + hs->copies + strtab_bytes(hs->names);
	bool full = bytes > MEMORY_MAX || !budget_hold(hs->budget, &hs->taken, bytes);

	if (full && !hs->said_full)
		log_warn("copies of the JVM's code and methods take %" PRIu64 " MB, and there is no room for more: what is seen "
			 "for the first time from now on has no name",
			 bytes >> 20);
	hs->said_full |= full;
	return full;
}

void hs_note(struct hotspot *hs, const char *text)
{
	const char *copy = arena_strndup(&hs->arena, text, strlen(text));

	/* The NULL at the end is always there, and replaced. */
	if (copy && vec_push(&hs->notes, NULL))
		hs->notes.v[hs->notes.n - 2] = copy;
}

static void note_add(void *ctx, const char *text)
{
	hs_note(ctx, text);
}

static struct hotspot *hotspot_new(struct mem *mem)
{
	struct hotspot *hs = calloc(1, sizeof(*hs));

	if (!hs)
		return NULL;
	hs->mem = mem;
	hs->forget_at = FORGET_FIRST;
	hs->names = strtab_new();
	hs->pcs = calloc(PC_CACHE, sizeof(*hs->pcs));
	if (!hs->names || !hs->pcs || !vec_push(&hs->notes, NULL)) {
		hotspot_close(hs);
		return NULL;
	}
	/* Without randomness the maps still work. */
	if (getrandom(&hs->seed, sizeof(hs->seed), GRND_NONBLOCK) < 0)
		hs->seed = (uintptr_t)hs;
	hs->code_ids.seed = hs->method_ids.seed = hs->thread_ids.seed = hs->seed;
	hs->redefinitions.classes.seed = hs->seed;
	return hs;
}

struct hotspot *hotspot_of_heap(struct hotspot *hs, struct mem *mem)
{
	struct hotspot *own = hotspot_new(mem);

	if (!own)
		return NULL;
	heap_mode_read(hs); /* by its flags, which `own` need not read then */
	own->l = hs->l;
	own->version = hs->version;
	own->heap_mode = hs->heap_mode;
	own->cont_entry_offset = hs->cont_entry_offset;
	own->budget = hs->budget;
	return own;
}

static bool text_read(struct hotspot *hs, struct hs_field var, char *dst, size_t size)
{
	uint64_t at;

	dst[0] = 0;
	return hs_get(hs, 0, var, &at) && addr_ok(at) && mem_read_cstr(hs->mem, at, dst, size);
}

/* HotSpot 25.504-b01 is that of JDK 8u504, and 25.0 that of 8. */
static void jdk_fill(struct hs_version *v)
{
	unsigned update;

	if (v->major != 8 || sscanf(v->release, "25.%5u", &update) != 1)
		memcpy(v->jdk, v->release, sizeof(v->jdk));
	else if (update)
		snprintf(v->jdk, sizeof(v->jdk), "8u%u", update);
	else
		snprintf(v->jdk, sizeof(v->jdk), "8");
}

static int version_read(struct hotspot *hs, struct err *err)
{
	struct hs_version *v = &hs->version;
	uint64_t major = 0;

	if (!text_read(hs, hs->l.vm_release, v->release, sizeof(v->release)))
		return err_set(err, -EAGAIN, "the JVM is still starting (no version yet)");
	text_read(hs, hs->l.vm_info, v->vm_info, sizeof(v->vm_info));
	/* JDK 8 says 25 (of HotSpot 25); it has one code heap. */
	if (!hs->l.cache_heaps.ok)
		v->major = 8;
	else if (hs_get(hs, 0, hs->l.vm_major, &major) && major >= 9 && major < 1000)
		v->major = (int)major;
	else
		v->major = atoi(v->release);
	if (v->major < 8)
		return err_set(err, -ENOTSUP, "JVM version \"%.40s\" is not known", v->release);
	jdk_fill(v);
	return 0;
}

static int starting(struct err *err, const char *what)
{
	return err_set(err, -EAGAIN, "the JVM is still starting (no %s yet)", what);
}

static int code_open(struct hotspot *hs, const struct vmstructs *tables, hs_symbol_fn *symbol,
		     void *ctx, struct err *err)
{
	int r = heaps_read(hs);

	if (r == -ENOTSUP)
		return err_set(err, r, "the JVM's tables lack %s", hs->l.garray_len.ok
			? "GrowableArray<int>::_data" : "GrowableArrayBase::_len or GenericGrowableArray::_len");
	if (r)
		return starting(err, "code cache");
	if (interpreter_read(hs) < 0)
		return starting(err, "interpreter");
	if (!hs_get(hs, 0, hs->l.call_stub_return, &hs->call_stub_return) ||
		hs->call_stub_return == 0)
		return starting(err, "call stub");
	hs->blob_span = blob_span_wanted(&hs->l);
	arch_layout_init(hs);
	r = stub_names_resolve(hs, tables, symbol, ctx);
	return r ? err_set(err, r, "out of memory") : 0;
}

int hotspot_open(struct mem *mem, hs_symbol_fn *symbol, void *ctx, struct hotspot **ret,
		 struct err *err)
{
	struct hotspot *hs = hotspot_new(mem);
	struct vmstructs *tables = NULL;
	int r;

	if (!hs)
		return err_set(err, -ENOMEM, "out of memory");
	r = vmstructs_read(mem, symbol, ctx, &tables, err);
	if (r == 0)
		r = hs_layout_fill(tables, &hs->l, note_add, hs, err);
	if (r == 0)
		r = version_read(hs, err);
	if (r == 0)
		r = code_open(hs, tables, symbol, ctx, err);
	vmstructs_free(tables);
	if (r) {
		hotspot_close(hs);
		return r;
	}
	unloads_poll(hs);
	redefinitions_find(hs, symbol, ctx);
	vm_threads_find(hs, symbol, ctx);
	*ret = hs;
	return 0;
}

void hotspot_set_budget(struct hotspot *hs, struct budget *b)
{
	hs->budget = b;
}

void hotspot_close(struct hotspot *hs)
{
	if (!hs)
		return;
	budget_give(hs->budget, hs->taken);
	strtab_free(hs->names);
	arena_done(&hs->arena);
	arena_done(&hs->code_parts);
	arena_done(&hs->method_parts);
	entries_done(hs);
	arena_done(&hs->flag_arena);
	free(hs->flags);
	free(hs->pcs);
	free(hs->codelets);
	free(hs->stubs);
	vec_done(&hs->notes);
	vec_done(&hs->codes);
	vec_done(&hs->code_stamps);
	vec_done(&hs->live);
	vec_done(&hs->stub_vars);
	vec_done(&hs->methods);
	vec_done(&hs->method_stamps);
	vec_done(&hs->used_codes);
	vec_done(&hs->used_methods);
	vec_done(&hs->spans);
	vec_done(&hs->span_bytes);
	vec_done(&hs->threads);
	vec_done(&hs->thread_os);
	u64map_done(&hs->code_ids);
	u64map_done(&hs->method_ids);
	u64map_done(&hs->thread_ids);
	u64map_done(&hs->redefinitions.classes);
	free(hs);
}

const struct hs_version *hotspot_version(const struct hotspot *hs)
{
	return &hs->version;
}

const char *const *hotspot_notes(const struct hotspot *hs)
{
	return hs->notes.v;
}

struct hotspot_stats hotspot_stats(const struct hotspot *hs)
{
	struct hotspot_stats s = hs->stats;

	s.bytes = sizeof(*hs) + hs->arena.bytes + hs->copies + hs->flag_arena.bytes + strtab_bytes(hs->names) +
		PC_CACHE * sizeof(*hs->pcs) + hs->live.cap * sizeof(*hs->live.v) +
		(hs->code_ids.cap + hs->method_ids.cap) * sizeof(struct u64map_slot) +
		(hs->codes.cap + hs->methods.cap) * (sizeof(void *) + sizeof(uint32_t));
	return s;
}
