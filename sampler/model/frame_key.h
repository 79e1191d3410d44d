#ifndef JS_MODEL_FRAME_KEY_H
#define JS_MODEL_FRAME_KEY_H

#include <stdint.h>

/* What a frame is. Inlined Java frames appear only when keys are named. */
enum frame_kind {
	FRAME_UNKNOWN, /* id 0, off: address */
	FRAME_KERNEL, /* id 0, off: address in the kernel */
	FRAME_NATIVE, /* id: dso id, off: ELF virtual address */
	FRAME_ANON, /* executable memory without a file, outside any code cache; off: address (perf map) */
	FRAME_INTERPRETED, /* id: method id, off: bci, or FRAME_NO_BCI */
	FRAME_COMPILED, /* id: code id, off: pc offset from code begin (nmethods, native wrappers) */
	FRAME_STUB, /* id: code id, off: pc offset (stubs, adapters, codelets, runtime blobs) */
	FRAME_MARK, /* a synthetic frame; off: enum frame_mark */
};

/* Synthetic frames. */
enum frame_mark {
	MARK_NONE,
	MARK_INCOMPLETE, /* root: the walk ended early */
	MARK_RESYNCHRONISED, /* root: the walk crossed a gap through the frame anchor */
	MARK_FROZEN, /* root: outer frames of a virtual thread lie in the heap */
	MARK_TRUNCATED, /* root: frames beyond --depth */
	MARK_DEOPT, /* a frame under deoptimisation */
	MARK_KERNEL, /* kernel frames that may not be named (kptr_restrict) */
	MARK_STORAGE_LIMIT, /* in place of stacks beyond --max-memory */
	MARK_UNSAMPLED_SHORT, /* CPU time of threads that ended, or were idle, before a sample was due */
	MARK_UNSAMPLED_KERNEL, /* CPU time in the kernel, where that may not be sampled */
	MARK_VIRTUAL, /* root: a virtual thread; id: its name (resolver_sources.virtual_name) */
	FRAME_MARKS
};

/* As profiles print it, in brackets. NULL: MARK_KERNEL and MARK_VIRTUAL, which are named where they are resolved. */
const char *frame_mark_text(enum frame_mark mark);

enum { FRAME_NO_BCI = -1 };

/* Flags of a key. */
enum {
	/* pc is where the thread was executing (leaf, or interrupted by a signal), not a return address. */
	FRAME_PC_EXACT = 1,
	/* Compiled frame entered through its deopt handler: pc is the original one. */
	FRAME_DEOPTED = 2,
	/* A stub of a virtual call is an itable stub. */
	FRAME_ITABLE = 4,
};

/*
 * The key of a frame: what survives unmapping, unloading and code-cache sweeping. Equal frames have
 * equal keys; compared and hashed as 16 bytes, so all padding is explicit and zero.
 */
struct frame_key {
	uint8_t kind; /* enum frame_kind */
	uint8_t flags;
	uint16_t zero;
	uint32_t id;
	int64_t off;
};

_Static_assert(sizeof(struct frame_key) == 16, "frame keys are compared as bytes");

#endif
