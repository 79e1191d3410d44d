#include "tests/support/fake_jvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/target/mem.h"

#define DATA UINT64_C(0x7d0000000000)
#define CODE UINT64_C(0x7e0000000000)

static uint8_t *at(struct fake_jvm *j, uint64_t addr)
{
	return addr >= CODE ? j->code + (addr - CODE) : j->data + (addr - DATA);
}

static void put(struct fake_jvm *j, uint64_t addr, const void *p, size_t n)
{
	memcpy(at(j, addr), p, n);
}

static void put64(struct fake_jvm *j, uint64_t addr, uint64_t v)
{
	put(j, addr, &v, 8);
}

static void put32(struct fake_jvm *j, uint64_t addr, uint32_t v)
{
	put(j, addr, &v, 4);
}

static void put16(struct fake_jvm *j, uint64_t addr, uint16_t v)
{
	put(j, addr, &v, 2);
}

static uint64_t take(struct fake_jvm *j, size_t n)
{
	uint64_t a = DATA + j->data_used;

	j->data_used += (n + 15) & ~(size_t)15;
	if (j->data_used > FAKE_REGION)
		abort();
	return a;
}

static uint64_t text(struct fake_jvm *j, const char *s)
{
	uint64_t a = take(j, strlen(s) + 1);

	put(j, a, s, strlen(s) + 1);
	return a;
}

static void symbol(struct fake_jvm *j, const char *name, uint64_t value)
{
	uint64_t a = take(j, 8);

	put64(j, a, value);
	j->symbols[j->n_symbols].name = name;
	j->symbols[j->n_symbols++].addr = a;
}

static bool dropped(const struct fake_jvm *j, const char *type, const char *field)
{
	const char *drops[] = {j->drop, j->drop2};

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(type);

		if (drops[i] && strncmp(drops[i], type, n) == 0 && strcmp(drops[i] + n, field) == 0)
			return true;
	}
	return false;
}

/* `field` with its "::" in front. */
static void field(struct fake_jvm *j, const char *type, const char *name, const char *string, uint64_t offset)
{
	if (!dropped(j, type, name))
		j->fields[j->n_fields++] = (struct fake_entry){type, name + 2, string, false, offset};
}

static void variable(struct fake_jvm *j, const char *type, const char *name, const char *string, uint64_t addr)
{
	if (!dropped(j, type, name))
		j->fields[j->n_fields++] = (struct fake_entry){type, name + 2, string, true, addr};
}

static void type(struct fake_jvm *j, const char *name, const char *super, uint64_t size)
{
	j->types[j->n_types++] = (struct fake_entry){name, super, NULL, false, size};
}

static void constant(struct fake_jvm *j, const char *name, int64_t value)
{
	j->ints[j->n_ints++] = (struct fake_entry){name, NULL, NULL, false, (uint64_t)value};
}

/* Entries of 64 bytes, the columns in an order of their own. */
enum { STRIDE = 64, C_NAME = 8, C_FIELD = 0, C_TYPE = 48, C_STATIC = 20, C_OFFSET = 24, C_ADDR = 32 };

static uint64_t name_at(struct fake_jvm *j, const char *s)
{
	return s ? text(j, s) : 0;
}

enum table_kind { FIELDS, TYPES, INTS };

static uint64_t table(struct fake_jvm *j, const struct fake_entry *e, size_t n, enum table_kind kind)
{
	uint64_t a = take(j, (n + 1) * STRIDE);

	for (size_t i = 0; i < n; i++) {
		uint64_t p = a + i * STRIDE;

		put64(j, p + C_NAME, name_at(j, e[i].type));
		put64(j, p + C_FIELD, name_at(j, e[i].field));
		put64(j, p + C_TYPE, name_at(j, e[i].string));
		put32(j, p + C_STATIC, e[i].is_static);
		if (kind == FIELDS)
			put64(j, p + (e[i].is_static ? C_ADDR : C_OFFSET), e[i].at);
		else if (kind == TYPES)
			put64(j, p + C_ADDR, e[i].at);
		else
			put32(j, p + C_ADDR, (uint32_t)e[i].at);
	}
	return a;
}

static void tables_finish(struct fake_jvm *j)
{
	uint64_t stride = j->starting ? 0 : STRIDE;

	symbol(j, "gHotSpotVMStructs", table(j, j->fields, j->n_fields, FIELDS));
	symbol(j, "gHotSpotVMStructEntryArrayStride", stride);
	symbol(j, "gHotSpotVMStructEntryTypeNameOffset", C_NAME);
	symbol(j, "gHotSpotVMStructEntryFieldNameOffset", C_FIELD);
	symbol(j, "gHotSpotVMStructEntryTypeStringOffset", C_TYPE);
	symbol(j, "gHotSpotVMStructEntryIsStaticOffset", C_STATIC);
	symbol(j, "gHotSpotVMStructEntryOffsetOffset", C_OFFSET);
	symbol(j, "gHotSpotVMStructEntryAddressOffset", C_ADDR);
	symbol(j, "gHotSpotVMTypes", table(j, j->types, j->n_types, TYPES));
	symbol(j, "gHotSpotVMTypeEntryArrayStride", stride);
	symbol(j, "gHotSpotVMTypeEntryTypeNameOffset", C_NAME);
	symbol(j, "gHotSpotVMTypeEntrySuperclassNameOffset", C_FIELD);
	symbol(j, "gHotSpotVMTypeEntrySizeOffset", C_ADDR);
	symbol(j, "gHotSpotVMIntConstants", table(j, j->ints, j->n_ints, INTS));
	symbol(j, "gHotSpotVMIntConstantEntryArrayStride", stride);
	symbol(j, "gHotSpotVMIntConstantEntryNameOffset", C_NAME);
	symbol(j, "gHotSpotVMIntConstantEntryValueOffset", C_ADDR);
	symbol(j, "gHotSpotVMLongConstants", table(j, j->ints, 0, INTS));
	symbol(j, "gHotSpotVMLongConstantEntryArrayStride", stride);
	symbol(j, "gHotSpotVMLongConstantEntryNameOffset", C_NAME);
	symbol(j, "gHotSpotVMLongConstantEntryValueOffset", C_ADDR);
}

/* VirtualSpace: high at 0, low at 8, the boundaries at 24 and 32. */
static void space(struct fake_jvm *j, uint64_t p, uint64_t low, uint64_t high)
{
	put64(j, p, high);
	put64(j, p + 8, low);
	put64(j, p + 24, low);
	put64(j, p + 32, high);
}

static void code_cache(struct fake_jvm *j)
{
	uint64_t heap = take(j, 256), heaps = take(j, 16), array = take(j, 64), var = take(j, 8);

	j->heap_low = CODE;
	j->segmap = take(j, FAKE_REGION >> FAKE_SEGMENT);
	memset(at(j, j->segmap), 0xff, FAKE_REGION >> FAKE_SEGMENT);
	space(j, heap + 40, CODE, CODE + FAKE_REGION);
	space(j, heap + 120, j->segmap, j->segmap + (FAKE_REGION >> FAKE_SEGMENT));
	put32(j, heap + 200, FAKE_SEGMENT);
	put64(j, heaps, heap);
	put32(j, array + 4, 1);
	put64(j, array + 24, heaps);
	put64(j, var, array);
	if (j->major == 8) {
		put64(j, var, heap);
		variable(j, "CodeCache", "::_heap", "CodeHeap*", var);
	} else {
		variable(j, "CodeCache", "::_heaps", "GrowableArray<CodeHeap*>*", var);
	}
	field(j, j->major >= 16 ? "GrowableArrayBase" : "GenericGrowableArray", "::_len", "int", 4);
	field(j, "GrowableArray<int>", "::_data", "int*", 24);
	field(j, "CodeHeap", "::_memory", "VirtualSpace", 40);
	field(j, "CodeHeap", "::_segmap", "VirtualSpace", 120);
	field(j, "CodeHeap", "::_log2_segment_size", "int", 200);
	field(j, "VirtualSpace", "::_low_boundary", "char*", 24);
	field(j, "VirtualSpace", "::_high_boundary", "char*", 32);
	field(j, "VirtualSpace", "::_low", "char*", 8);
	field(j, "VirtualSpace", "::_high", "char*", 0);
	field(j, "HeapBlock::Header", "::_length", "uint32_t", 4);
	field(j, "HeapBlock::Header", "::_used", "bool", FAKE_USED);
	type(j, "HeapBlock", NULL, FAKE_BLOCK);
}

/* CodeBlob offsets. */
enum {
	B_NAME = 24,
	B_SIZE = 36,
	B_DATA = 40,
	B_FRAME = 48,
	B_COMPLETE = 52,
	B_BEGIN = 56,
	B_END = 64,
	B_CODE = 72,
	B_OOPS = 80,
	B_MUTABLE = 88,
	B_MUTABLE_SIZE = 96,
	B_RELOC = 100,
	N_LEVEL = 150,
	N_SCOPES_PTR = 120,
	N_PCS = 128,
	N_DEPS = 132,
	N_SCOPES = 136,
	N_META = 144,
	N_HANDLERS = 156,
	N_NULLS = 160,
	N_IMM = 168,
	N_IMM_SIZE = 176,
	N_VE = 184,
	N_ENTRY_PTR = 192,
	N_DEOPT = 200,
	N_HEADER = 216,
};

static void oop_map_tables(struct fake_jvm *j)
{
	field(j, "OopMapSet", "::_om_count", "int", 12);
	field(j, "OopMapSet", "::_om_data", "OopMap**", 16);
	field(j, "OopMap", "::_pc_offset", "int", 8);
	if (j->major == 8) {
		field(j, "CodeBlob", "::_oop_maps", "OopMapSet*", B_OOPS);
		return;
	}
	field(j, "CodeBlob", "::_oop_maps", "ImmutableOopMapSet*", B_OOPS);
	field(j, "ImmutableOopMapSet", "::_count", "int", 4);
	field(j, "ImmutableOopMapPair", "::_pc_offset", "int", 4);
	type(j, "ImmutableOopMapSet", NULL, 24);
	type(j, "ImmutableOopMapPair", NULL, 12);
}

/* One class of nmethods, all places as offsets from the blob. */
static void nmethod_tables_8(struct fake_jvm *j)
{
	field(j, "CodeBlob", "::_code_offset", "int", B_CODE);
	field(j, "CodeBlob", "::_relocation_size", "int", B_RELOC);
	field(j, "nmethod", "::_method", "Method*", FAKE_NM_METHOD);
	field(j, "nmethod", "::_scopes_data_offset", "int", N_SCOPES);
	field(j, "nmethod", "::_metadata_offset", "int", N_META);
	field(j, "nmethod", "::_dependencies_offset", "int", N_DEPS);
	field(j, "nmethod", "::_verified_entry_point", "address", N_ENTRY_PTR);
	field(j, "nmethod", "::_deoptimize_offset", "int", N_DEOPT);
}

static void blob_tables(struct fake_jvm *j)
{
	field(j, "CodeBlob", "::_name", "const char*", B_NAME);
	field(j, "CodeBlob", "::_size", "int", B_SIZE);
	field(j, "CodeBlob", "::_data_offset", "int", B_DATA);
	field(j, "CodeBlob", "::_frame_size", "int", B_FRAME);
	field(j, "CodeBlob", "::_frame_complete_offset", "int16_t", B_COMPLETE);
	oop_map_tables(j);
	type(j, "nmethod", j->major == 8 ? "CodeBlob" : "CompiledMethod", N_HEADER);
	type(j, "CompiledMethod", "CodeBlob", 128);
	field(j, "nmethod", "::_entry_bci", "int", FAKE_NM_BCI);
	field(j, "nmethod", "::_state", j->major == 8 ? "volatile unsigned char" : "volatile signed char",
	      FAKE_NM_STATE);
	field(j, "nmethod", "::_compile_id", "int", FAKE_NM_COMPILE_ID);
	field(j, "nmethod", "::_comp_level", "CompLevel", N_LEVEL);
	field(j, "nmethod", "::_scopes_pcs_offset", "int", N_PCS);
	field(j, "nmethod", "::_handler_table_offset", j->beside ? "u2" : "int", N_HANDLERS);
	field(j, "nmethod", "::_nul_chk_table_offset", j->beside ? "u2" : "int", N_NULLS);
	field(j, "PcDesc", "::_pc_offset", "int", 8);
	field(j, "PcDesc", "::_scope_decode_offset", "int", 0);
	type(j, "PcDesc", NULL, 12);
	if (j->major == 8) {
		nmethod_tables_8(j);
		return;
	}
	if (j->beside) {
		field(j, "CodeBlob", "::_code_offset", "int", B_CODE);
		field(j, "CodeBlob", "::_mutable_data", "address", B_MUTABLE);
		field(j, "CodeBlob", "::_mutable_data_size", "int", B_MUTABLE_SIZE);
		field(j, "CodeBlob", "::_relocation_size", "int", B_RELOC);
		field(j, "nmethod", "::_method", "Method*", FAKE_NM_METHOD);
		field(j, "nmethod", "::_scopes_data_offset", "int", N_SCOPES);
		field(j, "nmethod", "::_immutable_data", "address", N_IMM);
		field(j, "nmethod", "::_immutable_data_size", "int", N_IMM_SIZE);
		field(j, "nmethod", "::_verified_entry_offset", "u2", N_VE);
		field(j, "nmethod", "::_deopt_handler_offset", "int", N_DEOPT);
		return;
	}
	field(j, "CodeBlob", "::_code_begin", "address", B_BEGIN);
	field(j, "CodeBlob", "::_code_end", "address", B_END);
	field(j, "CompiledMethod", "::_method", "Method*", FAKE_NM_METHOD);
	field(j, "CompiledMethod", "::_scopes_data_begin", "address", N_SCOPES_PTR);
	field(j, "CompiledMethod", "::_deopt_handler_begin", "address", N_DEOPT);
	field(j, "nmethod", "::_metadata_offset", "int", N_META);
	field(j, "nmethod", "::_dependencies_offset", "int", N_DEPS);
	field(j, "nmethod", "::_verified_entry_point", "address", N_ENTRY_PTR);
}

static uint64_t java_symbol(struct fake_jvm *j, const char *s)
{
	uint64_t a = take(j, 12 + strlen(s));

	put16(j, a + FAKE_SYMBOL_LENGTH, (uint16_t)strlen(s));
	put(j, a + FAKE_SYMBOL_TEXT, s, strlen(s));
	return a;
}

enum { CM = 72, K_SOURCE = 54, P_SOURCE = 50 };

static void method_tables(struct fake_jvm *j)
{
	field(j, "Method", "::_constMethod", "ConstMethod*", FAKE_METHOD_CONST);
	field(j, "Method", "::_access_flags", "AccessFlags", 36);
	type(j, "AccessFlags", NULL, 2);
	type(j, "ConstMethod", NULL, CM);
	type(j, "ConstantPool", NULL, FAKE_POOL);
	field(j, "ConstMethod", "::_constants", "ConstantPool*", FAKE_CONST_POOL);
	field(j, "ConstMethod", j->major >= 21 ? "::_flags._flags" : "::_flags", j->major >= 21 ? "u4" : "u2", 28);
	field(j, "ConstMethod", "::_code_size", "u2", 40);
	field(j, "ConstMethod", "::_name_index", "u2", FAKE_CONST_NAME);
	field(j, "ConstMethod", "::_signature_index", "u2", 44);
	field(j, "ConstMethod", "::_constMethod_size", "int", 48);
	field(j, "ConstMethod", "::_max_locals", "u2", 56);
	field(j, "ConstMethod", "::_max_stack", "u2", 58);
	field(j, "ConstantPool", "::_pool_holder", "InstanceKlass*", FAKE_POOL_HOLDER);
	field(j, "ConstantPool", "::_length", "int", FAKE_POOL_LENGTH);
	if (j->major >= 15)
		field(j, "ConstantPool", "::_source_file_name_index", "u2", P_SOURCE);
	else
		field(j, "InstanceKlass", "::_source_file_name_index", "u2", K_SOURCE);
	field(j, "Klass", "::_name", "Symbol*", FAKE_KLASS_NAME);
	field(j, "Klass", "::_super", "Klass*", FAKE_KLASS_SUPER);
	field(j, "Klass", "::_class_loader_data", "ClassLoaderData*", FAKE_KLASS_LOADER);
	field(j, "ClassLoaderData", "::_class_loader", "OopHandle", 8);
	field(j, "Symbol", "::_length", "u2", FAKE_SYMBOL_LENGTH);
	field(j, "Symbol", "::_body", NULL, 10);
	constant(j, "ConstMethod::_has_linenumber_table", 4);
}

/* The loader data has no loader object. */
static uint64_t class_object(struct fake_jvm *j)
{
	uint64_t klass = take(j, 64);

	j->boot_loader = take(j, 64);
	put64(j, klass + FAKE_KLASS_NAME, java_symbol(j, "java/lang/Object"));
	put64(j, klass + FAKE_KLASS_LOADER, j->boot_loader);
	return klass;
}

/* Line table: bci 0 line 7, bci 5 line 9. */
static uint64_t method(struct fake_jvm *j, const char *name, const char *sig, uint16_t flags)
{
	static const uint8_t lines[] = {0 << 3 | 7, 5 << 3 | 2, 0};
	uint64_t m = take(j, 96), cm = take(j, CM + 48), pool = take(j, FAKE_POOL + 5 * 8);
	uint64_t klass = take(j, 64);

	put64(j, m + FAKE_METHOD_CONST, cm);
	put16(j, m + 36, flags);
	put64(j, cm + FAKE_CONST_POOL, pool);
	put32(j, cm + 28, 4);
	put16(j, cm + 40, 10);
	put16(j, cm + FAKE_CONST_NAME, 1);
	put16(j, cm + 44, 2);
	put32(j, cm + 48, (CM + 24) / 8);
	put16(j, cm + 56, 3);
	put16(j, cm + 58, 5);
	memset(at(j, cm + CM), 0x2a, 10);
	put(j, cm + CM + 10, lines, sizeof(lines));
	put32(j, pool + FAKE_POOL_LENGTH, 5);
	put64(j, pool + FAKE_POOL_HOLDER, klass);
	if (j->major >= 15)
		put16(j, pool + P_SOURCE, 3);
	else
		put16(j, klass + K_SOURCE, 3);
	put64(j, pool + FAKE_POOL + 8, java_symbol(j, name) | 1);
	put64(j, pool + FAKE_POOL + 16, java_symbol(j, sig));
	put64(j, pool + FAKE_POOL + 24, java_symbol(j, "Fake.java"));
	put64(j, klass + FAKE_KLASS_NAME, java_symbol(j, "pkg/Fake"));
	put64(j, klass + FAKE_KLASS_SUPER, class_object(j));
	put64(j, klass + FAKE_KLASS_LOADER, take(j, 64));
	j->klass = klass;
	return m;
}

/* A block of `segments` at `first`, with the blob's header; code is [N_HEADER, N_HEADER + code). */
static void blob(struct fake_jvm *j, int i, uint32_t first, uint32_t segments, const char *name, int32_t frame,
		 uint32_t code)
{
	uint64_t block = CODE + ((uint64_t)first << FAKE_SEGMENT), b = block + FAKE_BLOCK;

	for (uint32_t s = 0; s < segments; s++)
		*at(j, j->segmap + first + s) = s ? (uint8_t)((s - 1) % 0xfe + 1) : 0;
	put32(j, block + 4, segments);
	*at(j, block + FAKE_USED) = 1;
	put64(j, b + B_NAME, text(j, name));
	put32(j, b + B_SIZE, (segments << FAKE_SEGMENT) - FAKE_BLOCK);
	put32(j, b + B_FRAME, (uint32_t)frame);
	put16(j, b + B_COMPLETE, 12);
	put32(j, b + B_CODE, N_HEADER);
	put32(j, b + B_DATA, N_HEADER + code);
	put64(j, b + B_BEGIN, b + N_HEADER);
	put64(j, b + B_END, b + N_HEADER + code);
	j->block[i] = block;
	j->blob[i] = b;
	j->begin[i] = b + N_HEADER;
	j->end[i] = b + N_HEADER + code;
}

/* Small numbers encode as themselves plus X. */
static uint8_t u5(const struct fake_jvm *j, unsigned v)
{
	return (uint8_t)(v + (j->major >= 20));
}

struct parts {
	uint64_t metadata, nulls, handlers, pcs, scopes;
};

/* Of 32 and 16. */
static uint64_t oop_maps(struct fake_jvm *j)
{
	uint64_t oops = take(j, 24 + 2 * 12);

	put32(j, oops + 4, 2);
	put32(j, oops + 24 + 4, 32);
	put32(j, oops + 24 + 12 + 4, 16);
	return oops;
}

static uint64_t oop_maps_8(struct fake_jvm *j)
{
	uint64_t set = take(j, 32), maps = take(j, 16), map[2] = {take(j, 16), take(j, 16)};

	put32(j, map[0] + 8, 32);
	put32(j, map[1] + 8, 16);
	put64(j, maps, map[0]);
	put64(j, maps + 8, map[1]);
	put32(j, set + 12, 2);
	put64(j, set + 16, maps);
	return set;
}

/*
 * Debug information: scope 1 outer@4, scope 4 inner@2 called by it, scope 7 outer@entry. Records at 16
 * (scope 4), 20 (scope 1, no oop map), 32 (scope 7), with sentinels.
 */
enum { NULLS_LEN = 20, HANDLERS_LEN = 24, PCS_LEN = 60, SCOPES_LEN = 12 };

static void debug_info(struct fake_jvm *j, int i, const struct parts *p)
{
	const uint8_t scopes[SCOPES_LEN] = {0xff,     u5(j, 0), u5(j, 1), u5(j, 5), u5(j, 1), u5(j, 2),
					    u5(j, 3), u5(j, 0), u5(j, 1), u5(j, 0), 0xff,     0xff};
	const int32_t records[][2] = {{-1, 0}, {16, 4}, {20, 1}, {32, 7}, {200, 0}};
	const uint32_t nulls[] = {2, 8, 64, 24, 72}, handlers[] = {1, 16, 0, 3, 48, 0};

	put64(j, p->metadata, j->outer);
	put64(j, p->metadata + 8, j->inner);
	put(j, p->nulls, nulls, sizeof(nulls));
	put(j, p->handlers, handlers, sizeof(handlers));
	for (uint64_t r = 0; r < 5; r++) {
		put32(j, p->pcs + 12 * r, (uint32_t)records[r][1]);
		put32(j, p->pcs + 12 * r + 8, (uint32_t)records[r][0]);
	}
	put(j, p->scopes, scopes, sizeof(scopes));
	put64(j, j->blob[i] + B_OOPS, j->major == 8 ? oop_maps_8(j) : oop_maps(j));
}

/* Null checks, handlers, records, scopes in one block; metadata in another, behind the relocations. */
static void parts_beside(struct fake_jvm *j, int i)
{
	uint64_t b = j->blob[i], data = take(j, 128), mutable = take(j, 64);
	struct parts p = {mutable + 32, data, data + 20, data + 44, data + 104};

	debug_info(j, i, &p);
	put64(j, b + N_IMM, data);
	put32(j, b + N_IMM_SIZE, 104 + SCOPES_LEN);
	put64(j, b + B_MUTABLE, mutable);
	put32(j, b + B_MUTABLE_SIZE, 32 + 16);
	put32(j, b + B_RELOC, 32);
	put16(j, b + N_NULLS, 0);
	put16(j, b + N_HANDLERS, 20);
	put32(j, b + N_PCS, 44);
	put32(j, b + N_SCOPES, 104);
	put16(j, b + N_VE, 4);
	put32(j, b + N_DEOPT, N_HEADER + 90);
}

/* Behind the code: metadata, scopes, records, dependencies, handlers, null checks. */
static void parts_inside(struct fake_jvm *j, int i)
{
	uint64_t b = j->blob[i], e = j->end[i];
	struct parts p = {e, e + 120, e + 96, e + 28, e + 16};

	debug_info(j, i, &p);
	if (j->major == 8)
		put32(j, b + N_SCOPES, (uint32_t)(p.scopes - b));
	else
		put64(j, b + N_SCOPES_PTR, p.scopes);
	put32(j, b + N_META, (uint32_t)(p.metadata - b));
	put32(j, b + N_PCS, (uint32_t)(p.pcs - b));
	put32(j, b + N_DEPS, (uint32_t)(e + 88 - b));
	put32(j, b + N_HANDLERS, (uint32_t)(p.handlers - b));
	put32(j, b + N_NULLS, (uint32_t)(p.nulls - b));
	put64(j, b + N_ENTRY_PTR, j->begin[i] + 4);
	put64(j, b + N_DEOPT, j->major == 8 ? N_HEADER + 90 : j->begin[i] + 90);
}

static void nmethod(struct fake_jvm *j, int i, int32_t id, int8_t level, uint64_t m)
{
	uint64_t b = j->blob[i];

	put64(j, b + FAKE_NM_METHOD, m);
	put32(j, b + FAKE_NM_BCI, (uint32_t)-1);
	put32(j, b + FAKE_NM_COMPILE_ID, (uint32_t)id);
	*at(j, b + N_LEVEL) = (uint8_t)level;
	*at(j, b + FAKE_NM_STATE) = 0;
	if (j->beside)
		parts_beside(j, i);
	else
		parts_inside(j, i);
}

enum { CODELET = 40 };

static void interpreter(struct fake_jvm *j)
{
	uint64_t queue = take(j, 64), var = take(j, 8), start;

	blob(j, 0, 0, 40, "Interpreter", 0, 1024);
	start = j->begin[0];
	j->interp = start;
	put64(j, queue + 16, start);
	put32(j, queue + 32, 1024);
	put32(j, queue + 36, 0);
	put32(j, queue + 40, 512);
	for (uint64_t i = 0; i < 2; i++) {
		j->codelet[i] = start + 256 * i;
		put32(j, start + 256 * i + 4, 256);
		put64(j, start + 256 * i + 16, text(j, i ? "iadd" : "method entry point (kind = native)"));
	}
	put64(j, var, queue);
	variable(j, "AbstractInterpreter", "::_code", "StubQueue*", var);
	field(j, "StubQueue", "::_stub_buffer", "address", 16);
	field(j, "StubQueue", "::_buffer_limit", "int", 32);
	field(j, "StubQueue", "::_queue_begin", "int", 36);
	field(j, "StubQueue", "::_queue_end", "int", 40);
	field(j, "InterpreterCodelet", "::_size", "int", 4);
	field(j, "InterpreterCodelet", "::_description", "const char*", 16);
	type(j, "InterpreterCodelet", NULL, CODELET);
}

static void stubs(struct fake_jvm *j)
{
	uint64_t var = take(j, 8), copy = take(j, 8);

	blob(j, 3, 600, 8, "StubRoutines (1)", 0, 200);
	put64(j, var, j->begin[3] + 30);
	put64(j, copy, j->begin[3] + 64);
	variable(j, "StubRoutines", "::_call_stub_return_address", "address", var);
	variable(j, "StubRoutines", "::_jint_disjoint_arraycopy", "address", copy);
	symbol(j, "_ZN12StubRoutines16_call_stub_entryE", j->begin[3] + 8);
	symbol(j, "_ZN12StubRoutines10_jint_fillE", j->begin[3] + 128);
}

enum { PROCESSED = 72 }; /* NamedThread::_processed_thread */

/* A list of two, each with a name behind a pointer. */
static void vm_threads(struct fake_jvm *j)
{
	static const char *const names[] = {"Shenandoah GC Threads#12", "Shenandoah GC Threads#3"};

	for (uint64_t i = 0; i < 2; i++) {
		uint64_t t = take(j, 256), os = take(j, 32), name = take(j, 32);

		j->vm_thread[i] = t;
		put64(j, t + 48, os);
		put32(j, os + 20, (uint32_t)(2000 + i));
		put(j, name, names[i], strlen(names[i]) + 1);
		put64(j, t + PROCESSED - 8, name);
		put64(j, t + PROCESSED - 16, 0);
	}
	put64(j, j->vm_thread[0] + PROCESSED - 16, j->vm_thread[1]);
	field(j, "NamedThread", "::_processed_thread", "Thread*", PROCESSED);
	symbol(j, "_ZN13NonJavaThread9_the_listE", j->vm_thread[0]);
}

static void threads(struct fake_jvm *j)
{
	uint64_t list = take(j, 64), array = take(j, 32);

	j->list_var = take(j, 8);
	put64(j, j->list_var, list);
	j->thread_list = list;
	put32(j, list + 12, j->threadless ? 0 : 2);
	put64(j, list + 24, array);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t t = take(j, 256), os = take(j, 32);

		j->thread[i] = t;
		put64(j, array + 8 * i, t);
		put64(j, t + 48, os);
		put64(j, t + 64, 0x70000000 + 0x100000 * i);
		put64(j, t + 80, 0x10000);
		put32(j, t + 88, i ? 3 : 7);
		put32(j, os + 20, (uint32_t)(1000 + i));
		put64(j, t + 96 + 16, i ? 0x70001000 : 0);
		put64(j, t + 96, 0x1234);
		put64(j, t + 96 + 8, 0x5678);
	}
	if (j->major < 12) {
		put64(j, j->list_var, j->threadless ? 0 : j->thread[0]);
		put64(j, j->thread[0] + 120, j->thread[1]);
		variable(j, "Threads", "::_thread_list", "JavaThread*", j->list_var);
		field(j, "JavaThread", "::_next", "JavaThread*", 120);
	} else {
		variable(j, "ThreadsSMRSupport", "::_java_thread_list", "ThreadsList*", j->list_var);
		field(j, "ThreadsList", "::_length", "const uint", 12);
		field(j, "ThreadsList", "::_threads", "JavaThread *const *const", 24);
	}
	field(j, "Thread", "::_osthread", "OSThread*", 48);
	type(j, "JavaThread", "Thread", 256);
	type(j, "Thread", NULL, 60);
	field(j, "JavaThread", "::_stack_base", "address", 64);
	field(j, "JavaThread", "::_stack_size", "size_t", 80);
	field(j, "JavaThread", "::_thread_state", "JavaThreadState", 88);
	field(j, "JavaThread", "::_anchor", "JavaFrameAnchor", 96);
	field(j, "JavaFrameAnchor", "::_last_Java_pc", "address", 0);
	field(j, "JavaFrameAnchor", "::_last_Java_fp", "intptr_t*", 8);
	field(j, "JavaFrameAnchor", "::_last_Java_sp", "intptr_t*", 16);
	field(j, "OSThread", "::_thread_id", "pid_t", 20);
	constant(j, "_thread_in_Java", 7);
	constant(j, "_thread_in_vm", 3);
	vm_threads(j);
}

/* One entry of jvmstat with its name and 8 bytes of data. */
static uint64_t counter(struct fake_jvm *j, uint64_t at, const char *name)
{
	enum { ENTRY = 20, LENGTH = 64 };
	const char type[] = "J";

	put32(j, at, LENGTH);
	put32(j, at + 4, ENTRY); /* of the name */
	put(j, at + 12, type, 1);
	put32(j, at + 16, LENGTH - 8); /* of the data */
	put(j, at + ENTRY, name, strlen(name) + 1);
	return at + LENGTH - 8;
}

static void counters(struct fake_jvm *j)
{
	static const uint8_t head[] = {0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1};
	uint64_t start = take(j, 256), var = take(j, 8);

	put(j, start, head, sizeof(head));
	put32(j, start + 8, 32 + 2 * 64); /* used */
	put32(j, start + 24, 32); /* of the first entry */
	put32(j, start + 28, 2);
	counter(j, start + 32, "java.cls.loadedClasses");
	j->unloads = counter(j, start + 96, "java.cls.unloadedClasses");
	put64(j, var, start);
	variable(j, "PerfMemory", "::_start", "char*", var);
	symbol(j, "_ZN11JvmtiExport19_redefinition_countE", 0);
	j->redefinitions = j->symbols[j->n_symbols - 1].addr;
}

static void version(struct fake_jvm *j)
{
	char release[32];
	uint64_t var = take(j, 8), major = take(j, 4);

	snprintf(release, sizeof(release), j->major == 8 ? "25.99-fake" : "%d.0.99-fake", j->major);
	put64(j, var, text(j, release));
	/* 8 has the number of HotSpot. */
	put32(j, major, j->major == 8 ? 25 : (uint32_t)j->major);
	variable(j, "Abstract_VM_Version", "::_s_vm_release", "const char*", var);
	variable(j, "Abstract_VM_Version", "::_vm_major_version", "int", major);
}

static void arguments(struct fake_jvm *j)
{
	uint32_t n = 0;
	uint64_t array, command;

	if (!j->arguments)
		return;
	while (j->arguments[n])
		n++;
	array = take(j, n * 8 + 8);
	j->arguments_array = take(j, 8);
	j->arguments_count = take(j, 4);
	command = take(j, 8);
	put64(j, j->arguments_array, array);
	put32(j, j->arguments_count, n);
	put64(j, command, j->command ? text(j, j->command) : 0);
	for (uint32_t i = 0; i < n; i++)
		put64(j, array + i * 8, text(j, j->arguments[i]));
	variable(j, "Arguments", "::_jvm_args_array", "char**", j->arguments_array);
	variable(j, "Arguments", "::_num_jvm_args", "int", j->arguments_count);
	variable(j, "Arguments", "::_java_command", "char*", command);
}

void fake_jvm_build(struct fake_jvm *j)
{
	if (j->major == 0)
		j->major = 17;
	j->beside = j->major >= 23;
	j->data = calloc(1, FAKE_REGION);
	j->code = calloc(1, FAKE_REGION);
	j->mem = mem_pages_new();
	if (!j->data || !j->code || !j->mem)
		abort();
	code_cache(j);
	blob_tables(j);
	method_tables(j);
	interpreter(j);
	j->outer = method(j, "outer", "(I)V", 0x8);
	j->inner = method(j, "inner", "()Ljava/lang/String;", 0x1);
	blob(j, 1, 100, 12, "nmethod", 4, 100);
	nmethod(j, 1, 77, 4, j->outer);
	/* So long that the segment map takes several hops. */
	blob(j, 2, 112, 400, "nmethod", 6, 20000);
	nmethod(j, 2, 78, 3, j->outer);
	stubs(j);
	threads(j);
	counters(j);
	version(j);
	arguments(j);
	tables_finish(j);
	mem_pages_add(j->mem, DATA, j->data, FAKE_REGION);
	mem_pages_add(j->mem, CODE, j->code, FAKE_REGION);
}

void fake_jvm_free(struct fake_jvm *j)
{
	mem_free(j->mem);
	free(j->data);
	free(j->code);
}

bool fake_jvm_symbol(void *ctx, const char *name, uint64_t *ret)
{
	struct fake_jvm *j = ctx;

	for (size_t i = 0; i < j->n_symbols; i++) {
		if (strcmp(j->symbols[i].name, name) == 0) {
			*ret = j->symbols[i].addr;
			return true;
		}
	}
	return false;
}

void fake_jvm_poke(struct fake_jvm *j, uint64_t addr, const void *bytes, size_t len)
{
	mem_pages_add(j->mem, addr, bytes, len);
}
