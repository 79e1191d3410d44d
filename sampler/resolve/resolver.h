#ifndef JS_RESOLVE_RESOLVER_H
#define JS_RESOLVE_RESOLVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/named_profile.h"

struct buf;
struct demangled;
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

/* What the bridge says about this code; NULL: nothing. */
typedef const struct timeline_code *resolver_code_fn(void *ctx, const struct code *c);

/*
 * From keys to names: each key becomes one location (with its inlined lines), once. All sources are borrowed and may
 * be NULL. The rules for texts are in this directory: normalised class names, marks, stubs.
 */
typedef void resolver_compile_fn(void *ctx, uint32_t method_id, struct named_compile *ret, struct buf *why);

struct resolver_sources {
	struct modmap *maps;
	struct budget *files; /* the modmap's budget; NULL: none */
	struct demangled *demangled; /* names that were made before, for those of C++; NULL: each is made again */
	const char *program; /* path of the target's program: the first mapping of the profile, as pprof expects */
	struct hotspot *hs;
	struct attribution *attribution;
	struct kallsyms *kernel; /* NULL: kernel frames are [kernel] */
	struct perfmap *perfmap;
	struct timeline *timeline; /* from the bridge: names code that no longer exists */
	resolver_code_fn *timeline_code; /* used with `timeline` */
	void *timeline_ctx;
	resolver_compile_fn *compile; /* what is known about a method's compilation; `why` gets it in words */
	void *compile_ctx;
	const char *(*virtual_name)(void *ctx, uint32_t id); /* for MARK_VIRTUAL; NULL: no virtual threads */
	void *virtual_ctx;
};

/* How stacks are shown: options of `record`. */
struct naming_options {
	bool raw_names; /* hidden-class names as in the JVM */
	bool lines; /* line numbers wanted (native ones cost DWARF reading) */
	bool thread_root; /* [name tid=N] as root frame */
	bool process_root; /* [comm pid=N] as root frame */
	bool state_root; /* the thread's state as root frame */
	bool bridge_symbols; /* prefer the bridge's names for compiled code */
};

struct resolver_options {
	struct naming_options show;
	bool states; /* samples have the state as a label, including "running" (-e wall) */
	const char *process_name;
	/* Set by another thread: from then on, only what takes little time is named. NULL: never. */
	const atomic_bool *ends;
	/*
	 * Frames kept of each stack, from the leaf and including inlined ones; [truncated] replaces the rest. 0: all.
	 * Roots do not count.
	 */
	uint32_t depth;
	uint64_t *cut; /* incremented for samples cut during naming but not when they were counted; may be NULL */
};

/*
 * Names everything in `p` and adds it to `b`. *ret_unnamed: number of frames left without a name because of o->ends.
 * 0 or -ENOMEM.
 */
int resolver_name(const struct profile *p, const struct resolver_sources *s, const struct resolver_options *o,
		  struct named_builder *b, uint64_t *ret_unnamed);

#endif
