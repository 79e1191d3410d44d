#ifndef JS_HOTSPOT_METHOD_H
#define JS_HOTSPOT_METHOD_H

#include <stdbool.h>
#include <stdint.h>

struct hotspot;

/*
 * Java methods, interned when first seen, with a copy of all data needed for naming (class unloading may free it a
 * second later). Immutable; they live as long as the hotspot, or until forgotten (forget.h). Id 0 is "unknown".
 */
enum { METHOD_STATIC = 0x8, METHOD_NATIVE = 0x100, METHOD_SYNTHETIC = 0x1000 };

struct hs_method {
	uint32_t id;
	uint64_t addr, const_method; /* Method*, ConstMethod*: the identity of the method */
	const char *class_name; /* UTF-8, slashes: "java/util/HashMap" */
	const char *name, *signature; /* UTF-8 */
	const char *source_file; /* NULL: none */
	uint32_t access_flags;
	uint64_t code_base; /* run-time address of the bytecodes */
	uint16_t code_size, max_locals, max_stack;
	const uint8_t *bytecodes; /* code_size bytes as in memory (rewritten); NULL: not copied */
	const uint8_t *line_table; /* compressed, NULL: none */
	uint32_t line_table_len;
	bool gone; /* from an unloaded class: only its names are known */
};

/*
 * Converts a Method* to an id. 0: it does not look like a method (which is counted), or hs_method_lost(). To be called
 * between hotspot_walk_begin() and hotspot_walk_end().
 */
uint32_t hs_method_find(struct hotspot *hs, uint64_t method);
/*
 * Did the last hs_method_find() fail because classes were unloaded or redefined since the sample? The method now at the
 * address may not be the one that was sampled, so it gets no name.
 */
bool hs_method_lost(struct hotspot *hs);

/*
 * Others may know which method was at an address at a certain time. If hs_method_find() cannot decide, it calls fn;
 * `fresh` is the method there now, or NULL. fn returns the id of `fresh`, an id from hs_gone_method_add(), or 0.
 */
typedef uint32_t hs_gone_method_fn(void *ctx, uint64_t method, uint64_t time_ns, const struct hs_method *fresh);
void hs_set_gone_method(struct hotspot *hs, hs_gone_method_fn *fn, void *ctx);
uint32_t hs_gone_method_add(struct hotspot *hs); /* its names are "" until hs_gone_method_name() */
/* The texts are copied; source may be NULL. */
void hs_gone_method_name(struct hotspot *hs, uint32_t id, const char *class_name, const char *name,
			 const char *signature, const char *source_file);
const struct hs_method *hs_method(const struct hotspot *hs, uint32_t id); /* NULL for 0 and for a forgotten id */
uint32_t hs_method_count(const struct hotspot *hs);

/* The line of a bci (-1 counts as 0). -1: there is no line table. */
int hs_method_line(const struct hotspot *hs, const struct hs_method *m, int32_t bci);

/* The bci of a bytecode pointer; -1: it does not point into the method's bytecodes. */
int32_t hs_method_bci(const struct hs_method *m, uint64_t bcp);

#endif
