#ifndef JS_HOTSPOT_BLOB_H
#define JS_HOTSPOT_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/reader/jvm.h"

struct code_cache;
struct code_heap;
struct hs_method;

enum { BLOB_SPAN_MAX = 1024 }; /* bytes read of a blob's header */

/* A block of a code heap; code_heap.c. */
struct block {
	const struct code_heap *heap;
	uint64_t header, size; /* HeapBlock*; bytes, including the header */
	uint64_t raw; /* the fields length and used; part of the identity */
	/* As read, from the HeapBlock on: as much as blob_read() may need, unless that was unreadable. */
	uint32_t n_bytes;
	uint8_t bytes[64 + BLOB_SPAN_MAX];
};
bool block_find(struct code_cache *cache, uint64_t pc, struct block *ret);

/* The header of a blob, decoded and found plausible. */
struct blob {
	uint64_t addr, size, begin, end;
	uint64_t name_addr, identity;
	int32_t frame_size, frame_complete;
	enum blob_kind kind;
	char name[256];
	/* nmethods only */
	uint64_t method;
	int32_t compile_id, entry_bci;
	struct bytes header; /* in the block's bytes */
};
bool blob_read(struct code_cache *cache, struct block *block, struct blob *ret);
bool blob_freeable(enum blob_kind kind);
enum stub_role stub_role_of(enum blob_kind kind, const char *name); /* of a blob other than an nmethod */
enum stub_role stub_role_of_native(const struct hs_method *m); /* of a native method's wrapper; NULL: unknown */
bool blob_dead(const struct jvm *jvm, struct bytes header); /* an nmethod's header */

/* The identity of a blob, given its bytes from the HeapBlock on; 0: the block is free or has no blob. */
uint64_t blob_identity(const struct jvm *jvm, struct bytes from_block, bool nmethod, uint64_t *ret_method);
uint32_t blob_identity_span(const struct jvm *jvm, bool nmethod); /* bytes that blob_identity() needs */
uint32_t blob_span_wanted(const struct hs_layout *l);

#endif
