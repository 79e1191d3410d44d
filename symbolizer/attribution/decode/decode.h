#ifndef JS_ATTRIBUTION_DECODE_H
#define JS_ATTRIBUTION_DECODE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The facts about an instruction that control-flow analysis needs. Only the implementation knows the processor's
 * encoding; so far there is decode_x86_64.c.
 */
enum insn_class {
	INSN_OTHER,
	INSN_CALL, /* direct: target is set; control returns */
	INSN_CALL_INDIRECT,
	INSN_JCC, /* conditional branch: target or the next instruction */
	INSN_JMP,
	INSN_JMP_INDIRECT,
	INSN_RET,
	INSN_STOP, /* hlt, int3, ud2: control does not continue */
};

struct decoded {
	uint8_t len;
	uint8_t class; /* enum insn_class */
	bool memory; /* has a memory operand */
	bool floating; /* floating-point arithmetic */
	int64_t target; /* INSN_CALL, INSN_JCC, INSN_JMP: offset from the start of the bytes */
	/* For an INSN_OTHER that computes an address relative to the pc (lea): that address as an offset. */
	bool has_address;
	int64_t address;
	/* For an INSN_OTHER that loads a 64-bit constant into `reg`. */
	bool has_constant;
	uint64_t constant;
	/* The register of has_constant, or of the target of INSN_CALL_INDIRECT; -1: none. */
	int8_t reg;
	/* For an INSN_OTHER that loads a 32-bit constant into the first argument register of a Java call. */
	bool has_argument;
	int32_t argument;
	/* For an INSN_OTHER that compares a register with a 32-bit constant. */
	bool has_limit;
	int32_t limit;
	bool frame; /* has a memory operand relative to the stack pointer */
};

struct decoder;

struct decoder *decoder_new(void);
void decoder_free(struct decoder *d);

/* Decodes the instruction at bytes[at]; false: invalid or incomplete. */
bool decode_insn(const struct decoder *d, const uint8_t *bytes, uint32_t n_bytes, uint32_t at, struct decoded *ret);

/* Do the bytes before `at` look like a call? Cheap; other bytes may give true, too. */
bool bytes_end_in_call(const uint8_t *bytes, uint32_t at);

#endif
