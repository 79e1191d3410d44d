#include "symbolizer/attribution/decode/bytecodes.h"

#include <stddef.h>

#include "symbolizer/hotspot/methods/method.h"

enum {
	OP_BIPUSH = 16,
	OP_SIPUSH = 17,
	OP_IALOAD = 46,
	OP_SALOAD = 53,
	OP_IFEQ = 153,
	OP_IF_ICMPLT = 161,
	OP_IF_ICMPLE = 164,
	OP_JSR = 168,
	OP_TABLESWITCH = 170,
	OP_LOOKUPSWITCH = 171,
	OP_GETFIELD = 180,
	OP_PUTFIELD = 181,
	OP_INVOKEVIRTUAL = 182,
	OP_INVOKESTATIC = 184,
	OP_INVOKEINTERFACE = 185,
	OP_INVOKEDYNAMIC = 186,
	OP_ARRAYLENGTH = 190,
	OP_CHECKCAST = 192,
	OP_INSTANCEOF = 193,
	OP_WIDE = 196,
	OP_IFNULL = 198,
	OP_IFNONNULL = 199,
	OP_GOTO_W = 200,
	OP_JSR_W = 201,
	OP_FIRST_INTERNAL = 203,
};

/* Lengths from JVMS 6.5; 0: variable, or not an opcode. */
static const uint8_t lengths[OP_JSR_W + 1] = {
	[0 ... 15] = 1, /* nop .. dconst_1 */
	[16] = 2, /* bipush */
	[17] = 3, /* sipush */
	[18] = 2, /* ldc */
	[19 ... 20] = 3, /* ldc_w, ldc2_w */
	[21 ... 25] = 2, /* iload .. aload */
	[26 ... 53] = 1, /* iload_0 .. saload */
	[54 ... 58] = 2, /* istore .. astore */
	[59 ... 131] = 1, /* istore_0 .. lxor */
	[132] = 3, /* iinc */
	[133 ... 152] = 1, /* i2l .. dcmpg */
	[153 ... 168] = 3, /* ifeq .. jsr */
	[169] = 2, /* ret */
	[172 ... 177] = 1, /* ireturn .. return */
	[178 ... 184] = 3, /* getstatic .. invokestatic */
	[185 ... 186] = 5, /* invokeinterface, invokedynamic */
	[187] = 3, /* new */
	[188] = 2, /* newarray */
	[189] = 3, /* anewarray */
	[190 ... 191] = 1, /* arraylength, athrow */
	[192 ... 193] = 3, /* checkcast, instanceof */
	[194 ... 195] = 1, /* monitorenter, monitorexit */
	[197] = 4, /* multianewarray */
	[198 ... 199] = 3, /* ifnull, ifnonnull */
	[200 ... 201] = 5, /* goto_w, jsr_w */
};

/*
 * HotSpot's own bytecodes from 203 on, by the bytecode that each replaces: bytecodes.hpp of 11, 17, 25 and 27, the same
 * in all of them. JDK 8 lacks _fast_zputfield and the last four. A pair such as _fast_iaccess_0 replaces only its
 * aload_0; the getfield after it stays.
 */
static const uint8_t internal[] = {
	180, 180, 180, 180, 180, 180, 180, 180, /* _fast_agetfield .. _fast_sgetfield */
	181, 181, 181, 181, 181, 181, 181, 181, 181, /* _fast_aputfield .. _fast_sputfield */
	42,  42,  42,  42, /* _fast_aload_0, _fast_iaccess_0, _aaccess_0, _faccess_0 */
	21,  21,  21, /* _fast_iload, _fast_iload2, _fast_icaload */
	182, 171, 171, /* _fast_invokevfinal, _fast_linearswitch, _fast_binaryswitch */
	18,  19,  177, 182, /* _fast_aldc, _aldc_w, _return_register_finalizer, _invokehandle */
	180, 181, 42,  21, /* _nofast_getfield, _putfield, _aload_0, _iload */
};

enum { INTERNAL_ZPUTFIELD = 10, INTERNAL_LAST_8 = 30 };

/* Converts one of the JVM's opcodes to that of the specification; 0 (nop, which is none of these): unknown. */
static uint8_t java_opcode(uint8_t op, int major)
{
	size_t i;

	if (op < OP_FIRST_INTERNAL)
		return op;
	i = (size_t)op - OP_FIRST_INTERNAL;
	if (major < 9 && i >= INTERNAL_ZPUTFIELD)
		i++;
	if (i >= sizeof(internal) || (major < 9 && i > INTERNAL_LAST_8))
		return 0;
	return internal[i];
}

static int32_t be32(const uint8_t *p)
{
	return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

static int16_t be16(const uint8_t *p)
{
	return (int16_t)(p[0] << 8 | p[1]);
}

/*
 * Both switches have padding to a multiple of 4 from the method's start, the default target, then counts. The fast
 * forms keep layout and byte order.
 */
static bool switch_at(const struct hs_method *m, uint8_t java, struct bytecode *ret)
{
	uint64_t p = ((uint64_t)ret->bci + 4) & ~3ull, size = m->code_size, n, step, first;
	const uint8_t *b = m->bytecodes;
	int32_t target;

	if (p + 12 > size)
		return false;
	if (java == OP_TABLESWITCH) {
		int64_t low = be32(b + p + 4), high = be32(b + p + 8);

		if (high < low)
			return false;
		n = (uint64_t)(high - low) + 1;
		step = 4;
		first = p + 12;
	} else {
		n = (uint32_t)be32(b + p + 4);
		step = 8;
		first = p + 8;
	}
	if (n > size || first + n * step > size)
		return false;
	target = be32(b + p);
	for (uint64_t i = 0; i < n; i++) {
		int32_t t = be32(b + first + i * step + (step - 4));

		if (t < target)
			target = t;
	}
	ret->len = (uint32_t)(first + n * step - (uint64_t)ret->bci);
	ret->kind = BYTECODE_BRANCH;
	ret->target = (int32_t)((uint32_t)ret->bci + (uint32_t)target);
	return true;
}

static bool is_branch2(uint8_t java)
{
	return (java >= OP_IFEQ && java <= OP_JSR) || java == OP_IFNULL || java == OP_IFNONNULL;
}

static void classify(const uint8_t *p, uint8_t java, struct bytecode *ret)
{
	ret->kind = BYTECODE_OTHER;
	if (java == OP_BIPUSH)
		ret->constant = (int8_t)p[1];
	else if (java == OP_SIPUSH)
		ret->constant = be16(p + 1);
	if (is_branch2(java)) {
		ret->kind = BYTECODE_BRANCH;
		ret->target = ret->bci + be16(p + 1);
	} else if (java == OP_GOTO_W || java == OP_JSR_W) {
		ret->kind = BYTECODE_BRANCH;
		ret->target = (int32_t)((uint32_t)ret->bci + (uint32_t)be32(p + 1));
	} else if (java >= OP_INVOKEVIRTUAL && java <= OP_INVOKEINTERFACE) {
		ret->kind = BYTECODE_INVOKE;
	} else if (java == OP_INVOKEDYNAMIC) {
		ret->kind = BYTECODE_INVOKEDYNAMIC;
	}
}

bool bytecode_reads_object(const struct bytecode *b)
{
	return (b->java >= OP_IALOAD && b->java <= OP_SALOAD) || b->java == OP_GETFIELD || b->java == OP_PUTFIELD ||
	       b->java == OP_ARRAYLENGTH || b->java == OP_CHECKCAST || b->java == OP_INSTANCEOF;
}

bool bytecode_pushes_constant(const struct bytecode *b)
{
	return b->java == OP_BIPUSH || b->java == OP_SIPUSH;
}

bool bytecode_orders_ints(const struct bytecode *b)
{
	return b->java >= OP_IF_ICMPLT && b->java <= OP_IF_ICMPLE;
}

bool bytecode_is_static_call(const struct bytecode *b)
{
	return b->java == OP_INVOKESTATIC;
}

bool bytecode_at(const struct hs_method *m, int major, int32_t bci, struct bytecode *ret)
{
	uint8_t java;

	if (!m->bytecodes || bci < 0 || bci >= m->code_size)
		return false;
	java = java_opcode(m->bytecodes[bci], major);
	if (java == 0 && m->bytecodes[bci] != 0)
		return false;
	*ret = (struct bytecode){.bci = bci, .java = java};
	if (java == OP_TABLESWITCH || java == OP_LOOKUPSWITCH)
		return switch_at(m, java, ret);
	if (java == OP_WIDE) {
		if (bci + 1 >= m->code_size)
			return false;
		ret->len = m->bytecodes[bci + 1] == 132 ? 6 : 4;
	} else {
		ret->len = java <= OP_JSR_W ? lengths[java] : 0;
	}
	if (ret->len == 0 || (uint32_t)bci + ret->len > m->code_size)
		return false;
	classify(m->bytecodes + bci, java, ret);
	return true;
}
