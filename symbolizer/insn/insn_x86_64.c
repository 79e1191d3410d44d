#include "symbolizer/insn/insn_x86_64.h"

#include "symbolizer/base/cursor.h"

/*
 * What follows each opcode (Intel SDM 2, appendix A). Left out are those that are rare or depend on more: prefixes other
 * than one of 66, F2, F3 and then REX; VEX; x87; far branches; accesses to segments, ports, and control registers.
 *
 *	.	left out
 *	-	nothing
 *	b w z	a constant of 8, 16, 32 bits; z has 16 with the prefix 66
 *	v	a constant of 32 bits, or of 64 with REX.W
 *	j	the distance of a branch, of 32 bits
 *	m	ModRM
 *	B Z	ModRM, and a constant like b, z
 *	6 7	ModRM, and if its reg is 0 or 1, a constant like b, z
 *	s	ModRM; SSE, with any of the prefixes 66, F2, F3
 *	x	ModRM, with 66 or F3
 */
static const char forms[2][257] = {
	{"mmmmbz..mmmmbz.." /* 00 add, or */
	 "mmmmbz..mmmmbz.." /* 10 adc, sbb */
	 "mmmmbz..mmmmbz.." /* 20 and, sub */
	 "mmmmbz..mmmmbz.." /* 30 xor, cmp */
	 "................" /* 40 REX */
	 "----------------" /* 50 push, pop */
	 "...m....zZbB...." /* 60 movsxd, push, imul */
	 "bbbbbbbbbbbbbbbb" /* 70 jcc */
	 "BZ.Bmmmmmmmm.m.." /* 80 test, xchg, mov, lea */
	 "----------.-----" /* 90 nop, xchg, cdqe, cqo, pushfq */
	 "....----bz------" /* A0 string operations, test */
	 "bbbbbbbbvvvvvvvv" /* B0 mov */
	 "BBw-..BZ.-..-..." /* C0 shifts, ret, mov, leave, int3 */
	 "mmmm............" /* D0 shifts */
	 "bbbb....jj.b...." /* E0 loop, jrcxz, call, jmp */
	 "....--67------mm"}, /* F0 hlt, test, not, neg, mul, div; inc, dec, call, jmp, push */
	{"...........-.m.." /* 00 ud2, prefetchw */
	 "ss..mm..m......m" /* 10 mov, unpck, prefetch, nop */
	 "........mms.ssmm" /* 20 mova, cvt, ucomis, comis */
	 "................" /* 30 */
	 "mmmmmmmmmmmmmmmm" /* 40 cmov */
	 ".s..mmmmsss.ssss" /* 50 sqrt, and, andn, or, xor, add, mul, cvt, sub, min, div, max */
	 "mmmmmmmmmmmm..mx" /* 60 punpck, pack, pcmpgt, movd, movdq */
	 "....mmm.......xx" /* 70 pcmpeq, movd, movdq */
	 "jjjjjjjjjjjjjjjj" /* 80 jcc */
	 "mmmmmmmmmmmmmmmm" /* 90 setcc */
	 "...mBm.....mBm.m" /* A0 bt, shld, bts, shrd, imul */
	 "mm.m..mm..Bmxxmm" /* B0 cmpxchg, btr, movzx, bts, bsf, bsr, movsx */
	 "mm......--------" /* C0 xadd, bswap */
	 ".mmmmm..mmmmmmmm" /* D0 psrl, padd, pmull, psub, pand */
	 "mmmmmm..mmmmmmmm" /* E0 pavg, psra, pmul, por, pxor */
	 ".mmmmmm.mmmmmmm."}, /* F0 psll, pmul, psad, psub, padd */
};

static bool has_modrm(char form)
{
	switch (form) {
	case 'm':
	case 'B':
	case 'Z':
	case '6':
	case '7':
	case 's':
	case 'x': return true;
	default: return false;
	}
}

static bool prefix_fits(uint8_t prefix, uint8_t map, uint8_t opcode, char form)
{
	if (prefix == 0)
		return true;
	if (prefix == 0x66 && form == '-')
		return map == INSN_MAP_DEFAULT && opcode == 0x90;
	if (prefix == 0x66)
		return form != 'j' && form != 'w' &&
		       !(map == INSN_MAP_DEFAULT && form == 'b' && (opcode & 0xf0) != 0xb0) &&
		       !(map == INSN_MAP_DEFAULT && (opcode == 0x68 || opcode == 0xff));
	return form == 's' || (form == 'x' && prefix == 0xf3);
}

static void take_modrm(struct cursor *c, struct insn_fields *f)
{
	uint8_t b = cursor_u8(c);

	f->has_modrm = true;
	f->mod = b >> 6;
	f->reg = b >> 3 & 7;
	f->rm = b & 7;
	if (f->mod == 3)
		return;
	f->has_sib = f->rm == 4;
	if (f->has_sib)
		f->base = cursor_u8(c) & 7;
	if (f->mod == 1)
		f->disp = (int8_t)cursor_u8(c);
	else if (f->mod == 2 || f->rm == 5 || (f->has_sib && f->base == 5))
		f->disp = cursor_i32(c);
}

/* Opcodes of which ModRM selects one of several instructions, not all of which exist; and lea, which takes memory. */
static bool modrm_fits(const struct insn_fields *f)
{
	if (f->map == INSN_MAP_0F)
		return f->opcode != 0xba || f->reg >= 4;
	switch (f->opcode) {
	case 0x8d: return f->mod != 3;
	case 0xc6:
	case 0xc7: return f->reg == 0;
	case 0xfe: return f->reg <= 1;
	case 0xff: return f->reg != 3 && f->reg != 5 && f->reg != 7;
	default: return true;
	}
}

static uint8_t imm_bits(char form, const struct insn_fields *f, bool short_)
{
	switch (form) {
	case '6': return f->reg <= 1 ? 8 : 0;
	case '7': return f->reg > 1 ? 0 : short_ ? 16 : 32;
	case 'B':
	case 'b': return 8;
	case 'w': return 16;
	case 'Z':
	case 'z': return short_ ? 16 : 32;
	case 'v': return f->rex_w ? 64 : short_ ? 16 : 32;
	case 'j': return 32;
	default: return 0;
	}
}

static int64_t take_imm(struct cursor *c, uint8_t bits)
{
	switch (bits) {
	case 8: return (int8_t)cursor_u8(c);
	case 16: return (int16_t)cursor_u16(c);
	case 32: return cursor_i32(c);
	case 64: return (int64_t)cursor_u64(c);
	default: return 0;
	}
}

bool insn_fields_take(const uint8_t *bytes, size_t n, struct insn_fields *ret)
{
	struct cursor c = cursor_make(bytes, n);
	uint8_t b = cursor_u8(&c), prefix = 0;
	char form;

	*ret = (struct insn_fields){0};
	if (b == 0x66 || b == 0xf2 || b == 0xf3) {
		prefix = b;
		b = cursor_u8(&c);
	}
	if ((b & 0xf0) == 0x40) {
		ret->rex_w = b & 8;
		ret->rex_r = b & 4;
		ret->rex_b = b & 1;
		b = cursor_u8(&c);
	}
	if (b == 0x0f) {
		ret->map = INSN_MAP_0F;
		b = cursor_u8(&c);
	}
	ret->opcode = b;
	form = forms[ret->map][b];
	if (form == '.' || !prefix_fits(prefix, ret->map, b, form))
		return false;
	if (has_modrm(form))
		take_modrm(&c, ret);
	if (ret->has_modrm && !modrm_fits(ret))
		return false;
	ret->imm_bits = imm_bits(form, ret, prefix == 0x66 && !ret->rex_w);
	ret->imm = take_imm(&c, ret->imm_bits);
	ret->len = (uint8_t)(c.p - bytes);
	return !c.bad;
}
