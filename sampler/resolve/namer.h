#ifndef JS_RESOLVE_NAMER_H
#define JS_RESOLVE_NAMER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/resolve/resolver.h"
#include "symbolizer/base/buf.h"

/* Internal to sampler/resolve: state for naming keys. */
struct namer {
	const struct resolver_sources *s;
	const struct resolver_options *o;
	struct named_builder *b;
	struct buf name, system; /* scratch */
	uint32_t *functions; /* by method id; UINT32_MAX: not yet made */
	uint32_t n_functions;
	uint32_t *mappings; /* by DSO id; UINT32_MAX: not yet made */
	uint32_t n_mappings;
};

/* The result for one key. */
struct named_frame {
	uint32_t location; /* UINT32_MAX: out of memory */
	uint8_t exactness; /* for a compiled Java method; otherwise EXACTNESS_COUNT */
};

struct named_frame namer_native(struct namer *n, const struct frame_key *key);
struct named_frame namer_module(struct namer *n, const struct frame_key *key); /* native, named only after its file */
struct named_frame namer_kernel(struct namer *n, const struct frame_key *key);
struct named_frame namer_anon(struct namer *n, const struct frame_key *key);
struct named_frame namer_interpreted(struct namer *n, const struct frame_key *key);
struct named_frame namer_compiled(struct namer *n, const struct frame_key *key);
struct named_frame namer_stub(struct namer *n, const struct frame_key *key);

/* A frame with one line and only a name. mapping: NULL or "" for none. */
struct named_frame namer_plain(struct namer *n, const char *name, enum named_kind kind, const char *mapping);
struct named_frame namer_unknown(struct namer *n);

/* Makes the program's file the first mapping, whatever was sampled. */
void namer_program(struct namer *n);

/* The pc to look up: a return address may be the first byte after the calling code. */
static inline uint64_t namer_lookup_pc(const struct frame_key *key)
{
	return (uint64_t)key->off - !(key->flags & FRAME_PC_EXACT);
}

#endif
