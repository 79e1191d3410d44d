#ifndef JS_ATTRIBUTION_BYTECODES_H
#define JS_ATTRIBUTION_BYTECODES_H

#include <stdbool.h>
#include <stdint.h>

struct hs_method;

/*
 * Reads the bytecodes of a method as they are in the JVM's memory: rewritten and quickened. Opcodes
 * above 201 are HotSpot's own, and their numbers depend on the JDK. Only lengths, branches and calls are decoded.
 */
enum bytecode_kind {
	BYTECODE_OTHER,
	BYTECODE_INVOKE, /* static, special, virtual, interface, handle */
	BYTECODE_INVOKEDYNAMIC,
	BYTECODE_BRANCH, /* target is set */
};

struct bytecode {
	int32_t bci;
	uint32_t len;
	enum bytecode_kind kind;
	uint8_t java; /* the opcode of the JVM specification that it is or replaces */
	int32_t target; /* BYTECODE_BRANCH: bci; switches: the smallest one */
	int32_t constant; /* bipush, sipush: what they push */
};

/* Does it read from an object: a field, an element, the length of an array, its class? */
bool bytecode_reads_object(const struct bytecode *b);

/* bipush, sipush: `constant` is set. */
bool bytecode_pushes_constant(const struct bytecode *b);

/* Does it branch by comparing the order of two ints? */
bool bytecode_orders_ints(const struct bytecode *b);

bool bytecode_is_static_call(const struct bytecode *b);

/* The bytecode at `bci`; false: unknown opcode, breakpoint, or it does not fit. */
bool bytecode_at(const struct hs_method *m, int major, int32_t bci, struct bytecode *ret);

#endif
