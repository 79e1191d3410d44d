#ifndef JS_TESTS_UNWIND_FAKE_H
#define JS_TESTS_UNWIND_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/model/walk.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "symbolizer/target/regs.h"

/*
 * A JVM of a few blobs, methods and native functions, made of arrays: it takes the place of
 * js_hotspot, modmap and dso behind the unwinder.
 */
enum {
	FAKE_CODES = 16,
	FAKE_CODE_SIZE = 0x1000,
	FAKE_STACK_WORDS = 1 << 19,
};

#define FAKE_CACHE UINT64_C(0x7f0000000000) /* blob i: FAKE_CACHE + i * FAKE_CODE_SIZE */
#define FAKE_NATIVE UINT64_C(0x7f1000000000)
#define FAKE_STACK UINT64_C(0x7ffe00000000)
#define FAKE_STACK_END (FAKE_STACK + 8ull * FAKE_STACK_WORDS)
#define FAKE_METHOD UINT64_C(0x7f2000000000) /* Method* number i: + i * 0x100 */
#define FAKE_BYTECODES UINT64_C(0x7f3000000000) /* of method i: + i * 0x100, 0x80 long */

/* Native functions, 4 KiB each. */
#define NATIVE_FRAMED (FAKE_NATIVE + 0x100) /* row: CFA = sp + 16, fp at CFA - 16, RA at CFA - 8 */
#define NATIVE_ROOT (FAKE_NATIVE + 0x1100) /* row: return address undefined */
#define NATIVE_NO_ROWS (FAKE_NATIVE + 0x2100)
#define NATIVE_STUCK (FAKE_NATIVE + 0x3100) /* row: CFA = sp, RA at CFA + 0 */
#define NATIVE_SIGNAL (FAKE_NATIVE + 0x4100) /* row: signal frame, CFA = sp + 32, RA at CFA - 8 */
#define NATIVE_ANON (FAKE_NATIVE + 0x5100) /* executable memory without a file */

struct arch;
struct hs_interp_layout;
struct patterns;

struct fake {
	struct code code[FAKE_CODES]; /* [0] is none, [1] the interpreter */
	uint8_t bytes[FAKE_CODES][FAKE_CODE_SIZE];
	uint64_t stack[FAKE_STACK_WORDS];
	uint64_t call_stub_return, barrier, cont_return, cont_entry;
	bool has_thread, in_deopt;
	bool lost; /* classes were unloaded since the sample */
	struct hs_anchor anchor, wrapper_anchor;
	int bad_walk_ends; /* so many times hotspot_walk_end() says no */
	enum stub_role codelet; /* of all offsets from codelet_from on */
	uint64_t codelet_from;

	struct regs regs;
	uint64_t top; /* address of the last word pushed */
	size_t copied; /* bytes of stack handed over as copied; the rest is memory */
	const uint8_t *frozen; /* copy of the heap handed over with the sample */
	size_t frozen_len;
	unsigned enter; /* the method that is Continuation.enter */
	uint32_t linker; /* id of a method of java.lang.invoke.MethodHandle */
	uint32_t caller, callee; /* ids: the first calls the second, at */
	int32_t caller_bci;
	const char *dso_name; /* of the native functions' file; NULL: "libfake.so" */
	uint64_t kernel[4];
	size_t n_kernel;
	uint64_t frame_pc; /* of the last hs_code_read_frame() */
};

extern struct fake fake;

void fake_reset(void); /* x86-64, JDK 17 */
void fake_reset_on(const struct arch *arch, const struct patterns *patterns, const struct hs_interp_layout *layout);
struct code *fake_code(unsigned id, enum blob_kind kind, int frame_size);
void fake_bytes(unsigned id, uint32_t off, const void *bytes, size_t len);
uint64_t fake_call(unsigned id, uint32_t off); /* a call that returns to code begin + off */
uint64_t fake_native_call(uint64_t at);
void fake_native_bytes(uint64_t at, const void *bytes, size_t len);
void fake_push(uint64_t word);
void fake_walk(struct walk *ret); /* from fake.regs; the walk is valid until the next */

#endif
