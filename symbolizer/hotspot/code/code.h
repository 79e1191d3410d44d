#ifndef JS_HOTSPOT_CODE_H
#define JS_HOTSPOT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/sorted.h"

struct hotspot;

/*
 * Code blobs: the units of the code cache. hs_code_find() maps a pc to a *code id*, an interned (blob, compile id).
 * Everything needed for naming is copied when the id is made, so unloading does no harm; after hotspot_forget_unused(),
 * when it is needed, and what is not needed before unloading has no name. A struct code is immutable, but for its
 * methods, and lives as long as the hotspot, or until it is forgotten (forget.h).
 */
enum blob_kind {
	BLOB_NMETHOD, /* compiled Java method */
	BLOB_NATIVE, /* "native nmethod": JNI wrapper, Continuation.enterSpecial, doYield */
	BLOB_MH_INTRINSIC, /* "native nmethod" with frame size 0: linkToStatic, invokeBasic, ... */
	BLOB_INTERPRETER, /* the one interpreter blob; for codelets, see hs_stub_name() */
	BLOB_ADAPTER, /* I2C/C2I adapters */
	BLOB_VTABLE, /* vtable and itable stubs */
	BLOB_STUBS, /* StubRoutines: array copy, ciphers, call_stub, ... */
	BLOB_RUNTIME, /* runtime stubs of C1, C2, and the shared runtime */
	BLOB_DEOPT, /* DeoptimizationBlob, UncommonTrapBlob */
	BLOB_SAFEPOINT, /* SafepointBlob and similar ones */
	BLOB_EXCEPTION,
	BLOB_UPCALL, /* Panama */
	BLOB_BUFFER, /* other buffers: method handle adapters, InlineCacheBuffer, ... */
};

/* What generated code of the JVM does to the frames around it, where its kind does not show this. */
enum stub_role {
	STUB_OTHER,
	STUB_METHOD_ENTRY, /* interpreter: creates the frame of a method */
	STUB_DEOPT_ENTRY, /* interpreter: the code to which frames made by deoptimisation return */
	STUB_CONTINUATION, /* moves frames of virtual threads: the return barrier, thawing */
	STUB_ENTER_SPECIAL, /* wrapper of the native method Continuation.enterSpecial */
	STUB_DO_YIELD, /* wrapper of the native method Continuation.doYield */
	STUB_METHOD_HANDLES, /* jumps to a method with the sender's sp in a register */
	STUB_FORWARD_EXCEPTION, /* entered by a jump, with the frame still in place */
	STUB_HANDLE_EXCEPTION, /* jumps to a handler in its caller */
	STUB_CALL_RESOLVER, /* replaces the target of a call that is not linked yet */
	STUB_UNCOMMON_TRAP,
};

enum { TIER_INTERPRETER = 0, TIER_C1_SIMPLE = 1, TIER_C1_LIMITED = 2, TIER_C1_FULL = 3, TIER_C2 = 4 };

/* A record of debug information (PcDesc). Sentinels and records without scope are left out. */
struct code_record {
	int32_t pc_offset; /* from code begin: the return address of a call, or the polling instruction */
	int32_t scope_offset : 31; /* in scopes */
	bool safepoint : 1; /* has an oop map: trustworthy in C2 code */
};
_Static_assert(sizeof(struct code_record) == 8, "there are hundreds in the code of a method");

struct code_pair {
	uint32_t from, to; /* code offsets */
};

/* One frame of an inlining chain. */
struct code_scope {
	uint32_t method_id; /* 0: unknown */
	int32_t bci; /* -1: entry (synchronisation, prologue) */
};

/* CODE_OSR_LEFT: JDK 8 has made it not entrant (InvalidOSREntryBci); activations may remain. */
enum { CODE_NO_OSR = -1, CODE_OSR_LEFT = -2 };

enum { CODE_MAX_SCOPES = 128 };

struct code {
	uint32_t id;
	enum blob_kind kind;
	enum stub_role role; /* of the whole blob; for codelets of the interpreter, see hs_codelet_role() */
	bool gone; /* from hs_gone_add(): known from the bridge, not read from memory */
	uint64_t blob, blob_size; /* run-time address and size of the blob */
	uint64_t begin, end; /* code: [begin, end), run-time addresses */
	int32_t frame_size; /* words, including return address and saved fp; 0 or -1: no fixed frame */
	int32_t frame_complete; /* code offset from which the frame is complete; -1: never */
	const char *name; /* HotSpot's name of the blob */

	/* BLOB_NMETHOD, BLOB_NATIVE, BLOB_MH_INTRINSIC */
	uint32_t method_id; /* 0: unknown */
	int32_t compile_id;
	int8_t tier; /* TIER_*; 0 for native wrappers */
	int32_t osr_bci; /* or CODE_NO_OSR; CODE_OSR_LEFT: the bci is lost */
	uint32_t entry, verified_entry; /* code offsets */
	int64_t osr_entry; /* code offset, -1: none */
	int64_t deopt_handler, deopt_mh_handler; /* code offsets, -1: none */
	int64_t exception_handler, stub_begin; /* code offsets, -1: unknown */
	int32_t orig_pc_offset; /* bytes from the frame's sp; negative: none */

	const struct code_record *records; /* sorted by pc_offset */
	uint32_t n_records;
	uint32_t n_extra_records; /* records without an oop map */
	const uint8_t *scopes;
	uint32_t scopes_len;
	/*
	 * Method ids of the metadata table, by index - 1. 0: none, or not a method; after hotspot_forget_unused(), or not read
	 * before a walk or hs_code_read_rest() needs it.
	 */
	uint32_t *methods;
	uint32_t n_methods;

	/*
	 * For attribution; copied together with the records, or, after hotspot_forget_unused(), by hs_code_read_rest(). Empty if
	 * too large.
	 */
	const uint8_t *bytes; /* code bytes from begin */
	uint32_t n_bytes;
	const struct code_pair *null_checks; /* instruction -> handler */
	uint32_t n_null_checks;
	const uint32_t *handlers; /* code offsets of exception handlers */
	uint32_t n_handlers;
};

/* 0: there is no blob. The result is valid for the current walk (hotspot_walk_end()). */
uint32_t hs_code_find(struct hotspot *hs, uint64_t pc);
const struct code *hs_code(const struct hotspot *hs, uint32_t code_id); /* NULL for 0 and for a forgotten id */
uint32_t hs_code_count(const struct hotspot *hs); /* ids are 1..count */
/*
 * Copies the bytes of compiled code, and reads the methods in its scopes, unless they have been. Right after a walk that
 * used it: they are no longer there once the code is not. What hs_code() returned for this id becomes invalid.
 */
void hs_code_read_rest(struct hotspot *hs, uint32_t code_id);
/* Reads the methods that a frame needs that will return to pc, if that is not the pc that hs_code_find() was given. */
void hs_code_read_frame(struct hotspot *hs, uint32_t code_id, uint64_t pc);

/* For tests: calls fn for every block in use (blob address, bytes), whether it contains a blob or not. */
typedef void hs_code_each_fn(void *ctx, uint64_t blob, uint64_t size);
size_t hs_code_each(struct hotspot *hs, hs_code_each_fn *fn, void *ctx);

/* These read no memory, except hs_cont_entry_return() until it is known. */
bool hs_in_code_cache(const struct hotspot *hs, uint64_t pc);
bool hs_in_interpreter(const struct hotspot *hs, uint64_t pc);
uint64_t hs_call_stub_return(const struct hotspot *hs); /* the only return address in call_stub */
uint64_t hs_cont_return_barrier(const struct hotspot *hs); /* 0: unknown (then by blob name) */
uint64_t hs_cont_entry_return(struct hotspot *hs); /* return pc of ContinuationEntry; 0: unknown */

/* Sets `ret` to the 8 bytes before a return address, which should end with a call; false: unreadable. */
bool hs_bytes_before(struct hotspot *hs, uint64_t pc, uint8_t ret[8]);

/* Reads code bytes from a pc in the code cache on, to decode prologues and epilogues; returns the count. */
uint32_t hs_code_bytes(struct hotspot *hs, uint64_t pc, uint8_t *dst, uint32_t len);

/* The role of the interpreter's codelet at a pc: STUB_OTHER, STUB_METHOD_ENTRY or STUB_DEOPT_ENTRY. */
enum stub_role hs_codelet_role(const struct hotspot *hs, uint64_t pc);

/* HotSpot's name of the stub, codelet or blob that contains a pc of `code` ("jbyte_disjoint_arraycopy"). */
const char *hs_stub_name(const struct hotspot *hs, const struct code *code, uint64_t pc_offset);

/* The record at exactly this offset; NULL: there is none. */
static inline const struct code_record *code_record_at(const struct code *c, int64_t offset)
{
	size_t after = first_above(c->records, c->n_records, pc_offset, offset);

	return after && c->records[after - 1].pc_offset == offset ? &c->records[after - 1] : NULL;
}

/* Decodes the inlining chain at scope_offset, innermost first. Returns the count; 0: invalid. */
size_t code_scopes_at(const struct code *c, int major, int32_t scope_offset, struct code_scope *ret, size_t max);

#endif
