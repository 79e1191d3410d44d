#ifndef JS_ATTRIBUTION_BYTECODES_H
#define JS_ATTRIBUTION_BYTECODES_H

#include <stdbool.h>
#include <stdint.h>

struct hs_method;

/*
 * Reads the bytecodes of a method as they are in the JVM's memory: rewritten and quickened. Opcodes above 201 are
 * HotSpot's own, and their numbers depend on the JDK. Only lengths, branches and calls are decoded.
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
	int32_t target; /* BYTECODE_BRANCH: bci; for switches, the lowest */
	int32_t constant; /* bipush, sipush: the value pushed */
};

/* Does it access an object by getfield, putfield, an array load, arraylength, checkcast or instanceof? */
bool bytecode_reads_object(const struct bytecode *b);

/* Is it bipush or sipush, so that `constant` is set? */
bool bytecode_pushes_constant(const struct bytecode *b);

/* Does it compare two ints with <, <=, > or >=, and branch? */
bool bytecode_orders_ints(const struct bytecode *b);

bool bytecode_is_static_call(const struct bytecode *b);

/* Decodes the bytecode at `bci`; false: unknown opcode, breakpoint, or past the end. */
bool bytecode_at(const struct hs_method *m, int major, int32_t bci, struct bytecode *ret);

#endif
