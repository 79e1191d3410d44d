#include "symbolizer/hotspot/reader/hs_layout.h"

#include <errno.h>
#include <string.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/reader/vmstructs.h"

enum { OFFSET, STATIC };

/*
 * What does not work without a group. Groups without a text belong to another group, or do not matter in JDKs that lack
 * them.
 */
enum group_id {
	G_NONE,
	G_HEAPS,
	G_BEGIN,
	G_END,
	G_METHOD,
	G_SYMBOL,
	G_THREADS,
	G_OSTHREAD,
	G_INLINE,
	G_PCS,
	G_META,
	G_OOPMAPS,
	G_DEOPT,
	G_ENTRY,
	G_LINES,
	G_INTERP,
	G_NAMES,
	G_ANCHOR,
	G_STATE,
	G_SOURCE,
	G_FLAGS,
	G_COMPILE,
	N_GROUPS
};

static const char *const group_cost[N_GROUPS] = {
	[G_INLINE] = "inlined methods and bytecode positions of compiled code are not shown",
	[G_PCS] = "inlined methods and bytecode positions of compiled code are not shown",
	[G_META] = "inlined methods of compiled code are not shown",
	[G_OOPMAPS] = "every debug record of compiled code counts as exact",
	[G_DEOPT] = "stacks through deoptimised methods may end early",
	[G_ENTRY] = "samples in the prologue of compiled methods may lose their caller",
	[G_LINES] = "no line numbers",
	[G_INTERP] = "interpreter codelets have no names",
	[G_NAMES] = "threads have the kernel's names",
	[G_ANCHOR] = "stacks cannot be continued at the last Java frame",
	[G_STATE] = "no thread states",
	[G_SOURCE] = "no source files",
	[G_FLAGS] = "VM flags are unknown",
	[G_COMPILE] = "no reasons why methods run interpreted",
};

/*
 * One line for each field and alias. need: 1 = required by itself. Lines with the same group are alternatives. If none
 * of them exists, this is an error for a group in group_required(), and a note for others. If several lines set one
 * member, the first that exists wins. The width is used if the type string does not determine it.
 */
struct row {
	size_t member;
	const char *type, *field;
	uint8_t is_static, width, need, group;
};

/* clang-format off */
#define FIELD(m, kind, t, f, w, need, g) {offsetof(struct hs_layout, m), t, f, kind, w, need, g}
/* clang-format on */
#define REQ(m, t, f, w) FIELD(m, OFFSET, t, f, w, 1, G_NONE)
#define OPT(m, t, f, w) FIELD(m, OFFSET, t, f, w, 0, G_NONE)
#define ANY(m, t, f, w, g) FIELD(m, OFFSET, t, f, w, 0, g)
#define REQ_S(m, t, f, w) FIELD(m, STATIC, t, f, w, 1, G_NONE)
#define OPT_S(m, t, f, w) FIELD(m, STATIC, t, f, w, 0, G_NONE)
#define ANY_S(m, t, f, w, g) FIELD(m, STATIC, t, f, w, 0, g)

static const struct row rows[] = {
	ANY_S(cache_heaps, "CodeCache", "_heaps", 8, G_HEAPS),
	ANY_S(cache_heap, "CodeCache", "_heap", 8, G_HEAPS), /* 8 */
	OPT(garray_len, "GrowableArrayBase", "_len", 4),
	OPT(garray_len, "GenericGrowableArray", "_len", 4), /* 8 to 15 */
	OPT(garray_data, "GrowableArray<int>", "_data", 8),
	REQ(heap_memory, "CodeHeap", "_memory", 8),
	REQ(heap_segmap, "CodeHeap", "_segmap", 8),
	REQ(heap_log2_segment, "CodeHeap", "_log2_segment_size", 4),
	REQ(block_length, "HeapBlock::Header", "_length", 8),
	REQ(block_used, "HeapBlock::Header", "_used", 1),
	REQ(vs_low_boundary, "VirtualSpace", "_low_boundary", 8),
	OPT(vs_high_boundary, "VirtualSpace", "_high_boundary", 8),
	REQ(vs_low, "VirtualSpace", "_low", 8),
	REQ(vs_high, "VirtualSpace", "_high", 8),

	REQ(blob_name, "CodeBlob", "_name", 8),
	REQ(blob_size, "CodeBlob", "_size", 4),
	OPT(blob_data_offset, "CodeBlob", "_data_offset", 4),
	REQ(blob_frame_size, "CodeBlob", "_frame_size", 4),
	REQ(blob_frame_complete, "CodeBlob", "_frame_complete_offset", 4),
	ANY(blob_code_begin, "CodeBlob", "_code_begin", 8, G_BEGIN), /* 9 to 22 */
	ANY(blob_code_offset, "CodeBlob", "_code_offset", 4, G_BEGIN), /* 8, 23+ */
	ANY(blob_code_end, "CodeBlob", "_code_end", 8, G_END),
	ANY(blob_data_offset, "CodeBlob", "_data_offset", 4, G_END),
	OPT(blob_kind, "CodeBlob", "_kind", 1),
	OPT(blob_relocation_size, "CodeBlob", "_relocation_size", 4),
	OPT(blob_mutable_data, "CodeBlob", "_mutable_data", 8),
	OPT(blob_mutable_size, "CodeBlob", "_mutable_data_size", 4),
	OPT(blob_oop_maps, "CodeBlob", "_oop_maps", 8),
	ANY(oopmaps_count, "ImmutableOopMapSet", "_count", 4, G_OOPMAPS),
	OPT(oopmap_pair_pc, "ImmutableOopMapPair", "_pc_offset", 4),
	ANY(oopmaps8_count, "OopMapSet", "_om_count", 4, G_OOPMAPS), /* 8 */
	OPT(oopmaps8_data, "OopMapSet", "_om_data", 8),
	OPT(oopmap8_pc, "OopMap", "_pc_offset", 4),

	REQ(nm_method, "nmethod", "_method", 8), /* in CompiledMethod 9 to 22 */
	REQ(nm_entry_bci, "nmethod", "_entry_bci", 4),
	OPT(nm_state, "nmethod", "_state", 1),
	REQ(nm_compile_id, "nmethod", "_compile_id", 4),
	REQ(nm_comp_level, "nmethod", "_comp_level", 1),
	OPT(nm_orig_pc, "nmethod", "_orig_pc_offset", 4),
	OPT(nm_stub, "nmethod", "_stub_offset", 4),
	OPT(nm_exception, "nmethod", "_exception_offset", 4),
	OPT(nm_osr_entry, "nmethod", "_osr_entry_point", 8),
	OPT(nm_entry, "nmethod", "_entry_point", 8),
	ANY(nm_verified_entry, "nmethod", "_verified_entry_point", 8, G_ENTRY),
	OPT(nm_entry_offset, "nmethod", "_entry_offset", 2),
	ANY(nm_verified_entry_offset, "nmethod", "_verified_entry_offset", 2, G_ENTRY),
	ANY(nm_scopes_begin, "nmethod", "_scopes_data_begin", 8, G_INLINE),
	ANY(nm_scopes_offset, "nmethod", "_scopes_data_offset", 4, G_INLINE),
	ANY(nm_pcs_offset, "nmethod", "_scopes_pcs_offset", 4, G_PCS),
	OPT(nm_dependencies_offset, "nmethod", "_dependencies_offset", 4),
	ANY(nm_metadata_offset, "nmethod", "_metadata_offset", 4, G_META),
	ANY(blob_mutable_data, "CodeBlob", "_mutable_data", 8, G_META),
	OPT(nm_handlers_offset, "nmethod", "_handler_table_offset", 4),
	OPT(nm_nulls_offset, "nmethod", "_nul_chk_table_offset", 4),
	OPT(nm_end_offset, "nmethod", "_nmethod_end_offset", 4),
	OPT(nm_immutable, "nmethod", "_immutable_data", 8),
	OPT(nm_immutable_size, "nmethod", "_immutable_data_size", 4),
	OPT(nm_immutable_refs, "nmethod", "_immutable_data_ref_count_offset", 4), /* 26+ */
	ANY(nm_deopt_ptr, "nmethod", "_deopt_handler_begin", 8, G_DEOPT),
	OPT(nm_deopt_mh_ptr, "nmethod", "_deopt_mh_handler_begin", 8),
	ANY(nm_deopt_offset, "nmethod", "_deopt_handler_entry_offset", 4, G_DEOPT), /* 26+ */
	ANY(nm_deopt_offset, "nmethod", "_deopt_handler_offset", 4, G_DEOPT), /* 23 to 25 */
	ANY(nm_deopt_offset, "nmethod", "_deoptimize_offset", 4, G_DEOPT), /* 8 */
	OPT(nm_deopt_mh_offset, "nmethod", "_deopt_mh_handler_offset", 4),
	OPT(nm_deopt_mh_offset, "nmethod", "_deoptimize_mh_offset", 4), /* 8 */
	OPT(pcdesc_pc, "PcDesc", "_pc_offset", 4),
	ANY(pcdesc_scope, "PcDesc", "_scope_decode_offset", 4, G_PCS),

	REQ(method_const, "Method", "_constMethod", 8),
	OPT(method_flags, "Method", "_access_flags", 4),
	ANY(method_counters, "Method", "_method_counters", 8, G_COMPILE),
	OPT(method_data, "Method", "_method_data", 8),
	OPT(method_code, "Method", "_code", 8),
	OPT(method_intrinsic, "Method", "_intrinsic_id", 2),
	OPT(mc_calls, "MethodCounters", "_invocation_counter", 4),
	OPT(mc_loops, "MethodCounters", "_backedge_counter", 4),
	OPT(mc_breakpoints, "MethodCounters", "_number_of_breakpoints", 2),
	OPT(md_decompiles, "MethodData", "_compiler_counters._nof_decompiles", 4),
	OPT(md_decompiles, "MethodData", "_nof_decompiles", 4), /* up to 15 */
	OPT(md_tenure_traps, "MethodData", "_tenure_traps", 4), /* 9+ */
	OPT(md_arg_returned, "MethodData", "_arg_returned", 8),
	REQ(cm_constants, "ConstMethod", "_constants", 8),
	ANY(cm_flags, "ConstMethod", "_flags._flags", 4, G_LINES), /* 21+ */
	ANY(cm_flags, "ConstMethod", "_flags", 2, G_LINES),
	REQ(cm_code_size, "ConstMethod", "_code_size", 2),
	REQ(cm_name, "ConstMethod", "_name_index", 2),
	REQ(cm_signature, "ConstMethod", "_signature_index", 2),
	OPT(cm_max_stack, "ConstMethod", "_max_stack", 2),
	OPT(cm_max_locals, "ConstMethod", "_max_locals", 2),
	OPT(cm_size, "ConstMethod", "_constMethod_size", 4), /* words */
	REQ(cp_holder, "ConstantPool", "_pool_holder", 8),
	REQ(cp_length, "ConstantPool", "_length", 4),
	ANY(cp_source_file, "ConstantPool", "_source_file_name_index", 2, G_SOURCE), /* 15+ */
	ANY(klass_source_file, "InstanceKlass", "_source_file_name_index", 2, G_SOURCE),
	OPT(cp_cache, "ConstantPool", "_cache", 8),
	OPT(cpce_indices, "ConstantPoolCacheEntry", "_indices", 8),
	OPT(cpce_f1, "ConstantPoolCacheEntry", "_f1", 8),
	OPT(cpce_f2, "ConstantPoolCacheEntry", "_f2", 8),
	OPT(cpce_flags, "ConstantPoolCacheEntry", "_flags", 8),
	OPT(cpc_methods, "ConstantPoolCache", "_resolved_method_entries", 8),
	OPT(resolved_cpool, "ResolvedMethodEntry", "_cpool_index", 2),
	REQ(klass_name, "Klass", "_name", 8),
	OPT(klass_super, "Klass", "_super", 8),
	OPT(klass_layout_helper, "Klass", "_layout_helper", 4),
	OPT(klass_constants, "InstanceKlass", "_constants", 8),
	ANY(klass_fields, "InstanceKlass", "_fields", 8, G_NAMES), /* up to 20 */
	OPT(klass_fields_count, "InstanceKlass", "_java_fields_count", 2),
	ANY(klass_field_stream, "InstanceKlass", "_fieldinfo_stream", 8, G_NAMES), /* 21+ */
	ANY(symbol_length, "Symbol", "_length", 2, G_SYMBOL),
	ANY(symbol_length_refcount, "Symbol", "_length_and_refcount", 4, G_SYMBOL), /* 12 to 15 */
	REQ(symbol_body, "Symbol", "_body", 1),

	REQ_S(interpreter_code, "AbstractInterpreter", "_code", 8),
	REQ(queue_buffer, "StubQueue", "_stub_buffer", 8),
	REQ(queue_limit, "StubQueue", "_buffer_limit", 4),
	OPT(queue_begin, "StubQueue", "_queue_begin", 4),
	OPT(queue_end, "StubQueue", "_queue_end", 4),
	OPT(codelet_size, "InterpreterCodelet", "_size", 4),
	ANY(codelet_description, "InterpreterCodelet", "_description", 8, G_INTERP),
	REQ_S(call_stub_return, "StubRoutines", "_call_stub_return_address", 8),
	OPT_S(cont_barrier, "StubRoutines", "_cont_returnBarrier", 8), /* 27+ */

	ANY_S(threads_smr, "ThreadsSMRSupport", "_java_thread_list", 8, G_THREADS),
	ANY_S(threads_list, "Threads", "_thread_list", 8, G_THREADS), /* 8 to 11 */
	OPT(tlist_length, "ThreadsList", "_length", 4),
	OPT(tlist_threads, "ThreadsList", "_threads", 8),
	OPT(jt_next, "JavaThread", "_next", 8),
	REQ(jt_osthread, "JavaThread", "_osthread", 8), /* in Thread 25+ */
	REQ(jt_stack_base, "JavaThread", "_stack_base", 8),
	REQ(jt_stack_size, "JavaThread", "_stack_size", 8),
	OPT(nt_processed, "NamedThread", "_processed_thread", 8),
	REQ(os_tid, "OSThread", "_thread_id", 4),
	ANY(jt_anchor, "JavaThread", "_anchor", 8, G_ANCHOR),
	ANY(jt_state, "JavaThread", "_thread_state", 4, G_STATE),
	OPT(jt_vframes, "JavaThread", "_vframe_array_head", 8),
	OPT(jt_cont_entry, "JavaThread", "_cont_entry", 8), /* 25+ */
	ANY(jt_thread_obj, "JavaThread", "_threadObj", 8, G_NAMES),
	OPT(anchor_sp, "JavaFrameAnchor", "_last_Java_sp", 8),
	OPT(anchor_pc, "JavaFrameAnchor", "_last_Java_pc", 8),
	OPT(anchor_fp, "JavaFrameAnchor", "_last_Java_fp", 8),
	OPT(wrapper_anchor, "JavaCallWrapper", "_anchor", 8),
	OPT_S(cont_return_pc, "ContinuationEntry", "_return_pc", 8), /* 25+ */
	OPT(cont_parent, "ContinuationEntry", "_parent", 8), /* 26+ */

	OPT_S(perf_start, "PerfMemory", "_start", 8),
	OPT(klass_cld, "Klass", "_class_loader_data", 8),
	OPT(cld_loader, "ClassLoaderData", "_class_loader", 8),
	OPT(cld_hidden, "ClassLoaderData", "_has_class_mirror_holder", 1), /* 15+ */
	OPT(cld_hidden, "ClassLoaderData", "_is_unsafe_anonymous", 1),
	OPT(cld_hidden, "ClassLoaderData", "_is_anonymous", 1), /* 9 to 11 */
	OPT(oop_klass, "oopDesc", "_metadata._klass", 8),
	OPT(oop_narrow_klass, "oopDesc", "_metadata._compressed_klass", 4),
	OPT(oop_narrow_klass, "oopDesc", "_compressed_klass", 4), /* 27+ */
	OPT_S(oops_base, "CompressedOops", "_base", 8), /* 22+ */
	OPT_S(oops_base, "CompressedOops", "_narrow_oop._base", 8),
	OPT_S(oops_base, "Universe", "_narrow_oop._base", 8),
	OPT_S(oops_shift, "CompressedOops", "_shift", 4),
	OPT_S(oops_shift, "CompressedOops", "_narrow_oop._shift", 4),
	OPT_S(oops_shift, "Universe", "_narrow_oop._shift", 4),
	OPT_S(klasses_base, "CompressedKlassPointers", "_base", 8),
	OPT_S(klasses_base, "CompressedKlassPointers", "_narrow_klass._base", 8),
	OPT_S(klasses_base, "Universe", "_narrow_klass._base", 8),
	OPT_S(klasses_shift, "CompressedKlassPointers", "_shift", 4),
	OPT_S(klasses_shift, "CompressedKlassPointers", "_narrow_klass._shift", 4),
	OPT_S(klasses_shift, "Universe", "_narrow_klass._shift", 4),
	OPT_S(z_globals, "ZGlobalsForVMStructs", "_instance_p", 8),
	OPT(z_offset_mask, "ZGlobalsForVMStructs", "_ZAddressOffsetMask", 8),
	OPT(z_good_mask, "ZGlobalsForVMStructs", "_ZAddressGoodMask", 8), /* up to 20 */
	OPT(z_load_shift, "ZGlobalsForVMStructs", "_ZPointerLoadShift", 8), /* 21+ */
	OPT(z_load_good_mask, "ZGlobalsForVMStructs", "_ZPointerLoadGoodMask", 8), /* 21+ */
	OPT(z_weak_bad_mask, "ZGlobalsForVMStructs", "_ZAddressWeakBadMask", 8), /* up to 20 */
	OPT_S(universe_heap, "Universe", "_collectedHeap", 8),
	OPT(zc_heap, "ZCollectedHeap", "_heap", 8),
	OPT(zheap_page_table, "ZHeap", "_page_table", 8),
	OPT(zheap_forwarding, "ZHeap", "_forwarding_table", 8), /* up to 20 */
	OPT(zgranules_map, "ZGranuleMapForForwarding", "_map", 8),
	OPT(zforwarding_virtual, "ZForwarding", "_virtual", 8),
	OPT(zforwarding_shift, "ZForwarding", "_object_alignment_shift", 8),
	OPT(zforwarding_entries, "ZForwarding", "_entries", 8),
	OPT(zvirtual_start, "ZVirtualMemory", "_start", 8),
	OPT(zarray_length, "ZAttachedArrayForForwarding", "_length", 8),
	OPT_S(x_globals, "XGlobalsForVMStructs", "_instance_p", 8),
	OPT(x_offset_mask, "XGlobalsForVMStructs", "_XAddressOffsetMask", 8),
	OPT(x_good_mask, "XGlobalsForVMStructs", "_XAddressGoodMask", 8),
	OPT_S(vm_symbols, "Symbol", "_vm_symbols[0]", 8),

	REQ_S(vm_release, "Abstract_VM_Version", "_s_vm_release", 8),
	OPT_S(vm_info, "Abstract_VM_Version", "_s_internal_vm_info_string", 8),
	OPT_S(vm_major, "Abstract_VM_Version", "_vm_major_version", 4),
	ANY_S(flags_array, "JVMFlag", "flags", 8, G_FLAGS),
	ANY_S(flags_array, "Flag", "flags", 8, G_FLAGS), /* 8 */
	OPT_S(flags_count, "JVMFlag", "numFlags", 8),
	OPT_S(flags_count, "Flag", "numFlags", 8),
	OPT(flag_name, "JVMFlag", "_name", 8),
	OPT(flag_name, "Flag", "_name", 8),
	OPT(flag_addr, "JVMFlag", "_addr", 8),
	OPT(flag_addr, "Flag", "_addr", 8),
	OPT(flag_origin, "JVMFlag", "_flags", 4),
	OPT(flag_origin, "Flag", "_flags", 4),
	OPT(flag_type, "JVMFlag", "_type", 4),
	OPT(flag_type, "Flag", "_type", 8),
	OPT_S(args_array, "Arguments", "_jvm_args_array", 8),
	OPT_S(args_count, "Arguments", "_num_jvm_args", 4),
	OPT_S(java_command, "Arguments", "_java_command", 8),
};

struct size_row {
	size_t member;
	const char *type;
	uint64_t min, max, usual; /* usual 0: required */
};

/* clang-format off */
#define SIZE(m, t, lo, hi, usual) {offsetof(struct hs_layout, size.m), t, lo, hi, usual}
/* clang-format on */

static const struct size_row sizes[] = {
	SIZE(heap_block, "HeapBlock", 8, 64, 0),
	SIZE(const_method, "ConstMethod", 16, 256, 0),
	SIZE(constant_pool, "ConstantPool", 16, 512, 0),
	SIZE(pcdesc, "PcDesc", 8, 64, 16),
	SIZE(codelet, "InterpreterCodelet", 8, 128, 16),
	SIZE(oopmaps, "ImmutableOopMapSet", 8, 64, 8),
	SIZE(oopmap_pair, "ImmutableOopMapPair", 8, 64, 8),
	SIZE(flag, "JVMFlag", 16, 128, 24),
	SIZE(cont_entry, "ContinuationEntry", 8, 512, 64),
	SIZE(zheap, "ZHeap", 8, 1 << 16, 8),
	SIZE(zforwarding, "ZForwarding", 8, 1 << 12, 8),
	SIZE(cp_cache, "ConstantPoolCache", 8, 256, 40),
	SIZE(cp_cache_entry, "ConstantPoolCacheEntry", 8, 64, 32),
	SIZE(resolved_method, "ResolvedMethodEntry", 8, 64, 24),
};

struct constant_row {
	size_t member;
	const char *name;
};

/* clang-format off */
#define CONSTANT(m, n) {offsetof(struct hs_layout, c.m), n}
/* clang-format on */

static const struct constant_row constants[] = {
	CONSTANT(has_line_table, "ConstMethodFlags::_misc_has_linenumber_table"), /* 21+ */
	CONSTANT(has_line_table, "ConstMethod::_has_linenumber_table"),
	CONSTANT(kind_nmethod, "CodeBlobKind::Nmethod"),
	CONSTANT(kind_buffer, "CodeBlobKind::Buffer"),
	CONSTANT(kind_adapter, "CodeBlobKind::Adapter"),
	CONSTANT(kind_vtable, "CodeBlobKind::Vtable"),
	CONSTANT(kind_mh, "CodeBlobKind::MHAdapter"),
	CONSTANT(kind_runtime, "CodeBlobKind::RuntimeStub"),
	CONSTANT(kind_deopt, "CodeBlobKind::Deoptimization"),
	CONSTANT(kind_safepoint, "CodeBlobKind::Safepoint"),
	CONSTANT(kind_exception, "CodeBlobKind::Exception"),
	CONSTANT(kind_trap, "CodeBlobKind::UncommonTrap"),
	CONSTANT(kind_upcall, "CodeBlobKind::Upcall"),
	CONSTANT(thread_in_native, "_thread_in_native"),
	CONSTANT(thread_in_java, "_thread_in_Java"),
	CONSTANT(call_wrapper, "frame::entry_frame_call_wrapper_offset"),
	CONSTANT(interp_sender_sp, "frame::interpreter_frame_sender_sp_offset"),
	CONSTANT(interp_last_sp, "frame::interpreter_frame_last_sp_offset"),
	CONSTANT(klass_shift, "markWord::klass_shift"),
	CONSTANT(count_shift, "InvocationCounter::count_shift"),
	CONSTANT(vfinal_shift, "ConstantPoolCacheEntry::is_vfinal_shift"),
	CONSTANT(trap_reason_shift, "Deoptimization::_reason_shift"),
	CONSTANT(trap_reason_bits, "Deoptimization::_reason_bits"),
	CONSTANT(trap_predicate, "Deoptimization::Reason_predicate"),
	CONSTANT(trap_profile_predicate, "Deoptimization::Reason_profile_predicate"), /* 11+ */
	CONSTANT(trap_loop_limit, "Deoptimization::Reason_loop_limit_check"),
	CONSTANT(trap_vectorization, "Deoptimization::Reason_auto_vectorization_check"), /* 25+ */
	CONSTANT(trap_long_loop, "Deoptimization::Reason_short_running_long_loop"), /* 26+ */
	CONSTANT(trap_unstable_if, "Deoptimization::Reason_unstable_if"),
	CONSTANT(trap_fused_if, "Deoptimization::Reason_unstable_fused_if"), /* 11+ */
	CONSTANT(ff_initialized, "FieldInfo::FieldFlags::_ff_initialized"),
	CONSTANT(ff_generic, "FieldInfo::FieldFlags::_ff_generic"),
	CONSTANT(ff_contended, "FieldInfo::FieldFlags::_ff_contended"),
};

/* Must one of this group's fields exist? */
static bool group_required(int g)
{
	return g == G_HEAPS || g == G_BEGIN || g == G_END || g == G_SYMBOL || g == G_THREADS;
}

static const struct type_width {
	const char *type;
	uint8_t width;
	/* clang-format off */
} type_widths[] = {
	{"int", 4}, {"jint", 4}, {"int32_t", 4}, {"uint32_t", 4}, {"u4", 4}, {"juint", 4},
	{"uint", 4}, {"unsigned int", 4}, {"narrowKlass", 4}, {"pid_t", 4}, {"const uint", 4},
	{"u2", 2}, {"jushort", 2}, {"uint16_t", 2}, {"int16_t", 2}, {"short", 2}, {"u1", 1},
	{"uint8_t", 1}, {"bool", 1}, {"jbyte", 1}, {"volatile signed char", 1}, {"size_t", 8},
	{"uintptr_t", 8}, {"intptr_t", 8}, {"address", 8}, {"uint64_t", 8}, {"int64_t", 8},
	{"jlong", 8}, {"oop", 8}, {"OopHandle", 8}, {"const size_t", 8}, {"const uintptr_t", 8},
};
/* clang-format on */

/* The size of a field in bytes: from its type string, the size of that type in the tables, or the usual one. */
static uint8_t width_of(const struct vmstructs *v, const char *type, uint8_t usual)
{
	size_t len = strlen(type);
	uint64_t size;

	if (len > 0 && type[len - 1] == '*')
		return 8;
	for (size_t i = 0; i < sizeof(type_widths) / sizeof(*type_widths); i++)
		if (strcmp(type, type_widths[i].type) == 0)
			return type_widths[i].width;
	if (vmstructs_size(v, type, &size) && (size == 1 || size == 2 || size == 4 || size == 8))
		return (uint8_t)size;
	return usual;
}

/* No object of HotSpot is larger, so larger offsets are invalid. */
enum { OFFSET_MAX = 1 << 16 };

static void row_fill(const struct vmstructs *v, const struct row *r, struct hs_layout *ret)
{
	struct hs_field *f = (struct hs_field *)((char *)ret + r->member);
	struct vm_field found;

	if (f->ok || !vmstructs_field(v, r->type, r->field, &found) || found.is_static != (r->is_static == STATIC))
		return;
	if (!found.is_static && found.at > OFFSET_MAX)
		return;
	f->at = found.at;
	f->width = width_of(v, found.type, r->width);
	f->handle = strstr(found.type, "Handle") != NULL;
	f->ok = true;
	if (r->member == offsetof(struct hs_layout, flag_type))
		ret->flag_type_is_text = f->width == 8;
}

static bool row_ok(const struct row *r, const struct hs_layout *l)
{
	return ((const struct hs_field *)((const char *)l + r->member))->ok;
}

static void name_add(struct buf *b, const char *type, const char *field, const char *join)
{
	if (b->len)
		buf_add_z(b, join);
	buf_printf(b, "%s%s%s", type, field ? "::" : "", field ? field : "");
}

/* Writes the names in a group, as "A::_x or B::_y". */
static void group_names(int g, struct buf *b)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].group == g)
			name_add(b, rows[i].type, rows[i].field, " or ");
}

static bool group_ok(int g, const struct hs_layout *l)
{
	bool any = false, used = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].group != g)
			continue;
		used = true;
		any |= row_ok(&rows[i], l);
	}
	return any || !used;
}

static void groups_check(const struct hs_layout *l, struct buf *missing, hs_layout_note_fn *note, void *ctx)
{
	for (int g = G_NONE + 1; g < N_GROUPS; g++) {
		struct buf names = {0}, text = {0};

		if (group_ok(g, l))
			continue;
		group_names(g, &names);
		if (group_required(g)) {
			name_add(missing, names.data ? names.data : "", NULL, ", ");
		} else if (group_cost[g]) {
			buf_printf(&text, "the JVM does not export %s: %s", names.data ? names.data : "",
				   group_cost[g]);
			if (text.data)
				note(ctx, text.data);
		}
		buf_done(&names);
		buf_done(&text);
	}
}

static void sizes_fill(const struct vmstructs *v, struct hs_layout *l, struct buf *missing)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct size_row *r = &sizes[i];
		uint64_t *size = (uint64_t *)((char *)l + r->member);

		*size = r->usual;
		if (vmstructs_size(v, r->type, size) && *size >= r->min && *size <= r->max)
			continue;
		*size = r->usual;
		if (r->usual == 0) {
			name_add(missing, "sizeof", NULL, ", ");
			buf_printf(missing, " %s", r->type);
		}
	}
	/* JDK 8 */
	if (l->flags_array.ok && !vmstructs_size(v, "JVMFlag", &(uint64_t){0}))
		vmstructs_size(v, "Flag", &l->size.flag);
	if (l->size.flag < 16 || l->size.flag > 128)
		l->flags_array.ok = false;
}

static void constants_fill(const struct vmstructs *v, struct hs_layout *l)
{
	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++) {
		struct hs_constant *c = (struct hs_constant *)((char *)l + constants[i].member);

		if (!c->ok)
			c->ok = vmstructs_constant(v, constants[i].name, &c->value);
	}
}

uint32_t hs_fields_span(const struct hs_field *fields, size_t n, uint32_t max)
{
	uint64_t span = 0;

	for (size_t i = 0; i < n; i++)
		if (fields[i].ok && fields[i].at + fields[i].width > span)
			span = fields[i].at + fields[i].width;
	return span < max ? (uint32_t)span : max;
}

int hs_layout_fill(const struct vmstructs *v, struct hs_layout *ret, hs_layout_note_fn *note, void *ctx,
		   struct err *err)
{
	struct buf missing = {0};
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		row_fill(v, &rows[i], ret);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].need && !row_ok(&rows[i], ret))
			name_add(&missing, rows[i].type, rows[i].field, ", ");
	sizes_fill(v, ret, &missing);
	constants_fill(v, ret);
	groups_check(ret, &missing, note, ctx);
	if (missing.failed)
		r = err_set(err, -ENOMEM, "out of memory");
	else if (missing.len)
		r = err_set(err, -ENOTSUP, "the JVM's tables lack %s", missing.data);
	buf_done(&missing);
	return r;
}
