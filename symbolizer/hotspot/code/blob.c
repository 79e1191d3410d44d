#include "symbolizer/base/hash.h"
#include "symbolizer/hotspot/code/code_cache.h"

/* Names of blobs in JDK 8 to 28, for JVMs without CodeBlob::_kind. */
static const struct name_kind {
	const char *prefix;
	enum blob_kind kind;
} name_kinds[] = {
	{"I2C/C2I adapters", BLOB_ADAPTER},
	{"adapters", BLOB_ADAPTER},
	{"vtable chunks", BLOB_VTABLE},
	{"StubRoutines", BLOB_STUBS},
	{"DeoptimizationBlob", BLOB_DEOPT},
	{"UncommonTrapBlob", BLOB_DEOPT},
	{"SafepointBlob", BLOB_SAFEPOINT},
	{"ExceptionBlob", BLOB_EXCEPTION},
	{"MethodHandles adapters", BLOB_BUFFER},
	{"InlineCacheBuffer", BLOB_BUFFER},
	{"native signature handlers", BLOB_BUFFER},
	{"Signature Handler Temp Buffer", BLOB_BUFFER},
	{"jni_fast_Get", BLOB_BUFFER},
	{"C1 temporary CodeBuffer", BLOB_BUFFER},
};

/* The number of header bytes that contain the fields of CodeBlob and nmethod. */
uint32_t blob_span_wanted(const struct hs_layout *l)
{
	/* clang-format off */
	const struct hs_field fields[] = {
		l->blob_name, l->blob_size, l->blob_data_offset, l->blob_frame_size,
		l->blob_frame_complete, l->blob_code_offset, l->blob_code_begin, l->blob_code_end,
		l->blob_kind, l->blob_relocation_size, l->blob_mutable_data, l->blob_mutable_size,
		l->blob_oop_maps, l->nm_method, l->nm_entry_bci, l->nm_state, l->nm_compile_id,
		l->nm_comp_level, l->nm_orig_pc, l->nm_stub, l->nm_exception, l->nm_osr_entry,
		l->nm_entry, l->nm_verified_entry, l->nm_entry_offset, l->nm_verified_entry_offset,
		l->nm_scopes_begin, l->nm_scopes_offset, l->nm_pcs_offset, l->nm_dependencies_offset,
		l->nm_metadata_offset, l->nm_handlers_offset, l->nm_nulls_offset, l->nm_end_offset,
		l->nm_immutable, l->nm_immutable_size, l->nm_immutable_refs, l->nm_deopt_ptr,
		l->nm_deopt_mh_ptr, l->nm_deopt_offset, l->nm_deopt_mh_offset,
	};
	/* clang-format on */

	return hs_fields_span(fields, sizeof(fields) / sizeof(*fields), BLOB_SPAN_MAX);
}

static enum blob_kind kind_by_name(const char *name, int32_t frame_size)
{
	for (size_t i = 0; i < sizeof(name_kinds) / sizeof(*name_kinds); i++)
		if (strncmp(name, name_kinds[i].prefix, strlen(name_kinds[i].prefix)) == 0)
			return name_kinds[i].kind;
	if (strstr(name, "upcall_stub"))
		return BLOB_UPCALL;
	/* Runtime stubs have a frame size, or -1 if it is not fixed. Buffers have 0. */
	return frame_size != 0 ? BLOB_RUNTIME : BLOB_BUFFER;
}

/* Roles by parts of names that are the same in JDK 8 to 28. */
static const struct name_role {
	enum blob_kind kind;
	const char *part;
	enum stub_role role;
} name_roles[] = {
	{BLOB_STUBS, "ontinuation", STUB_CONTINUATION},
	{BLOB_BUFFER, "MethodHandles", STUB_METHOD_HANDLES},
	{BLOB_RUNTIME, "forward_exception", STUB_FORWARD_EXCEPTION},
	{BLOB_RUNTIME, "handle_exception", STUB_HANDLE_EXCEPTION},
	{BLOB_RUNTIME, "resolve_", STUB_CALL_RESOLVER},
	{BLOB_RUNTIME, "wrong_method", STUB_CALL_RESOLVER},
	{BLOB_RUNTIME, "ic_miss", STUB_CALL_RESOLVER},
	{BLOB_DEOPT, "ncommon", STUB_UNCOMMON_TRAP}, /* UncommonTrapBlob, uncommon_trap */
};

enum stub_role stub_role_of(enum blob_kind kind, const char *name)
{
	for (size_t i = 0; i < sizeof(name_roles) / sizeof(*name_roles); i++)
		if (name_roles[i].kind == kind && strstr(name, name_roles[i].part))
			return name_roles[i].role;
	return STUB_OTHER;
}

/* HotSpot generates the wrappers of these two specially (JDK 21 on). */
enum stub_role stub_role_of_native(const struct hs_method *m)
{
	if (!m || strcmp(m->class_name, "jdk/internal/vm/Continuation") != 0)
		return STUB_OTHER;
	if (strcmp(m->name, "enterSpecial") == 0)
		return STUB_ENTER_SPECIAL;
	return strcmp(m->name, "doYield") == 0 ? STUB_DO_YIELD : STUB_OTHER;
}

/* By CodeBlobKind, JDK 25 on. */
static enum blob_kind kind_by_number(const struct hs_layout *l, int64_t number, const char *name, int32_t frame_size)
{
	const struct {
		struct hs_constant number;
		enum blob_kind kind;
	} kinds[] = {
		{l->c.kind_adapter, BLOB_ADAPTER},     {l->c.kind_vtable, BLOB_VTABLE},
		{l->c.kind_mh, BLOB_BUFFER},           {l->c.kind_runtime, BLOB_RUNTIME},
		{l->c.kind_deopt, BLOB_DEOPT},         {l->c.kind_trap, BLOB_DEOPT},
		{l->c.kind_safepoint, BLOB_SAFEPOINT}, {l->c.kind_exception, BLOB_EXCEPTION},
		{l->c.kind_upcall, BLOB_UPCALL},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].number.ok && kinds[i].number.value == number)
			return kinds[i].kind;
	return kind_by_name(name, frame_size);
}

static enum blob_kind blob_kind(const struct code_cache *cache, const struct blob *b)
{
	const struct hs_layout *l = &cache->jvm->l;

	/* The names of these are the same in every JDK. */
	if (strcmp(b->name, "nmethod") == 0)
		return BLOB_NMETHOD;
	if (strcmp(b->name, "native nmethod") == 0)
		return b->frame_size > 0 ? BLOB_NATIVE : BLOB_MH_INTRINSIC;
	if (b->begin <= cache->interpreter.start && cache->interpreter.start < b->end)
		return BLOB_INTERPRETER;
	if (l->blob_kind.ok && l->c.kind_nmethod.ok) {
		struct bytes h = b->header;

		return kind_by_number(l, bytes_get_signed(h, l->blob_kind), b->name, b->frame_size);
	}
	return kind_by_name(b->name, b->frame_size);
}

bool blob_freeable(enum blob_kind kind)
{
	/* nmethods are freed, upcall stubs are freed with their arena, and buffers are reused. */
	return kind <= BLOB_MH_INTRINSIC || kind == BLOB_UPCALL || kind == BLOB_BUFFER;
}

uint32_t blob_identity_span(const struct jvm *jvm, bool nmethod)
{
	const struct hs_layout *l = &jvm->l;
	const struct hs_field fields[] = {l->blob_name, l->blob_size, l->nm_method, l->nm_compile_id};

	return (uint32_t)l->size.heap_block + hs_fields_span(fields, nmethod ? 4 : 2, BLOB_SPAN_MAX);
}

/* The state is not included, since a method that was made not entrant is still there. Compile ids are never reused. */
uint64_t blob_identity(const struct jvm *jvm, struct bytes from_block, bool nmethod, uint64_t *ret_method)
{
	const struct hs_layout *l = &jvm->l;
	uint64_t skip = l->size.heap_block, h;
	struct bytes blob = {from_block.p + skip, from_block.n > skip ? from_block.n - skip : 0};

	*ret_method = 0;
	if (blob.n == 0 || bytes_get(from_block, l->block_used) == 0)
		return 0;
	h = hash_mix(bytes_get(from_block, l->block_length), bytes_get(blob, l->blob_name));
	h = hash_mix(h, bytes_get(blob, l->blob_size));
	if (nmethod) {
		h = hash_mix(h, bytes_get(blob, l->nm_compile_id));
		*ret_method = bytes_get(blob, l->nm_method);
	}
	return h ? h : 1;
}

static bool code_bounds(const struct hs_layout *l, struct blob *b)
{
	struct bytes h = b->header;

	if (l->blob_code_begin.ok)
		b->begin = bytes_get(h, l->blob_code_begin);
	else
		b->begin = b->addr + (uint64_t)bytes_get_signed(h, l->blob_code_offset);
	if (l->blob_code_end.ok)
		b->end = bytes_get(h, l->blob_code_end);
	else
		b->end = b->addr + (uint64_t)bytes_get_signed(h, l->blob_data_offset);
	return b->begin >= b->addr && b->begin <= b->end && b->end <= b->addr + b->size;
}

static bool name_read(struct jvm *jvm, struct blob *b)
{
	if (!addr_ok(b->name_addr) || !mem_read_cstr(jvm->mem, b->name_addr, b->name, sizeof(b->name)))
		return false;
	for (const char *s = b->name; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			return false;
	return b->name[0] != 0;
}

/* The HeapBlock and the header after it, as far as the block reaches. */
static bool header_read(struct code_cache *cache, struct block *block, struct blob *b)
{
	uint64_t skip = cache->jvm->l.size.heap_block, n = skip + cache->blob_span;

	if (n > block->size)
		n = block->size;
	if (n > sizeof(block->bytes) || n <= skip)
		return false;
	if (n > block->n_bytes && !jvm_read_fresh(cache->jvm, block->header, block->bytes, (uint32_t)n))
		return false;
	b->addr = block->header + skip;
	b->header = (struct bytes){block->bytes + skip, n - skip};
	return true;
}

/*
 * States in which an nmethod is no longer executed, and its methods may be unloaded before it is freed: zombie and
 * unloaded (code/nmethod.hpp of 8, code/compiledMethod.hpp of 9 to 19). JDK 20 has none.
 */
static const struct {
	int major, dead; /* from this JDK on, this state and those above it */
} states[] = {{20, 128}, {9, 3}, {8, 2}};

bool blob_dead(const struct jvm *jvm, struct bytes header)
{
	size_t i = 0;

	while (i + 1 < sizeof(states) / sizeof(*states) && jvm->version.major < states[i].major)
		i++;
	return bytes_get_signed(header, jvm->l.nm_state) >= states[i].dead;
}

static bool nmethod_plausible(const struct jvm *jvm, struct blob *b)
{
	const struct hs_layout *l = &jvm->l;
	struct bytes h = b->header;

	b->compile_id = (int32_t)bytes_get(h, l->nm_compile_id);
	b->entry_bci = (int32_t)bytes_get_signed(h, l->nm_entry_bci);
	/* -1: not installed yet. Class unloading clears the Method*. */
	return bytes_get_signed(h, l->nm_state) >= 0 && (b->method == 0 || object_ok(b->method)) &&
	       b->entry_bci >= CODE_OSR_LEFT && b->entry_bci <= 65535;
}

bool blob_read(struct code_cache *cache, struct block *block, struct blob *ret)
{
	const struct hs_layout *l = &cache->jvm->l;
	struct bytes h;

	if (!header_read(cache, block, ret))
		return false;
	h = ret->header;
	ret->size = bytes_get(h, l->blob_size);
	ret->frame_size = (int32_t)bytes_get_signed(h, l->blob_frame_size);
	ret->frame_complete = (int32_t)bytes_get_signed(h, l->blob_frame_complete);
	ret->name_addr = bytes_get(h, l->blob_name);
	if (ret->size == 0 || ret->size > block->size - l->size.heap_block || !code_bounds(l, ret) ||
	    ret->frame_size < -1 || ret->frame_size > 65536 || ret->frame_complete < -1 || !name_read(cache->jvm, ret))
		return false;
	ret->kind = blob_kind(cache, ret);
	ret->identity = blob_identity(cache->jvm, (struct bytes){block->bytes, l->size.heap_block + h.n},
				      ret->kind <= BLOB_MH_INTRINSIC, &ret->method);
	if (ret->identity == 0)
		return false;
	ret->compile_id = 0;
	ret->entry_bci = -1;
	return ret->kind > BLOB_MH_INTRINSIC || nmethod_plausible(cache->jvm, ret);
}
