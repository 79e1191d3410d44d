#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/vmstructs.h"

/*
 * Stubs in the StubRoutines blobs have no records of their own. Their entry points are in static variables
 * StubRoutines::_x. The tables export some of these (8 to 21); others are found by symbol if libjvm has a .symtab. A pc
 * belongs to the nearest entry at or below it.
 */
static const struct stub_field {
	const char *name;
	uint16_t count; /* length of the array */
	bool x86; /* a member of StubRoutines::x86 */
	/* clang-format off */
} fields[] = {
	/* The first alias in this list is the one shown. */
	{"call_stub_entry", 1, 0}, {"forward_exception_entry", 1, 0}, {"catch_exception_entry", 1, 0},
	{"call_stub_return_address", 1, 0},
	{"jbyte_disjoint_arraycopy", 1, 0}, {"jshort_disjoint_arraycopy", 1, 0},
	{"jint_disjoint_arraycopy", 1, 0}, {"jlong_disjoint_arraycopy", 1, 0},
	{"oop_disjoint_arraycopy", 1, 0}, {"oop_disjoint_arraycopy_uninit", 1, 0},
	{"jbyte_arraycopy", 1, 0}, {"jshort_arraycopy", 1, 0}, {"jint_arraycopy", 1, 0},
	{"jlong_arraycopy", 1, 0}, {"oop_arraycopy", 1, 0}, {"oop_arraycopy_uninit", 1, 0},
	{"arrayof_jbyte_disjoint_arraycopy", 1, 0}, {"arrayof_jshort_disjoint_arraycopy", 1, 0},
	{"arrayof_jint_disjoint_arraycopy", 1, 0}, {"arrayof_jlong_disjoint_arraycopy", 1, 0},
	{"arrayof_oop_disjoint_arraycopy", 1, 0}, {"arrayof_oop_disjoint_arraycopy_uninit", 1, 0},
	{"arrayof_jbyte_arraycopy", 1, 0}, {"arrayof_jshort_arraycopy", 1, 0},
	{"arrayof_jint_arraycopy", 1, 0}, {"arrayof_jlong_arraycopy", 1, 0},
	{"arrayof_oop_arraycopy", 1, 0}, {"arrayof_oop_arraycopy_uninit", 1, 0},
	{"checkcast_arraycopy", 1, 0}, {"checkcast_arraycopy_uninit", 1, 0},
	{"unsafe_arraycopy", 1, 0}, {"generic_arraycopy", 1, 0}, {"unsafe_setmemory", 1, 0},
	{"jbyte_fill", 1, 0}, {"jshort_fill", 1, 0}, {"jint_fill", 1, 0}, {"arrayof_jbyte_fill", 1, 0},
	{"arrayof_jshort_fill", 1, 0}, {"arrayof_jint_fill", 1, 0}, {"zero_blocks", 1, 0},
	{"array_sort", 1, 0}, {"array_partition", 1, 0}, {"vectorizedMismatch", 1, 0},
	{"string_indexof_array", 4, 0}, {"arrays_hashcode", 1, 0},
	{"aescrypt_encryptBlock", 1, 0}, {"aescrypt_decryptBlock", 1, 0},
	{"cipherBlockChaining_encryptAESCrypt", 1, 0}, {"cipherBlockChaining_decryptAESCrypt", 1, 0},
	{"electronicCodeBook_encryptAESCrypt", 1, 0}, {"electronicCodeBook_decryptAESCrypt", 1, 0},
	{"counterMode_AESCrypt", 1, 0}, {"galoisCounterMode_AESCrypt", 1, 0},
	{"ghash_processBlocks", 1, 0}, {"chacha20Block", 1, 0}, {"poly1305_processBlocks", 1, 0},
	{"intpoly_montgomeryMult_P256", 1, 0}, {"intpoly_assign", 1, 0}, {"double_keccak", 1, 0},
	{"md5_implCompress", 1, 0}, {"md5_implCompressMB", 1, 0}, {"sha1_implCompress", 1, 0},
	{"sha1_implCompressMB", 1, 0}, {"sha256_implCompress", 1, 0}, {"sha256_implCompressMB", 1, 0},
	{"sha512_implCompress", 1, 0}, {"sha512_implCompressMB", 1, 0}, {"sha3_implCompress", 1, 0},
	{"sha3_implCompressMB", 1, 0}, {"kyberNtt", 1, 0}, {"kyberInverseNtt", 1, 0},
	{"kyberNttMult", 1, 0}, {"kyberAddPoly_2", 1, 0}, {"kyberAddPoly_3", 1, 0},
	{"kyber12To16", 1, 0}, {"kyberBarrettReduce", 1, 0}, {"dilithiumAlmostNtt", 1, 0},
	{"dilithiumAlmostInverseNtt", 1, 0}, {"dilithiumNttMult", 1, 0},
	{"dilithiumMontMulByConstant", 1, 0}, {"dilithiumDecomposePoly", 1, 0},
	{"base64_encodeBlock", 1, 0}, {"base64_decodeBlock", 1, 0}, {"updateBytesCRC32", 1, 0},
	{"updateBytesCRC32C", 1, 0}, {"updateBytesAdler32", 1, 0}, {"multiplyToLen", 1, 0},
	{"squareToLen", 1, 0}, {"mulAdd", 1, 0}, {"montgomeryMultiply", 1, 0},
	{"montgomerySquare", 1, 0}, {"bigIntegerRightShiftWorker", 1, 0},
	{"bigIntegerLeftShiftWorker", 1, 0}, {"dexp", 1, 0}, {"dlog", 1, 0}, {"dlog10", 1, 0},
	{"dpow", 1, 0}, {"dsin", 1, 0}, {"dcos", 1, 0}, {"dtan", 1, 0}, {"dsinh", 1, 0}, {"dtanh", 1, 0},
	{"dcbrt", 1, 0}, {"fmod", 1, 0}, {"dlibm_sin_cos_huge", 1, 0}, {"dlibm_reduce_pi04l", 1, 0},
	{"dlibm_tan_cot_huge", 1, 0}, {"f2hf", 1, 0}, {"hf2f", 1, 0},
	{"atomic_add_entry", 1, 0}, {"atomic_add_long_entry", 1, 0}, {"atomic_add_ptr_entry", 1, 0},
	{"atomic_cmpxchg_entry", 1, 0}, {"atomic_cmpxchg_byte_entry", 1, 0},
	{"atomic_cmpxchg_long_entry", 1, 0}, {"atomic_store_entry", 1, 0},
	{"atomic_store_ptr_entry", 1, 0}, {"atomic_xchg_entry", 1, 0}, {"atomic_xchg_long_entry", 1, 0},
	{"atomic_xchg_ptr_entry", 1, 0}, {"fence_entry", 1, 0}, {"method_entry_barrier", 1, 0},
	{"cont_thaw", 1, 0}, {"cont_returnBarrier", 1, 0}, {"cont_returnBarrierExc", 1, 0},
	{"cont_preempt_stub", 1, 0}, {"upcall_stub_exception_handler", 1, 0},
	{"upcall_stub_load_target", 1, 0}, {"lookup_secondary_supers_table_stubs", 64, 0},
	{"lookup_secondary_supers_table_slow_path_stub", 1, 0},
	{"data_cache_writeback", 1, 0}, {"data_cache_writeback_sync", 1, 0},
	{"verify_oop_subroutine_entry", 1, 0}, {"handler_for_unsafe_access_entry", 1, 0},
	{"safefetch32_entry", 1, 0}, {"safefetchN_entry", 1, 0}, {"throw_WrongMethodTypeException_entry", 1, 0},
	{"throw_AbstractMethodError_entry", 1, 0}, {"throw_IncompatibleClassChangeError_entry", 1, 0},
	{"throw_NullPointerException_at_call_entry", 1, 0}, {"throw_StackOverflowError_entry", 1, 0},
	{"throw_delayed_StackOverflowError_entry", 1, 0},
	{"get_previous_sp_entry", 1, 1}, {"verify_mxcsr_entry", 1, 1}, {"f2i_fixup", 1, 1},
	{"f2l_fixup", 1, 1}, {"d2i_fixup", 1, 1}, {"d2l_fixup", 1, 1}, {"method_entry_barrier", 1, 1},
	{"float_sign_mask", 1, 1}, {"float_sign_flip", 1, 1}, {"double_sign_mask", 1, 1},
	{"double_sign_flip", 1, 1},
};
/* clang-format on */

struct stub_name {
	uint64_t addr;
	const char *name;
	uint32_t order;
};

enum { SYMBOL_NAME = 128 };

/* Itanium C++ ABI: _ZN12StubRoutines<length>_<name>E. */
static void symbol_name(const struct stub_field *f, char buf[SYMBOL_NAME])
{
	snprintf(buf, SYMBOL_NAME, "_ZN12StubRoutines%s%zu_%sE", f->x86 ? "3x86" : "", strlen(f->name) + 1, f->name);
}

static bool exported(const struct vmstructs *tables, const char *name, uint64_t *ret)
{
	char field[SYMBOL_NAME];
	struct vm_field f;

	snprintf(field, sizeof(field), "_%s", name);
	if (!vmstructs_field(tables, "StubRoutines", field, &f) || !f.is_static)
		return false;
	*ret = f.at;
	return true;
}

/* "jbyte_fill_entry" -> "jbyte_fill". */
static const char *shown_name(struct code_cache *cache, const char *name)
{
	size_t len = strlen(name);

	if (strcmp(name, "call_stub_return_address") == 0)
		return "call_stub";
	if (len > 6 && strcmp(name + len - 6, "_entry") == 0)
		return arena_strndup(&cache->jvm->arena, name, len - 6);
	return name;
}

struct symbols {
	hs_symbol_fn *fn; /* NULL: libjvm has no .symtab */
	void *ctx;
};

static bool var_find(const struct vmstructs *tables, const struct symbols *s, const struct stub_field *f, uint64_t *ret)
{
	char name[SYMBOL_NAME];

	if (!f->x86 && exported(tables, f->name, ret))
		return true;
	if (!s->fn)
		return false;
	symbol_name(f, name);
	return s->fn(s->ctx, name, ret);
}

static int var_add(struct code_cache *cache, const struct stub_field *f, uint64_t addr)
{
	const char *name = shown_name(cache, f->name);

	for (unsigned i = 0; name && i < f->count; i++) {
		struct stub_var v = {addr + 8 * i, name};

		if (!vec_push(&cache->stubs.vars, v))
			return -ENOMEM;
	}
	if (strcmp(f->name, "cont_returnBarrier") == 0)
		cache->stubs.cont_barrier_var = addr;
	return name ? 0 : -ENOMEM;
}

int stub_names_resolve(struct code_cache *cache, const struct vmstructs *tables, hs_symbol_fn *symbol, void *ctx)
{
	struct symbols s = {symbol, ctx};
	uint64_t addr;
	int r = 0;

	if (!symbol(ctx, "_ZN12StubRoutines16_call_stub_entryE", &addr)) {
		s.fn = NULL;
		jvm_note(cache->jvm, "libjvm.so has no .symtab: stubs of the JVM show the name of their group");
	}
	for (size_t i = 0; r == 0 && i < sizeof(fields) / sizeof(*fields); i++)
		if (var_find(tables, &s, &fields[i], &addr))
			r = var_add(cache, &fields[i], addr);
	if (cache->jvm->l.cont_barrier.ok)
		cache->stubs.cont_barrier_var = cache->jvm->l.cont_barrier.at;
	if (cache->jvm->l.cont_return_pc.ok)
		cache->stubs.cont_return_var = cache->jvm->l.cont_return_pc.at;
	else if (s.fn && symbol(ctx, "_ZN17ContinuationEntry10_return_pcE", &addr))
		cache->stubs.cont_return_var = addr;
	stub_names_refresh(cache);
	return r;
}

/* By address, then by the order of the list. */
static int compare_stub(const void *a, const void *b)
{
	const struct stub_name *x = a, *y = b;

	return ascending(x->addr, y->addr) ?: ascending(x->order, y->order);
}

static void barrier_refresh(struct code_cache *cache)
{
	struct stubs *stubs = &cache->stubs;
	struct hs_field *entry = &cache->jvm->l.jt_cont_entry;
	int64_t offset;
	uint64_t at;

	if (stubs->cont_barrier_var && mem_read_u64(cache->jvm->mem, stubs->cont_barrier_var, &at))
		stubs->cont_barrier = at;
	if (!entry->ok) {
		offset = arch_cont_entry_offset(cache->jvm, stubs->cont_barrier);
		*entry = (struct hs_field){(uint64_t)offset, 8, offset > 0, false};
	}
}

void stub_names_refresh(struct code_cache *cache)
{
	struct stubs *stubs = &cache->stubs;
	size_t n = stubs->vars.n;
	struct mem_span *spans CLEANUP(free_at_exit) = calloc(n + 1, sizeof(*spans));
	uint64_t *at CLEANUP(free_at_exit) = calloc(n + 1, sizeof(*at));
	struct stub_name *names = calloc(n + 1, sizeof(*names));

	barrier_refresh(cache);
	if (!spans || !at || !names) {
		free(names);
		return;
	}
	for (size_t i = 0; i < n; i++)
		spans[i] = (struct mem_span){stubs->vars.v[i].addr, &at[i], 8, false};
	mem_read_batch(cache->jvm->mem, spans, n);
	free(stubs->names);
	stubs->names = names;
	stubs->n = 0;
	for (size_t i = 0; i < n; i++)
		if (spans[i].ok && in_code_cache(cache, at[i]))
			names[stubs->n++] = (struct stub_name){at[i], stubs->vars.v[i].name, (uint32_t)i};
	qsort(names, stubs->n, sizeof(*names), compare_stub);
}

/* The first in the list of those with the greatest address <= pc. */
static const char *name_find(const struct stubs *stubs, const struct code *code, uint64_t pc)
{
	size_t i = first_above(stubs->names, stubs->n, addr, pc);

	if (i == 0 || stubs->names[i - 1].addr < code->begin)
		return code->name;
	while (i > 1 && stubs->names[i - 2].addr == stubs->names[i - 1].addr)
		i--;
	return stubs->names[i - 1].name;
}

const char *hs_stub_name(const struct hotspot *hs, const struct code *code, uint64_t pc_offset)
{
	const char *codelet;

	switch (code->kind) {
	case BLOB_INTERPRETER:
		codelet = codelet_description(hs->cache, code->begin + pc_offset);
		return codelet ? codelet : code->name;
	case BLOB_STUBS: return name_find(&hs->cache->stubs, code, code->begin + pc_offset);
	case BLOB_VTABLE: return "vtable stub";
	default: return code->name;
	}
}

uint64_t hs_call_stub_return(const struct hotspot *hs)
{
	return hs->cache->stubs.call_stub_return;
}

uint64_t hs_cont_return_barrier(const struct hotspot *hs)
{
	return hs->cache->stubs.cont_barrier;
}

/* The JVM sets this variable when the first continuation is entered. */
uint64_t hs_cont_entry_return(struct hotspot *hs)
{
	struct stubs *stubs = &hs->cache->stubs;

	if (stubs->cont_return == 0 && stubs->cont_return_var &&
	    !mem_read_u64(hs->jvm->mem, stubs->cont_return_var, &stubs->cont_return))
		stubs->cont_return = 0;
	return stubs->cont_return;
}
