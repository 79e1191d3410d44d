#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/objects/java_objects.h"
#include "symbolizer/hotspot/reader/unsigned5.h"

/*
 * Offsets of Java fields, which no table exports, are read from the class's own list of fields. Up to JDK 20 this is an
 * array with six u2 for each field (oops/fieldInfo.hpp), from 21 on a stream of UNSIGNED5 numbers.
 */
enum { STREAM_MAX = 64 << 10, SYMBOL_MAX = 256, SUPERS_MAX = 32, OFFSET_MAX = 1 << 20 };

struct klass {
	uint64_t addr, pool, pool_length;
};

static bool symbol_is(struct jvm *jvm, uint64_t symbol, const char *text)
{
	uint8_t buf[SYMBOL_MAX];
	size_t len;

	return symbol_read(jvm, symbol, buf, sizeof(buf), &len) && len == strlen(text) && memcmp(buf, text, len) == 0;
}

static bool pool_is(struct jvm *jvm, const struct klass *k, uint64_t index, const char *text)
{
	uint64_t symbol;

	return index && index < k->pool_length &&
	       mem_read_u64(jvm->mem, k->pool + jvm->l.size.constant_pool + 8 * index, &symbol) &&
	       symbol_is(jvm, symbol & ~UINT64_C(1), text);
}

bool klass_name_is(struct jvm *jvm, uint64_t klass, const char *name)
{
	uint64_t symbol;

	return jvm_get(jvm, klass, jvm->l.klass_name, &symbol) && symbol_is(jvm, symbol, name);
}

/* Reads an Array<u1> or Array<u2> of a class: the length, then the elements at offset 4. The caller frees it. */
static uint8_t *array_read(struct jvm *jvm, const struct klass *k, struct hs_field f, size_t element, size_t *ret_bytes)
{
	uint64_t array;
	uint32_t n;
	uint8_t *p;

	if (!jvm_get(jvm, k->addr, f, &array) || !object_ok(array) || !mem_read_u32(jvm->mem, array, &n) || n == 0 ||
	    n > STREAM_MAX / element)
		return NULL;
	*ret_bytes = n * element;
	p = malloc(*ret_bytes);
	if (p && jvm_read_fresh(jvm, array + 4, p, (uint32_t)*ret_bytes))
		return p;
	free(p);
	return NULL;
}

enum { SLOT_NAME = 1, SLOT_SIGNATURE = 2, SLOT_LOW = 4, SLOT_HIGH = 5, SLOTS = 6 };

static int32_t offset_from_array(struct jvm *jvm, const struct klass *k, const char *name, const char *sig)
{
	uint64_t count = 0;
	uint16_t f[SLOTS];
	size_t len = 0;
	uint8_t *p CLEANUP(free_at_exit) = array_read(jvm, k, jvm->l.klass_fields, 2, &len);

	if (!p)
		return -1;
	if (!jvm_get(jvm, k->addr, jvm->l.klass_fields_count, &count) || count > len / sizeof(f))
		count = len / sizeof(f);
	for (uint64_t i = 0; i < count; i++) {
		memcpy(f, p + i * sizeof(f), sizeof(f));
		if (pool_is(jvm, k, f[SLOT_NAME], name) && pool_is(jvm, k, f[SLOT_SIGNATURE], sig))
			return (int32_t)(((uint32_t)f[SLOT_HIGH] << 16 | f[SLOT_LOW]) >> 2);
	}
	return -1;
}

/* The flags that say which optional numbers follow; their bits moved in 28. */
struct field_flags {
	uint32_t initialized, generic, contended;
};

static uint32_t flag_bit(struct hs_constant c, uint32_t usual)
{
	return 1u << (c.ok && c.value >= 0 && c.value < 32 ? (uint32_t)c.value : usual);
}

static struct field_flags field_flags(const struct jvm *jvm)
{
	uint32_t up = jvm->version.major >= 28 ? 3 : 0;

	return (struct field_flags){
		.initialized = flag_bit(jvm->l.c.ff_initialized, 0 + up),
		.generic = flag_bit(jvm->l.c.ff_generic, 2 + up),
		.contended = flag_bit(jvm->l.c.ff_contended, 4 + up),
	};
}

/* The names of fields that the JVM adds to a class are in a list of its own (classfile/vmSymbols.hpp). */
static bool injected_is(struct jvm *jvm, uint64_t index, const char *text)
{
	uint64_t symbol;

	return jvm->l.vm_symbols.ok && mem_read_u64(jvm->mem, jvm->l.vm_symbols.at + 8 * index, &symbol) &&
	       symbol_is(jvm, symbol, text);
}

/* sig NULL: a field that the JVM added. */
static int32_t offset_from_stream(struct jvm *jvm, const struct klass *k, const char *name, const char *sig)
{
	struct field_flags ff = field_flags(jvm);
	uint32_t x = unsigned5_bias(jvm->version.major), own, added;
	size_t len = 0;
	uint8_t *p CLEANUP(free_at_exit) = array_read(jvm, k, jvm->l.klass_field_stream, 1, &len);
	struct cursor c;

	if (!p)
		return -1;
	c = cursor_make(p, len);
	own = unsigned5_read(&c, x);
	added = unsigned5_read(&c, x); /* they come last */
	for (uint64_t i = 0; i < (sig ? own : (uint64_t)own + added) && !c.bad; i++) {
		uint32_t name_index = unsigned5_read(&c, x), sig_index = unsigned5_read(&c, x);
		uint32_t offset = unsigned5_read(&c, x), flags;

		unsigned5_read(&c, x); /* access flags */
		flags = unsigned5_read(&c, x);
		if (flags & ff.initialized)
			unsigned5_read(&c, x);
		if (flags & ff.generic)
			unsigned5_read(&c, x);
		if (flags & ff.contended)
			unsigned5_read(&c, x);
		if (!c.bad && (sig ? pool_is(jvm, k, name_index, name) && pool_is(jvm, k, sig_index, sig) :
				     i >= own && injected_is(jvm, name_index, name)))
			return (int32_t)(offset & INT32_MAX);
	}
	return -1;
}

int32_t klass_injected_offset(struct jvm *jvm, uint64_t klass, const char *name)
{
	const struct klass k = {.addr = klass};
	int32_t offset = jvm->l.klass_field_stream.ok ? offset_from_stream(jvm, &k, name, NULL) : -1;

	return offset < OFFSET_MAX ? offset : -1;
}

int32_t klass_field_offset(struct jvm *jvm, uint64_t klass, const char *name, const char *sig)
{
	struct klass k = {.addr = klass};
	int32_t offset;

	if (!jvm_get(jvm, klass, jvm->l.klass_constants, &k.pool) || !object_ok(k.pool) ||
	    !jvm_get(jvm, k.pool, jvm->l.cp_length, &k.pool_length) || k.pool_length > 65535)
		return -1;
	offset = jvm->l.klass_field_stream.ok ? offset_from_stream(jvm, &k, name, sig) :
						offset_from_array(jvm, &k, name, sig);
	return offset < OFFSET_MAX ? offset : -1;
}

uint64_t klass_find_super(struct jvm *jvm, uint64_t klass, const char *name)
{
	for (int i = 0; i < SUPERS_MAX && object_ok(klass); i++) {
		if (klass_name_is(jvm, klass, name))
			return klass;
		if (!jvm_get(jvm, klass, jvm->l.klass_super, &klass))
			return 0;
	}
	return 0;
}
