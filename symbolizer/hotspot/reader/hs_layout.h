#ifndef JS_HOTSPOT_HS_LAYOUT_H
#define JS_HOTSPOT_HS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmstructs;
struct err;

/*
 * Where this JVM's objects have the fields used here. Filled from the JVM's tables by the list in hs_layout.c, which
 * has every alias from JDK 8 to 28.
 */
struct hs_field {
	uint64_t at; /* offset, or the run-time address of a static field */
	uint8_t width; /* 1, 2, 4, 8 bytes */
	bool ok; /* this JVM has it */
	bool handle; /* an OopHandle: pointer to the slot with the oop */
};

/* The number of bytes up to the end of the last of these fields, at most `max`. */
uint32_t hs_fields_span(const struct hs_field *fields, size_t n, uint32_t max);

struct hs_constant {
	int64_t value;
	bool ok;
};

struct hs_layout {
	/* code cache */
	struct hs_field cache_heap, cache_heaps; /* statics */
	struct hs_field garray_len, garray_data;
	struct hs_field heap_memory, heap_segmap, heap_log2_segment;
	struct hs_field block_length, block_used;
	struct hs_field vs_low_boundary, vs_high_boundary, vs_low, vs_high;

	/* CodeBlob */
	struct hs_field blob_name, blob_size, blob_data_offset, blob_frame_size, blob_frame_complete;
	struct hs_field blob_code_offset, blob_code_begin, blob_code_end, blob_kind;
	struct hs_field blob_relocation_size, blob_mutable_data, blob_mutable_size, blob_oop_maps;
	struct hs_field oopmaps_count, oopmap_pair_pc; /* 9+ */
	struct hs_field oopmaps8_count, oopmaps8_data, oopmap8_pc; /* 8 */

	/* nmethod */
	struct hs_field nm_method, nm_entry_bci, nm_state, nm_compile_id, nm_comp_level;
	struct hs_field nm_orig_pc, nm_stub, nm_exception, nm_osr_entry;
	struct hs_field nm_entry, nm_verified_entry; /* pointers, up to 22 */
	struct hs_field nm_entry_offset, nm_verified_entry_offset; /* from code begin, 23+ */
	struct hs_field nm_scopes_begin; /* pointer, 9 to 22 */
	struct hs_field nm_scopes_offset, nm_pcs_offset, nm_dependencies_offset;
	struct hs_field nm_metadata_offset, nm_handlers_offset, nm_nulls_offset, nm_end_offset;
	struct hs_field nm_immutable, nm_immutable_size, nm_immutable_refs; /* 23+, 26+ */
	struct hs_field nm_deopt_ptr, nm_deopt_mh_ptr; /* pointers, 9 to 22 */
	struct hs_field nm_deopt_offset, nm_deopt_mh_offset; /* from blob, 8 and 23+ */
	struct hs_field pcdesc_pc, pcdesc_scope;

	/* methods */
	struct hs_field method_const, method_flags;
	struct hs_field method_data, method_counters, method_code, method_intrinsic;
	struct hs_field mc_calls, mc_loops, mc_breakpoints; /* MethodCounters */
	struct hs_field md_decompiles, md_tenure_traps, md_arg_returned; /* MethodData */
	struct hs_field cm_constants, cm_flags, cm_code_size, cm_name, cm_signature, cm_max_stack, cm_max_locals,
		cm_size;
	struct hs_field cp_holder, cp_length, cp_source_file;
	struct hs_field cp_cache, cpce_indices, cpce_f1, cpce_f2, cpce_flags; /* cpce: up to 22 */
	struct hs_field cpc_methods, resolved_cpool; /* 23+ */
	struct hs_field klass_name, klass_super, klass_source_file, klass_constants, klass_layout_helper;
	struct hs_field klass_fields, klass_fields_count, klass_field_stream;
	struct hs_field symbol_length, symbol_length_refcount, symbol_body;

	/* interpreter, stubs */
	struct hs_field interpreter_code; /* static */
	struct hs_field queue_buffer, queue_limit, queue_begin, queue_end;
	struct hs_field codelet_size, codelet_description;
	struct hs_field call_stub_return, cont_barrier; /* statics */

	/* threads */
	struct hs_field threads_smr, threads_list; /* statics */
	struct hs_field tlist_length, tlist_threads;
	struct hs_field jt_next, jt_osthread, jt_stack_base, jt_stack_size, jt_anchor, jt_state;
	struct hs_field jt_vframes, jt_cont_entry, jt_thread_obj;
	struct hs_field os_tid;
	struct hs_field nt_processed;
	struct hs_field anchor_sp, anchor_pc, anchor_fp, wrapper_anchor;
	struct hs_field cont_return_pc /* static */, cont_parent;

	/* heap */
	struct hs_field oop_klass, oop_narrow_klass;
	struct hs_field oops_base, oops_shift, klasses_base, klasses_shift; /* statics */
	struct hs_field z_globals, z_offset_mask, z_good_mask, z_load_shift;
	struct hs_field z_weak_bad_mask, z_load_good_mask;
	struct hs_field universe_heap /* static */, zc_heap, zheap_page_table, zheap_forwarding, zgranules_map,
		zforwarding_virtual, zforwarding_shift, zforwarding_entries, zvirtual_start, zarray_length;
	struct hs_field x_globals, x_offset_mask, x_good_mask; /* 21 to 23, not generational */
	struct hs_field vm_symbols; /* static array */
	struct hs_field perf_start; /* static */
	struct hs_field klass_cld, cld_loader, cld_hidden;

	/* version, flags: statics, then fields */
	struct hs_field vm_release, vm_info, vm_major;
	struct hs_field flags_array, flags_count, flag_name, flag_addr, flag_origin, flag_type;
	bool flag_type_is_text;
	struct hs_field args_array, args_count, java_command; /* statics */

	struct {
		uint64_t heap_block, const_method, constant_pool, pcdesc, codelet, oopmaps, oopmap_pair, flag,
			cont_entry, cp_cache, cp_cache_entry, resolved_method, zheap, zforwarding;
	} size;

	struct {
		struct hs_constant has_line_table;
		struct hs_constant kind_nmethod, kind_buffer, kind_adapter, kind_vtable, kind_mh, kind_runtime,
			kind_deopt, kind_safepoint, kind_exception, kind_trap, kind_upcall;
		struct hs_constant thread_in_native, thread_in_java;
		struct hs_constant call_wrapper, interp_sender_sp, interp_last_sp;
		struct hs_constant klass_shift, vfinal_shift, count_shift;
		struct hs_constant trap_reason_shift, trap_reason_bits;
		struct hs_constant trap_predicate, trap_profile_predicate, trap_loop_limit, trap_vectorization,
			trap_long_loop, trap_unstable_if, trap_fused_if;
		struct hs_constant ff_initialized, ff_generic, ff_contended; /* bits */
	} c;
};

/*
 * -ENOTSUP: required entries are missing, and the message names all of them. `note` is called for each missing optional
 * group, with a text about what does not work without it.
 */
typedef void hs_layout_note_fn(void *ctx, const char *text);
int hs_layout_fill(const struct vmstructs *v, struct hs_layout *ret, hs_layout_note_fn *note, void *ctx,
		   struct err *err);

#endif
