#ifndef JS_UNWIND_PATTERNS_H
#define JS_UNWIND_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What code of HotSpot and libc looks like on one processor, where the unwinder has to recognise it by its bytes or
 * registers. One const struct and one file per processor. Facts of the ABI are in struct arch.
 */
enum { STUB_WORDS_MAX = 32, STUB_SAVED_MAX = 16 };

struct patterns {
	/* The frame of call_stub, from C++ to Java: its words, counted from the frame pointer, and which of the
	 * caller's registers they hold, with the pc (DWARF numbers). The caller's sp is right above the last word.
	 */
	int8_t stub_first;
	uint8_t stub_words, n_stub_saved;
	struct {
		uint8_t reg;
		int8_t word;
	} stub_saved[STUB_SAVED_MAX];

	uint8_t result_reg; /* of a call, and of a system call */
	/* Is a system call among these bytes? */
	bool (*has_syscall)(const uint8_t *bytes, uint32_t n);

	/* Length of the instruction that saves the frame pointer in a frame of `frame_bytes`, without the return
	 * address; 0: the bytes begin with another instruction. */
	uint32_t (*saves_fp)(const uint8_t *bytes, uint32_t n, uint32_t frame_bytes);
	/* Offset of the end of the instruction that makes such a frame; 0: there is none. */
	uint32_t (*frame_made)(const uint8_t *bytes, uint32_t n, uint32_t frame_bytes);
	/* Do the bytes begin the stub of a static call? Its jump is `static_call_jump` bytes further on. */
	bool (*is_static_call)(const uint8_t *bytes, uint32_t n);
	uint8_t static_call_jump;
};

extern const struct patterns patterns_x86_64;

/* Of the processor that this program runs on. */
const struct patterns *patterns_host(void);

#endif
