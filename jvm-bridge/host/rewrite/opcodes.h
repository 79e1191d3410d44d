#ifndef JS_BRIDGE_OPCODES_H
#define JS_BRIDGE_OPCODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytecodes that inserting calls has to know. */
enum {
	OP_LDC_W = 0x13,
	OP_ALOAD_0 = 0x2a,
	OP_DUP = 0x59,
	OP_IINC = 0x84,
	OP_IFEQ = 0x99,
	OP_GOTO = 0xa7,
	OP_JSR = 0xa8,
	OP_RET = 0xa9,
	OP_TABLESWITCH = 0xaa,
	OP_LOOKUPSWITCH = 0xab,
	OP_IRETURN = 0xac,
	OP_RETURN = 0xb1,
	OP_INVOKEVIRTUAL = 0xb6,
	OP_INVOKESPECIAL = 0xb7,
	OP_INVOKESTATIC = 0xb8,
	OP_NEW = 0xbb,
	OP_NEWARRAY = 0xbc,
	OP_ANEWARRAY = 0xbd,
	OP_ATHROW = 0xbf,
	OP_WIDE = 0xc4,
	OP_MULTIANEWARRAY = 0xc5,
	OP_IFNULL = 0xc6,
	OP_IFNONNULL = 0xc7,
	OP_GOTO_W = 0xc8,
	OP_JSR_W = 0xc9,
};

/* Bytes of the instruction at `at`; 0: not an instruction, or it does not end within `size`. */
size_t instruction_length(const uint8_t *code, size_t size, size_t at);
bool is_return(uint8_t op);
bool is_short_branch(uint8_t op); /* with an offset of 16 bits */
bool is_wide_branch(uint8_t op); /* of 32 bits */
bool is_switch(uint8_t op);
/* Operands of the switch at `at` begin here: the default, then the bounds or the number of pairs. */
size_t switch_operands(size_t at);

#endif
