#ifndef JS_RESOLVE_RESOLVER_H
#define JS_RESOLVE_RESOLVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/named_profile.h"

struct buf;
struct hotspot;
struct kallsyms;
struct modmap;
struct named_builder;
struct perfmap;
struct profile;
struct attribution;
struct code;
struct timeline;
struct timeline_code;

/* What the bridge told of a code; NULL: nothing. */
typedef const struct timeline_code *resolver_code_fn(void *ctx, const struct code *c);

/*
 * From keys to names: every key becomes one location (with its inlined lines), once. All sources
 * are borrowed and may be NULL. The room of text rules: normalised class names, markers, stubs.
 */
typedef void resolver_compile_fn(void *ctx, uint32_t method_id, struct named_compile *ret,
				 struct buf *why);

struct resolver_sources {
	struct modmap *maps;
	struct budget *files; /* of the modmap; NULL: none */
	const char *program; /* path of the file that runs: the first mapping of the profile, as pprof wants it */
	struct hotspot *hs;
	struct attribution *attribution;
	struct kallsyms *kernel; /* NULL: kernel frames are [kernel] */
	struct perfmap *perfmap;
	struct timeline *timeline; /* of the bridge: names code that is gone */
	resolver_code_fn *timeline_code; /* goes with it */
	void *timeline_ctx;
	resolver_compile_fn *compile; /* what is known of a method's compilation; `why` in words */
	void *compile_ctx;
	const char *(*virtual_name)(void *ctx, uint32_t id); /* of MARK_VIRTUAL; NULL: there are none */
	void *virtual_ctx;
};

struct resolver_options {
	bool raw_names; /* hidden-class names as the JVM has them */
	bool lines; /* line numbers wanted (native ones cost DWARF reading) */
	bool thread_root; /* [name tid=N] as root frame */
	bool process_root; /* [comm pid=N] as root frame */
	bool state_root;
	bool states; /* samples have the state as a label, running too (-e wall) */
	bool bridge_symbols; /* of all compiled code, where the bridge told of it */
	const char *process_name;
	/* Set by another thread: from then on nothing that takes time is named. NULL: never. */
	const atomic_bool *ends;
	/* Frames that a stack keeps from the leaf, inlined ones too; in place of the others it has [truncated]. 0: all.
	 * Roots are none of them. */
	uint32_t depth;
	uint64_t *cut; /* samples that were cut here, and not when they were counted, are added; NULL: not asked */
};

/* Names everything in `p` and adds it to `b`. *ret_unnamed: frames left without a name because of o->ends. */
int resolver_name(const struct profile *p, const struct resolver_sources *s,
		  const struct resolver_options *o, struct named_builder *b, uint64_t *ret_unnamed);

#endif
