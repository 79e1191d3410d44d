#include "symbolizer/hotspot/methods/unloads.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/cursor.h"
#include "symbolizer/hotspot/objects/java_objects.h"

#include <stdlib.h>

/*
 * Were classes unloaded since a sample was taken? The memory of an unloaded class stays unchanged for a while, and its
 * symbols are freed one by one, so nothing there shows that the class is dead, or its memory reused. But the JVM keeps
 * a count: java.cls.unloadedClasses is incremented when a class is found dead, before any of it is freed
 * (InstanceKlass::unload_class(), JDK 8 to 25). It is one of jvmstat's counters (PerfMemory; format of JDK
 * src/hotspot/share/runtime/perfMemory.hpp, version 2.0). With -XX:-UsePerfData it does not exist.
 */
enum {
	PERF_BYTES_MAX = 4 << 20,
	PERF_ENTRIES_MAX = 1 << 14,
	PERF_PROLOGUE = 32,
	PERF_ENTRY = 20,
	/* A starting JVM has not created the counter yet. */
	FIND_TRIES = 100,
	LOOKS_MAX = 16, /* at loaders of classes: those that last come early */
};

#define FIND_EVERY_NS UINT64_C(100000000)
#define COUNTER "java.cls.unloadedClasses"

static bool name_is(struct bytes entry, uint32_t at, const char *name)
{
	size_t n = strlen(name) + 1;

	return at < entry.n && entry.n - at >= n && memcmp(entry.p + at, name, n) == 0;
}

/* The offset of the counter's value in the region; 0: not found. */
static uint64_t counter_offset(struct bytes all, uint64_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < PERF_ENTRIES_MAX && at < all.n; i++) {
		struct cursor c = cursor_make(all.p + at, all.n - at);
		uint32_t length = cursor_u32(&c), name = cursor_u32(&c), vector = cursor_u32(&c);
		uint8_t type = cursor_u8(&c);
		uint32_t data;

		cursor_take(&c, 3); /* flags, units, variability */
		data = cursor_u32(&c);
		if (c.bad || length < PERF_ENTRY || length > all.n - at)
			return 0;
		if (type == 'J' && !vector && data <= length - 8 &&
		    name_is((struct bytes){all.p + at, length}, name, COUNTER))
			return at + data;
		at += length;
	}
	return 0;
}

static uint64_t counter_find(struct jvm *jvm)
{
	uint8_t *region CLEANUP(free_at_exit) = NULL;
	uint8_t head[PERF_PROLOGUE] = {0};
	struct cursor c = cursor_make(head, sizeof(head));
	uint64_t start, offset;
	uint32_t used, entries_at, n;

	if (!jvm_get(jvm, 0, jvm->l.perf_start, &start) || !object_ok(start) ||
	    !jvm_read_fresh(jvm, start, head, sizeof(head)))
		return 0;
	cursor_take(&c, 4); /* magic, always big-endian */
	if (cursor_u8(&c) != 1 || cursor_u8(&c) != 2) /* little-endian, version 2 */
		return 0;
	cursor_take(&c, 2);
	used = cursor_u32(&c);
	cursor_take(&c, 12);
	entries_at = cursor_u32(&c);
	n = cursor_u32(&c);
	region = used >= PERF_PROLOGUE && used <= PERF_BYTES_MAX ? malloc(used) : NULL;
	if (!region || !jvm_read_fresh(jvm, start, region, used))
		return 0;
	offset = counter_offset((struct bytes){region, used}, entries_at, n);
	return offset ? start + offset : 0;
}

/*
 * The boot loader has no object, and neither do the data of some hidden classes, so it is known by its class Object, at
 * which the superclasses of every class end. The list of loaders does not lead to it safely: the JVM moves loaders that
 * die to another list.
 */
static bool boot_find(struct jvm *jvm, struct unloads *u, uint64_t klass)
{
	uint64_t object = klass_find_super(jvm, klass, "java/lang/Object"), cld;

	if (!object || !jvm_get(jvm, object, jvm->l.klass_cld, &cld) || !object_ok(cld))
		return false;
	u->lasting[u->n_lasting++] = cld;
	return true;
}

/* Loaders that have one object per JVM. */
static bool is_builtin(struct jvm *jvm, uint64_t klass)
{
	static const char *const names[] = {
		"jdk/internal/loader/ClassLoaders$AppClassLoader",
		"jdk/internal/loader/ClassLoaders$PlatformClassLoader",
		"sun/misc/Launcher$AppClassLoader", /* 8 */
		"sun/misc/Launcher$ExtClassLoader",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (klass_name_is(jvm, klass, names[i]))
			return true;
	return false;
}

static bool is_lasting(const struct unloads *u, uint64_t cld)
{
	for (size_t i = 0; i < u->n_lasting; i++)
		if (u->lasting[i] == cld)
			return true;
	return false;
}

/* A hidden class has data of its own, which name its loader, but die with it. */
bool unloads_never_affects(struct jvm *jvm, struct unloads *u, uint64_t klass)
{
	uint64_t cld, slot, loader, hidden;

	if (!jvm_get(jvm, klass, jvm->l.klass_cld, &cld) || !object_ok(cld) ||
	    (!u->n_lasting && !boot_find(jvm, u, klass)))
		return false;
	if (is_lasting(u, cld))
		return true;
	if (u->n_lasting == sizeof(u->lasting) / sizeof(u->lasting[0]) || !jvm->l.cld_hidden.ok ||
	    !jvm_get(jvm, cld, jvm->l.cld_hidden, &hidden) || hidden || !heap_mode_read(jvm) ||
	    !jvm_get(jvm, cld, jvm->l.cld_loader, &slot) || !oop_from_slot(jvm, slot, &loader) ||
	    !is_builtin(jvm, oop_klass(jvm, loader)))
		return false;
	u->lasting[u->n_lasting++] = cld;
	return true;
}

bool loader_lasts(struct jvm *jvm, struct unloads *u, uint64_t klass, uint64_t loader)
{
	if (!is_lasting(u, loader) && u->looks < LOOKS_MAX) {
		u->looks++;
		unloads_never_affects(jvm, u, klass);
	}
	return is_lasting(u, loader);
}

static void counter_try(struct jvm *jvm, struct unloads *u)
{
	uint64_t now = clock_monotonic_ns();

	if (u->tries >= FIND_TRIES || (u->tries && now - u->tried_ns < FIND_EVERY_NS))
		return;
	u->tries++;
	u->tried_ns = now;
	jvm_count_find(jvm, counter_find(jvm), &u->seen);
}

void unloads_poll(struct jvm *jvm, struct unloads *u)
{
	if (u->seen.counter)
		jvm_count_poll(jvm, &u->seen);
	else
		counter_try(jvm, u);
}

bool unloads_since_sample(struct jvm *jvm, struct unloads *u, uint64_t until_ns)
{
	if (!u->seen.counter && jvm->moment.walking && jvm->moment.sample_ns)
		counter_try(jvm, u);
	return jvm_count_moved(jvm, &u->seen, until_ns);
}
