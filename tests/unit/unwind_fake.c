#include "unwind_fake.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "sampler/unwind/patterns.h"
#include "sampler/unwind/unwinder.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/callee.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/reader/hs_arch.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"

struct fake fake;
static struct unwinder *unwinder;
static struct unwinder_room *room; /* of all JVMs in turn: what is known about one is not true of the next */
static const struct arch *arch;
static const struct hs_interp_layout *layout;
static uint8_t native_bytes[0x6000];

/* Target memory: the stack and the native code. */
static size_t fake_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	(void)m;
	if (addr >= FAKE_STACK && addr < FAKE_STACK_END) {
		len = len < FAKE_STACK_END - addr ? len : FAKE_STACK_END - addr;
		memcpy(dst, (uint8_t *)fake.stack + (addr - FAKE_STACK), len);
		return len;
	}
	if (addr >= FAKE_NATIVE && addr + len <= FAKE_NATIVE + sizeof(native_bytes)) {
		memcpy(dst, native_bytes + (addr - FAKE_NATIVE), len);
		return len;
	}
	return 0;
}

static const struct mem_ops fake_ops = {.read = fake_read};
static struct mem fake_mem = {.ops = &fake_ops};

void fake_native_bytes(uint64_t at, const void *bytes, size_t len)
{
	memcpy(native_bytes + (at - FAKE_NATIVE), bytes, len);
}

void fake_reset_on(const struct arch *a, const struct patterns *patterns, const struct hs_interp_layout *l)
{
	arch = a;
	layout = l;
	unwinder_free(unwinder);
	memset(&fake, 0, sizeof(fake));
	memset(native_bytes, 0, sizeof(native_bytes));
	fake.top = FAKE_STACK_END;
	unwinder = unwinder_new((struct modmap *)&fake, (struct hotspot *)&fake, &fake_mem,
				(struct unwinder_options){.kernel = true, .arch = a, .patterns = patterns});
	assert_non_null(unwinder);
	if (!room)
		room = unwinder_room_new();
	assert_non_null(room);
	unwinder_share(unwinder, room);
	fake_code(1, BLOB_INTERPRETER, 0);
}

void fake_reset(void)
{
	static const struct hs_interp_layout layout_17 = {-1, -2, -3, -8, -7, 1, 0, X86_R13, X86_RBX, X86_R13};

	fake_reset_on(&arch_x86_64, &patterns_x86_64, &layout_17);
}

struct code *fake_code(unsigned id, enum blob_kind kind, int frame_size)
{
	struct code *c = &fake.code[id];

	*c = (struct code){
		.id = id,
		.kind = kind,
		.blob = FAKE_CACHE + id * FAKE_CODE_SIZE,
		.blob_size = FAKE_CODE_SIZE,
		.begin = FAKE_CACHE + id * FAKE_CODE_SIZE,
		.end = FAKE_CACHE + (id + 1) * FAKE_CODE_SIZE,
		.frame_size = frame_size,
		.frame_complete = -1,
		.name = "fake",
		.osr_bci = -1,
		.osr_entry = -1,
		.deopt_handler = -1,
		.deopt_mh_handler = -1,
		.exception_handler = -1,
		.stub_begin = -1,
	};
	return c;
}

void fake_bytes(unsigned id, uint32_t off, const void *bytes, size_t len)
{
	memcpy(fake.bytes[id] + off, bytes, len);
}

uint64_t fake_call(unsigned id, uint32_t off)
{
	fake.bytes[id][off - 5] = 0xe8;
	return FAKE_CACHE + id * FAKE_CODE_SIZE + off;
}

uint64_t fake_native_call(uint64_t at)
{
	native_bytes[at - FAKE_NATIVE - 5] = 0xe8;
	return at;
}

void fake_push(uint64_t word)
{
	fake.top -= 8;
	fake.stack[(fake.top - FAKE_STACK) / 8] = word;
}

void fake_walk(struct walk *ret)
{
	uint64_t sp = fake.regs.r[arch->sp];
	struct raw_sample s = {
		.has_user = true,
		.regs = fake.regs,
		.stack_addr = sp,
		.kernel = fake.kernel,
		.n_kernel = fake.n_kernel,
		.frozen = fake.frozen,
		.frozen_len = fake.frozen_len,
	};

	if (sp >= FAKE_STACK && sp < FAKE_STACK_END) {
		s.stack = (uint8_t *)fake.stack + (sp - FAKE_STACK);
		s.stack_len = fake.copied < FAKE_STACK_END - sp ? fake.copied : FAKE_STACK_END - sp;
	}
	unwinder_walk(unwinder, &s, fake.has_thread ? 7 : 0, ret);
}

/* What stands for js_hotspot. */
static unsigned code_index(uint64_t pc)
{
	return pc >= FAKE_CACHE ? (unsigned)((pc - FAKE_CACHE) / FAKE_CODE_SIZE) : 0;
}

uint32_t hs_code_find(struct hotspot *hs, uint64_t pc)
{
	unsigned i = code_index(pc);

	(void)hs;
	return i < FAKE_CODES ? fake.code[i].id : 0;
}

const struct code *hs_code(const struct hotspot *hs, uint32_t id)
{
	(void)hs;
	return id ? &fake.code[id] : NULL;
}

bool hs_in_code_cache(const struct hotspot *hs, uint64_t pc)
{
	(void)hs;
	return pc >= FAKE_CACHE && code_index(pc) < FAKE_CODES;
}

bool hs_in_interpreter(const struct hotspot *hs, uint64_t pc)
{
	(void)hs;
	return hs_in_code_cache(hs, pc) && code_index(pc) == 1;
}

uint64_t hs_call_stub_return(const struct hotspot *hs)
{
	(void)hs;
	return fake.call_stub_return;
}

uint64_t hs_cont_return_barrier(const struct hotspot *hs)
{
	(void)hs;
	return fake.barrier;
}

uint64_t hs_cont_entry_return(struct hotspot *hs)
{
	(void)hs;
	return fake.cont_return;
}

enum stub_role hs_codelet_role(const struct hotspot *hs, uint64_t pc)
{
	(void)hs;
	return pc - FAKE_CACHE - FAKE_CODE_SIZE >= fake.codelet_from ? fake.codelet : STUB_OTHER;
}

const struct hs_interp_layout *hs_interp_layout(const struct hotspot *hs)
{
	(void)hs;
	return layout;
}

int hs_call_wrapper_offset(const struct hotspot *hs)
{
	(void)hs;
	return -6;
}

uint32_t hs_code_bytes(struct hotspot *hs, uint64_t pc, uint8_t *dst, uint32_t len)
{
	uint64_t off = (pc - FAKE_CACHE) % FAKE_CODE_SIZE;

	if (!hs_in_code_cache(hs, pc))
		return 0;
	len = len < FAKE_CODE_SIZE - off ? len : (uint32_t)(FAKE_CODE_SIZE - off);
	memcpy(dst, fake.bytes[code_index(pc)] + off, len);
	return len;
}

void hs_code_read_frame(struct hotspot *hs, uint32_t code_id, uint64_t pc)
{
	(void)hs;
	assert_int_equal(code_id, code_index(pc));
	fake.frame_pc = pc;
}

bool hs_bytes_before(struct hotspot *hs, uint64_t pc, uint8_t ret[8])
{
	return hs_code_bytes(hs, pc - 8, ret, 8) == 8;
}

const struct hs_thread *hs_thread_find(struct hotspot *hs, int32_t tid)
{
	static const struct hs_thread t = {1, 7, FAKE_STACK_END, 8ull * FAKE_STACK_WORDS, 0, 0};

	(void)hs;
	return tid == 7 ? &t : NULL;
}

bool hs_thread_anchor(struct hotspot *hs, const struct hs_thread *t, struct hs_anchor *ret)
{
	(void)hs;
	(void)t;
	*ret = fake.anchor;
	return fake.anchor.sp != 0;
}

bool hs_wrapper_anchor(struct hotspot *hs, uint64_t wrapper, struct hs_anchor *ret)
{
	(void)hs;
	(void)wrapper;
	*ret = fake.wrapper_anchor;
	return true;
}

uint64_t hs_thread_cont_entry(struct hotspot *hs, const struct hs_thread *t)
{
	(void)hs;
	(void)t;
	return fake.cont_entry;
}

uint64_t hs_cont_entry_parent(struct hotspot *hs, uint64_t entry)
{
	(void)hs;
	(void)entry;
	return 0;
}

bool hs_thread_in_deopt(struct hotspot *hs, const struct hs_thread *t)
{
	(void)hs;
	(void)t;
	return fake.in_deopt;
}

uint32_t hs_method_find(struct hotspot *hs, uint64_t method)
{
	(void)hs;
	return method > FAKE_METHOD && method < FAKE_METHOD + 0x1000 ? (uint32_t)(method - FAKE_METHOD) / 0x100 : 0;
}

bool hs_method_lost(struct hotspot *hs)
{
	(void)hs;
	return fake.lost;
}

const struct hs_method *hs_method(const struct hotspot *hs, uint32_t id)
{
	static struct hs_method m;
	bool enter = id == fake.enter, linker = id == fake.linker;

	(void)hs;
	m = (struct hs_method){.id = id,
			       .name = enter ? "enter" : "m",
			       .class_name = enter  ? "jdk/internal/vm/Continuation" :
					     linker ? "java/lang/invoke/MethodHandle" :
						      "C",
			       .code_base = FAKE_BYTECODES + id * 0x100,
			       .code_size = 0x80,
			       .access_flags = id == 9 ? METHOD_NATIVE : 0};
	return id ? &m : NULL;
}

int32_t hs_method_bci(const struct hs_method *m, uint64_t bcp)
{
	return bcp >= m->code_base && bcp - m->code_base < m->code_size ? (int32_t)(bcp - m->code_base) : -1;
}

/* A frame's scope is its method, and its bci is scope_offset. */
size_t code_scopes_at(const struct code *c, int major, int32_t scope_offset, struct code_scope *ret, size_t max)
{
	(void)major;
	(void)max;
	*ret = (struct code_scope){c->method_id, scope_offset};
	return 1;
}

uint32_t hs_callee_at(struct hotspot *hs, uint32_t method_id, int32_t bci)
{
	(void)hs;
	return method_id == fake.caller && bci == fake.caller_bci ? fake.callee : 0;
}

const struct hs_version *hotspot_version(const struct hotspot *hs)
{
	static const struct hs_version v = {.major = 17};

	(void)hs;
	return &v;
}

void hotspot_walk_times(struct hotspot *hs, uint64_t sample_ns, uint64_t now_ns)
{
	(void)hs;
	(void)sample_ns;
	(void)now_ns;
}

void hotspot_walk_begin(struct hotspot *hs)
{
	(void)hs;
}

bool hotspot_walk_end(struct hotspot *hs)
{
	(void)hs;
	return fake.bad_walk_ends-- <= 0;
}

/* What stands for modmap and dso. */
struct modmap_hit modmap_find(struct modmap *m, uint64_t addr)
{
	uint64_t off = addr - FAKE_NATIVE;

	(void)m;
	if (addr < FAKE_NATIVE || off >= sizeof(native_bytes))
		return (struct modmap_hit){MODMAP_NONE, 0, 0, NULL};
	if (off >= 0x5000)
		return (struct modmap_hit){MODMAP_ANON, 0, 0, NULL};
	return (struct modmap_hit){MODMAP_DSO, 3, off, (struct dso *)&fake};
}

const char *dso_name(const struct dso *d)
{
	(void)d;
	return fake.dso_name ? fake.dso_name : "libfake.so";
}

int dso_cfi_row(struct dso *d, uint64_t vaddr, const struct cfi_row **ret)
{
	static struct cfi_row row;
	static const int cfa_off[] = {16, 16, 0, 0, 32}, ra_off[] = {-8, -8, 0, 0, -8};
	unsigned fn = (unsigned)(vaddr / 0x1000);

	(void)d;
	if (fn == 2)
		return -ENOENT;
	memset(&row, 0, sizeof(row));
	row.cfa_reg = (uint8_t)arch->sp;
	row.cfa_off = cfa_off[fn];
	row.signal_frame = fn == 4;
	row.rule[arch->pc] = (struct cfi_rule){fn == 1 ? CFI_UNDEFINED : CFI_OFFSET, ra_off[fn]};
	if (fn == 0)
		row.rule[arch->fp] = (struct cfi_rule){CFI_OFFSET, -16};
	assert_int_equal(cfi_row_seal(&row), 0);
	*ret = &row;
	return 0;
}
