#include "symbolizer/hotspot/reader/jvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbolizer/base/err.h"

void jvm_init(struct jvm *jvm, struct mem *mem)
{
	jvm->mem = mem;
}

void jvm_done(struct jvm *jvm)
{
	arena_done(&jvm->arena);
	arena_done(&jvm->flag_arena);
	free(jvm->flags);
	vec_done(&jvm->notes);
}

void jvm_view(struct jvm *own, struct jvm *jvm, struct mem *mem)
{
	jvm_init(own, mem);
	heap_mode_read(jvm); /* so that `own` need not read flags */
	own->l = jvm->l;
	own->version = jvm->version;
	own->heap_mode = jvm->heap_mode;
}

bool jvm_get(struct jvm *jvm, uint64_t base, struct hs_field f, uint64_t *ret)
{
	uint64_t v = 0;

	if (!f.ok || f.width > 8 || !addr_ok(base + f.at) || !mem_read(jvm->mem, base + f.at, &v, f.width))
		return false;
	*ret = v;
	return true;
}

bool jvm_read_fresh(struct jvm *jvm, uint64_t addr, void *dst, uint32_t len)
{
	struct mem_span s = {addr, dst, len, false};

	mem_read_batch(jvm->mem, &s, 1);
	return s.ok;
}

void jvm_note(struct jvm *jvm, const char *text)
{
	const char *copy = arena_strndup(&jvm->arena, text, strlen(text));

	/* Replaces the NULL at the end. */
	if (copy && (jvm->notes.n || vec_push(&jvm->notes, NULL)) && vec_push(&jvm->notes, NULL))
		jvm->notes.v[jvm->notes.n - 2] = copy;
}

static void note_add(void *ctx, const char *text)
{
	jvm_note(ctx, text);
}

static bool text_read(struct jvm *jvm, struct hs_field var, char *dst, size_t size)
{
	uint64_t at;

	dst[0] = 0;
	return jvm_get(jvm, 0, var, &at) && addr_ok(at) && mem_read_cstr(jvm->mem, at, dst, size);
}

/* HotSpot 25.504-b01 belongs to JDK 8u504, and 25.0 to 8. */
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

static int version_read(struct jvm *jvm, struct err *err)
{
	struct hs_version *v = &jvm->version;
	uint64_t major = 0;

	if (!text_read(jvm, jvm->l.vm_release, v->release, sizeof(v->release)))
		return err_set(err, -EAGAIN, "the JVM is still starting (no version yet)");
	text_read(jvm, jvm->l.vm_info, v->vm_info, sizeof(v->vm_info));
	/* JDK 8 reports 25 (HotSpot 25), but is recognised by its single code heap. */
	if (!jvm->l.cache_heaps.ok)
		v->major = 8;
	else if (jvm_get(jvm, 0, jvm->l.vm_major, &major) && major >= 9 && major < 1000)
		v->major = (int)major;
	else
		v->major = atoi(v->release);
	if (v->major < 8)
		return err_set(err, -ENOTSUP, "unknown JVM version \"%.40s\"", v->release);
	jdk_fill(v);
	return 0;
}

int jvm_read(struct jvm *jvm, const struct vmstructs *tables, struct err *err)
{
	int r = hs_layout_fill(tables, &jvm->l, note_add, jvm, err);

	if (r == 0)
		r = version_read(jvm, err);
	if (r == 0)
		arch_layout_init(jvm);
	return r;
}
