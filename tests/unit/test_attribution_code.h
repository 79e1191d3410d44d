#ifndef TEST_ATTRIBUTION_CODE_H
#define TEST_ATTRIBUTION_CODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "symbolizer/attribution/env.h"

/*
 * A struct code made by hand: machine code with branches, records, scopes, and the little of a JVM
 * that attribution asks for. Method ids 1 .. are those of `methods`; 1 is the compiled method.
 */
enum {
	FAKE_BEGIN = 0x100000,
	FAKE_TRAP = 0x50000, /* entry of the uncommon-trap blob */
	FAKE_RUNTIME = 0x51000, /* a slow path */
	FAKE_LEAF = 0x52000, /* a stub: calls have no record */
	FAKE_JAVA = 0x53000, /* another nmethod */
	FAKE_NATIVE = 0x54000, /* not in the code cache */
	FAKE_METHODS = 8,
	FAKE_REQUEST_LOOP = -2, /* of a trap that is a check done before a loop */
	FAKE_REQUEST_BRANCH = -3, /* of one that is a branch of the program */
};

struct fake {
	struct code code;
	uint8_t bytes[8192];
	uint8_t scopes[4096];
	struct code_record records[256];
	struct code_pair null_checks[64];
	uint32_t handlers[16];
	uint32_t method_ids[FAKE_METHODS];
	struct hs_method methods[FAKE_METHODS];
	uint32_t callees[FAKE_METHODS][256]; /* by caller id - 1 and bci */
	struct attribution_env env;
	uint8_t constants[256]; /* in front of the code */
};

static inline enum blob_role fake_role(void *ctx, uint64_t target)
{
	(void)ctx;
	switch (target) {
	case FAKE_TRAP: return ROLE_UNCOMMON_TRAP;
	case FAKE_RUNTIME: return ROLE_RUNTIME;
	case FAKE_LEAF: return ROLE_LEAF;
	case FAKE_NATIVE: return ROLE_NATIVE;
	}
	return ROLE_NONE;
}

static inline const struct hs_method *fake_method(void *ctx, uint32_t id)
{
	struct fake *f = ctx;

	return id >= 1 && id <= FAKE_METHODS ? &f->methods[id - 1] : NULL;
}

static inline uint32_t fake_callee(void *ctx, uint32_t id, int32_t bci)
{
	struct fake *f = ctx;

	return id >= 1 && id <= FAKE_METHODS && bci >= 0 && bci < 256 ? f->callees[id - 1][bci] : 0;
}

static inline uint32_t fake_constants(void *ctx, uint64_t addr, uint8_t *dst, uint32_t len)
{
	struct fake *f = ctx;
	uint64_t off = addr - (FAKE_BEGIN - sizeof(f->constants));

	if (off >= sizeof(f->constants) || len > sizeof(f->constants) - off)
		return 0;
	memcpy(dst, f->constants + off, len);
	return len;
}

static inline enum trap_kind fake_trap_kind(void *ctx, int32_t request)
{
	(void)ctx;
	if (request == FAKE_REQUEST_LOOP)
		return TRAP_OF_LOOP;
	return request == FAKE_REQUEST_BRANCH ? TRAP_OF_BRANCH : TRAP_OF_CHECK;
}

static inline void fake_init(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	f->code = (struct code){
		.id = 1,
		.kind = BLOB_NMETHOD,
		.begin = FAKE_BEGIN,
		.method_id = 1,
		.tier = TIER_C2,
		.osr_bci = -1,
		.osr_entry = -1,
		.deopt_handler = -1,
		.deopt_mh_handler = -1,
		.exception_handler = -1,
		.stub_begin = -1,
		.records = f->records,
		.scopes = f->scopes,
		.scopes_len = 1, /* offset 0 is "no scope" */
		.methods = f->method_ids,
		.n_methods = FAKE_METHODS,
		.bytes = f->bytes,
		.null_checks = f->null_checks,
		.handlers = f->handlers,
	};
	for (uint32_t i = 0; i < FAKE_METHODS; i++)
		f->method_ids[i] = i + 1;
	f->env = (struct attribution_env){
		.ctx = f,
		.major = 17,
		.role = fake_role,
		.method = fake_method,
		.bytes = fake_constants,
		.callee = fake_callee,
		.trap = fake_trap_kind,
	};
}

static inline uint32_t fake_here(const struct fake *f)
{
	return f->code.n_bytes;
}

static inline uint32_t fake_emit(struct fake *f, const void *bytes, uint32_t n)
{
	uint32_t at = f->code.n_bytes;

	assert_true(n <= sizeof(f->bytes) - at);
	memcpy(f->bytes + at, bytes, n);
	f->code.n_bytes += n;
	f->code.end = f->code.begin + f->code.n_bytes;
	return at;
}

static inline void fake_patch(struct fake *f, uint32_t insn, uint32_t len, int64_t target)
{
	int32_t rel = (int32_t)(target - (int64_t)(insn + len));

	memcpy(f->bytes + insn + len - 4, &rel, 4);
}

/* add eax, ecx: n of them, 2 bytes each; the offset of the first. */
static inline uint32_t fake_work(struct fake *f, int n)
{
	uint32_t at = fake_here(f);

	while (n-- > 0)
		fake_emit(f, "\x01\xc8", 2);
	return at;
}

/* mov eax, [rcx] */
static inline uint32_t fake_load(struct fake *f)
{
	return fake_emit(f, "\x8b\x01", 2);
}

static inline uint32_t fake_ret(struct fake *f)
{
	return fake_emit(f, "\xc3", 1);
}

/* Branches; the target is patched by fake_bind(), or given. */
static inline uint32_t fake_je(struct fake *f)
{
	return fake_emit(f, "\x0f\x84\0\0\0\0", 6);
}

static inline uint32_t fake_jmp(struct fake *f)
{
	return fake_emit(f, "\xe9\0\0\0\0", 5);
}

static inline void fake_bind(struct fake *f, uint32_t insn)
{
	fake_patch(f, insn, f->bytes[insn] == 0x0f ? 6 : 5, f->code.n_bytes);
}

static inline uint32_t fake_je_to(struct fake *f, uint32_t target)
{
	uint32_t at = fake_je(f);

	fake_patch(f, at, 6, target);
	return at;
}

static inline uint32_t fake_scope_byte(struct fake *f, uint32_t v)
{
	assert_true(v < 192);
	f->scopes[f->code.scopes_len++] = (uint8_t)v;
	return f->code.scopes_len;
}

/* A scope called from `sender` (0: the compiled method has no caller); its offset. */
static inline int32_t fake_scope(struct fake *f, int32_t sender, uint32_t method, int32_t bci)
{
	int32_t at = (int32_t)f->code.scopes_len;

	fake_scope_byte(f, (uint32_t)sender);
	fake_scope_byte(f, method);
	fake_scope_byte(f, (uint32_t)(bci + 1));
	return at;
}

/* Records must be added in the order of their offsets; fake_call() and fake_poll() do. */
static inline void fake_record(struct fake *f, uint32_t off, int32_t scope, bool safepoint)
{
	f->records[f->code.n_records++] =
		(struct code_record){.pc_offset = (int32_t)off, .scope_offset = scope, .safepoint = safepoint};
	if (!safepoint)
		f->code.n_extra_records++;
}

/* A call; scope 0: without a record. */
static inline uint32_t fake_call(struct fake *f, uint64_t target, int32_t scope)
{
	uint32_t at = fake_emit(f, "\xe8\0\0\0\0", 5);

	fake_patch(f, at, 5, (int64_t)target - FAKE_BEGIN);
	if (scope)
		fake_record(f, fake_here(f), scope, true);
	return at;
}

/* test eax, [r10] */
static inline uint32_t fake_poll(struct fake *f, int32_t scope)
{
	uint32_t at = fake_emit(f, "\x41\x85\x02", 3);

	fake_record(f, at, scope, true);
	return at;
}

/* A branch to an uncommon trap; fake_traps() emits the traps themselves. */
struct fake_trap {
	uint32_t insn;
	int32_t scope;
};

/* mov esi, request */
static inline uint32_t fake_request(struct fake *f, int32_t request)
{
	uint32_t at = fake_emit(f, "\xbe", 1);

	fake_emit(f, &request, 4);
	return at;
}

/* requests: what each loads, 0 is nothing; NULL: none does. */
static inline void fake_requested_traps(struct fake *f, const struct fake_trap *traps, const int32_t *requests, int n)
{
	for (int i = 0; i < n; i++) {
		fake_bind(f, traps[i].insn);
		if (requests && requests[i])
			fake_request(f, requests[i]);
		fake_work(f, 1);
		fake_call(f, FAKE_TRAP, traps[i].scope);
	}
}

static inline void fake_traps(struct fake *f, const struct fake_trap *traps, int n)
{
	fake_requested_traps(f, traps, NULL, n);
}

static inline void fake_bytecodes(struct fake *f, uint32_t id, const void *bytes, uint16_t n)
{
	f->methods[id - 1].id = id;
	f->methods[id - 1].bytecodes = bytes;
	f->methods[id - 1].code_size = n;
}

#endif
