#ifndef JS_HOTSPOT_HOTSPOT_H
#define JS_HOTSPOT_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/hotspot/reader/jvm_facts.h"

/*
 * One HotSpot JVM seen from outside: no agent, no JVM flag, no writes. Layouts come from the JVM's own tables
 * (gHotSpotVMStructs); hs_layout.h names every field that is used. All memory is untrusted. One thread owns a hotspot.
 */
struct hotspot;
struct mem;
struct budget;
struct err;

/*
 * `mem` is borrowed and must outlive the hotspot. -EAGAIN: the JVM is still starting (retry later); -ENOTSUP: required
 * table entries are missing, the message names all of them. *ret is NULL at first. With -EAGAIN it may be one that can
 * only be closed or passed again: it knows where to look for the first thread, so the next attempt takes microseconds.
 */
int hotspot_open(struct mem *mem, hs_symbol_fn *symbol, void *ctx, struct hotspot **ret, struct err *err);
/* Makes copies of code and methods take bytes from `b` (borrowed); when none are left, nothing more is copied. */
void hotspot_set_budget(struct hotspot *hs, struct budget *b);
void hotspot_close(struct hotspot *hs);

const struct hs_version *hotspot_version(const struct hotspot *hs);

/*
 * The value of a VM flag, up to 8 bytes, zero-extended. -ENOENT: there is no such flag. origin: the low 4 bits of
 * JVMFlag::_flags (0 default, 1 command line, ...); may be NULL.
 */
int hotspot_flag(struct hotspot *hs, const char *name, uint64_t *ret, int *ret_origin);

/*
 * The value of a system property with which the JVM was started: the last -Dkey=value on its command line, in an
 * argument file, or in JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS or _JAVA_OPTIONS. It does not include what the program sets
 * later. false: there is none, or it does not fit.
 */
bool hotspot_property(struct hotspot *hs, const char *key, char *dst, size_t size);
/* The main class, jar or module and the program's arguments, as passed by the launcher (sun.java.command). */
bool hotspot_command(struct hotspot *hs, char *dst, size_t size);

/*
 * Notes for -v: which optional fields are missing, and what does not work without them. A NULL-terminated list,
 * borrowed.
 */
const char *const *hotspot_notes(const struct hotspot *hs);

/*
 * Consistency of a walk. Between begin and end, every code blob and method that a look-up takes from the cache is
 * noted. The end reads their identities again in one batch and returns false if one was replaced meanwhile; the caches
 * have then dropped it, and the caller should walk again.
 */
void hotspot_walk_begin(struct hotspot *hs);

/*
 * Times for the next walk (ns, of one clock): that of the sample, and the present or slightly earlier. Anything found
 * unchanged at or after the time of the sample was also the same at that time, and is not read again, so one check
 * serves a batch of samples. Without this call, or with 0, everything is checked.
 */
void hotspot_walk_times(struct hotspot *hs, uint64_t sample_ns, uint64_t now_ns);
bool hotspot_walk_end(struct hotspot *hs);

struct hotspot_stats {
	uint64_t codes, methods; /* interned */
	uint64_t lookups, remote_lookups, replaced, bad_blobs, bad_methods;
	uint64_t forgotten_codes, forgotten_methods; /* forget.h */
	uint64_t bytes; /* memory held */
};
struct hotspot_stats hotspot_stats(const struct hotspot *hs);

#endif
