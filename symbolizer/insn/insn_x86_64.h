#ifndef JS_INSN_INSN_X86_64_H
#define JS_INSN_INSN_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes apart the x86-64 instructions that compilers emit most: nine of ten in a method, in a fraction of the time that a
 * full decoder takes. For others, and where validity depends on more than is looked at, there is Zydis.
 */
enum insn_map { INSN_MAP_DEFAULT, INSN_MAP_0F, INSN_MAP_0F38, INSN_MAP_OTHER };

struct insn_fields {
	uint8_t len;
	uint8_t map; /* enum insn_map */
	uint8_t opcode; /* the byte after those that select the map */
	bool rex_w, rex_r, rex_b;
	bool has_modrm;
	uint8_t mod, reg, rm; /* without REX */
	bool has_sib;
	uint8_t base; /* of the SIB byte, without REX */
	int32_t disp;
	uint8_t imm_bits; /* of the constant, or the distance of a branch; 0: none */
	int64_t imm; /* extended by its sign */
};

/* false: none of these, or incomplete. */
bool insn_fields_take(const uint8_t *bytes, size_t n, struct insn_fields *ret);

#endif
