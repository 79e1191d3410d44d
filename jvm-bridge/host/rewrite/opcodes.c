/* Lengths and kinds of bytecodes (JVM specification, chapter 6). */
#include "jvm-bridge/host/rewrite/opcodes.h"
#include "jvm-bridge/host/rewrite/bytes.h"

enum { OPCODES = OP_JSR_W + 1 };

/* One digit for each opcode; 0: not fixed. */
static const char lengths[OPCODES + 1] = "11111111111111112323322222111111" /* 00 */
					 "11111111111111111111112222211111" /* 20 */
					 "11111111111111111111111111111111" /* 40 */
					 "11111111111111111111111111111111" /* 60 */
					 "11113111111111111111111113333333" /* 80 */
					 "33333333320011111133333335532311" /* a0 */
					 "3311043355"; /* c0 */

bool is_return(uint8_t op)
{
	return op >= OP_IRETURN && op <= OP_RETURN;
}

bool is_short_branch(uint8_t op)
{
	return (op >= OP_IFEQ && op <= OP_JSR) || op == OP_IFNULL || op == OP_IFNONNULL;
}

bool is_wide_branch(uint8_t op)
{
	return op == OP_GOTO_W || op == OP_JSR_W;
}

bool is_switch(uint8_t op)
{
	return op == OP_TABLESWITCH || op == OP_LOOKUPSWITCH;
}

size_t switch_operands(size_t at)
{
	return (at + 4) & ~(size_t)3;
}

static size_t switch_length(const uint8_t *code, size_t size, size_t at)
{
	size_t from = switch_operands(at), pairs;

	if (size < from + 8)
		return 0;
	if (code[at] == OP_LOOKUPSWITCH) {
		pairs = get_u4(code + from + 4);
		return pairs > size / 8 ? 0 : from + 8 + 8 * pairs - at;
	}
	if (size < from + 12)
		return 0;
	/* Modulo 2^32: the check of the size finds bounds in the wrong order. */
	pairs = (uint32_t)(get_u4(code + from + 8) - get_u4(code + from + 4) + 1);
	return pairs > size / 4 ? 0 : from + 12 + 4 * pairs - at;
}

size_t instruction_length(const uint8_t *code, size_t size, size_t at)
{
	uint8_t op = code[at];
	size_t n = op < OPCODES ? (size_t)(lengths[op] - '0') : 0;

	if (is_switch(op))
		n = switch_length(code, size, at);
	else if (op == OP_WIDE && size - at > 1)
		n = code[at + 1] == OP_IINC ? 6 : 4;
	return n <= size - at ? n : 0;
}
