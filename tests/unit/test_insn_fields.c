#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <Zydis/Zydis.h>
#include <string.h>

#include "symbolizer/insn/insn_x86_64.h"

enum { MAX = 16 };

static ZydisDecoder zydis;

static int set_up(void **state)
{
	(void)state;
	return ZYAN_SUCCESS(ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
			       ZYAN_SUCCESS(ZydisDecoderEnableMode(&zydis, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)) ?
		       0 :
		       -1;
}

static void expect_same(const struct insn_fields *f, const ZydisDecodedInstruction *z)
{
	int shift = 64 - f->imm_bits;

	assert_int_equal(f->len, z->length);
	assert_int_equal(z->encoding, ZYDIS_INSTRUCTION_ENCODING_LEGACY);
	assert_int_equal(z->opcode_map, f->map == INSN_MAP_0F ? ZYDIS_OPCODE_MAP_0F : ZYDIS_OPCODE_MAP_DEFAULT);
	assert_int_equal(f->opcode, z->opcode);
	assert_int_equal(f->rex_w, z->raw.rex.W);
	assert_int_equal(f->rex_r, z->raw.rex.R);
	assert_int_equal(f->rex_b, z->raw.rex.B);
	assert_int_equal(f->has_modrm, z->raw.modrm.offset != 0);
	assert_int_equal(f->mod, z->raw.modrm.mod);
	assert_int_equal(f->reg, z->raw.modrm.reg);
	assert_int_equal(f->rm, z->raw.modrm.rm);
	assert_int_equal(f->has_sib, z->raw.sib.offset != 0);
	assert_int_equal(f->base, z->raw.sib.base);
	assert_int_equal(f->disp, z->raw.disp.value);
	assert_int_equal(f->imm_bits, z->raw.imm[0].size);
	if (f->imm_bits)
		assert_int_equal(f->imm, (int64_t)(z->raw.imm[0].value.u << shift) >> shift);
}

/* What is taken is what Zydis finds, and an incomplete instruction is not taken. */
static bool compare(const uint8_t bytes[MAX])
{
	ZydisDecodedInstruction z;
	struct insn_fields f, cut;

	if (!insn_fields_take(bytes, MAX, &f))
		return false;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&zydis, NULL, bytes, MAX, &z)))
		fail_msg("%02x %02x %02x %02x %02x is no instruction", bytes[0], bytes[1], bytes[2], bytes[3],
			 bytes[4]);
	expect_same(&f, &z);
	assert_false(insn_fields_take(bytes, f.len - 1, &cut));
	return true;
}

/* Each opcode of a map, with each ModRM byte, which is a constant where the opcode has none. */
static unsigned compare_all(const uint8_t *before, size_t n, bool two_bytes)
{
	unsigned taken = 0;

	for (unsigned opcode = 0; opcode < 256; opcode++)
		for (unsigned modrm = 0; modrm < 256; modrm++) {
			uint8_t bytes[MAX + 4], sib = (uint8_t)(modrm * 37 + opcode);
			size_t at = n;

			memset(bytes, 0x81 + opcode, sizeof(bytes));
			memcpy(bytes, before, n);
			if (two_bytes)
				bytes[at++] = 0x0f;
			bytes[at++] = (uint8_t)opcode;
			bytes[at++] = (uint8_t)modrm;
			bytes[at++] = sib;
			taken += compare(bytes);
		}
	return taken;
}

static void as_zydis_has_it(void **state)
{
	static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3}, rexes[] = {0, 0x40, 0x41, 0x42, 0x44, 0x48, 0x4f};

	(void)state;
	for (size_t p = 0; p < sizeof(prefixes); p++)
		for (size_t r = 0; r < sizeof(rexes); r++) {
			uint8_t before[2];
			size_t n = 0;

			if (prefixes[p])
				before[n++] = prefixes[p];
			if (rexes[r])
				before[n++] = rexes[r];
			compare_all(before, n, false);
			compare_all(before, n, true);
		}
}

/* Without prefixes, most of each map is taken: otherwise there would be little to compare. */
static void takes_most(void **state)
{
	const uint8_t none[1] = {0};

	(void)state;
	assert_in_range(compare_all(none, 0, false), 256 * 170, 256 * 256);
	assert_in_range(compare_all(none, 0, true), 256 * 120, 256 * 256);
}

static void leaves_out_others(void **state)
{
	static const uint8_t others[][MAX] = {
		{0x67, 0x8b, 0x00}, /* mov eax,[eax] */
		{0xf0, 0x0f, 0xb1, 0x0a}, /* lock cmpxchg [rdx],ecx */
		{0xc5, 0xf8, 0x77}, /* vzeroupper */
		{0x0f, 0x38, 0xf1, 0x00}, /* movbe [rax],eax */
		{0x48, 0x66, 0x90}, /* REX that is not last */
		{0x0f, 0x20, 0xdc}, /* mov rsp,cr3 */
		{0xd9, 0x00}, /* fld [rax] */
		{0x06}, /* no instruction */
	};
	struct insn_fields f;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(insn_fields_take(others[i], MAX, &f));
	assert_false(insn_fields_take(others[0], 0, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_zydis_has_it),
		cmocka_unit_test(takes_most),
		cmocka_unit_test(leaves_out_others),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
