#ifndef JS_HOTSPOT_METHOD_H
#define JS_HOTSPOT_METHOD_H

#include <stdbool.h>
#include <stdint.h>

struct hotspot;

/*
 * Java methods: interned at first sight, with everything that naming needs copied (class unloading
 * may free it a second later). Immutable, live as long as the hotspot. Id 0 is "unknown".
 */
enum { METHOD_STATIC = 0x8, METHOD_NATIVE = 0x100, METHOD_SYNTHETIC = 0x1000 };

struct hs_method {
	uint32_t id;
	uint64_t addr, const_method; /* Method*, ConstMethod*: its identity */
	const char *class_name; /* UTF-8, slashes: "java/util/HashMap" */
	const char *name, *signature; /* UTF-8 */
	const char *source_file; /* NULL: none */
	uint32_t access_flags;
	uint64_t code_base; /* address of the bytecodes */
	uint16_t code_size, max_locals, max_stack;
	const uint8_t *bytecodes; /* code_size bytes as they were in memory (rewritten); NULL: not copied */
	const uint8_t *line_table; /* compressed, NULL: none */
	uint32_t line_table_len;
};

/* Method* -> id; 0: does not look like a method (counted). Follows hotspot_walk_begin/end(). */
uint32_t hs_method_find(struct hotspot *hs, uint64_t method);
const struct hs_method *hs_method(const struct hotspot *hs, uint32_t id); /* NULL for 0 */
uint32_t hs_method_count(const struct hotspot *hs);

/* Line of a bci (-1 counts as 0). -1: no line table. */
int hs_method_line(const struct hotspot *hs, const struct hs_method *m, int32_t bci);

/* bcp -> bci if it points into the method's bytecodes, else -1. */
int32_t hs_method_bci(const struct hs_method *m, uint64_t bcp);

#endif
