/*
 * AsyncGetCallTrace knows compiled and interpreted frames, and nothing of the frames of the JVM's own stubs (copying,
 * encryption), of C code that compiled code calls without leaving the Java state (clocks, mathematics), and of a
 * method's first and last instructions. There it gets the registers that the caller will have after the return.
 */
#include "jvm-bridge/host/stacks/walk.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "jvm-bridge/host/base/address.h"
#include "jvm-bridge/host/base/libc_old.h"
#include "jvm-bridge/host/stacks/records.h"

#ifdef __x86_64__

enum {
	UNKNOWN_JAVA = -5, /* AsyncGetCallTrace's reasons, src/hotspot/share/prims/forte.cpp */
	NOT_WALKABLE_JAVA = -6,
	WORDS = 512, /* looked through for a return address */
	TRIES = 8,
	STUBS_MAX = 4096,
};

struct stub {
	uint64_t begin, end;
};

static struct {
	void (*get)(JVMPI_CallTrace *trace, jint depth, void *ucontext);
	uint64_t env; /* offset of the JNIEnv in a JavaThread */
	uint64_t base, size; /* of the stack; offsets in JavaThread */
	uint64_t low, high; /* all generated code lies between */
	pid_t pid;
	_Atomic bool ready; /* all above is known */
	struct stub *stubs;
	_Atomic uint32_t n_stubs;
} walk;

int walk_open(void)
{
	Dl_info info;
	void *lib;

	if (!dladdr((const void *)the_bridge.vm_functions->GetEnv, &info) || !info.dli_fname)
		return -ENOSYS;
	lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		return -ENOSYS;
	*(void **)&walk.get = dlsym(lib, "AsyncGetCallTrace");
	dlclose(lib);
	return walk.get ? 0 : -ENOSYS;
}

/* One heap of code up to JDK 8. */
static bool code_bounds(void)
{
	uint64_t low, high, heap, memory, low_boundary, high_boundary;
	const struct jvm_field now[] = {{"CodeCache", "_low_bound", &low}, {"CodeCache", "_high_bound", &high}};
	const struct jvm_field old[] = {{"CodeCache", "_heap", &heap},
					{"CodeHeap", "_memory", &memory},
					{"VirtualSpace", "_low_boundary", &low_boundary},
					{"VirtualSpace", "_high_boundary", &high_boundary}};

	if (jvm_fields_find(now, 2)) {
		walk.low = jvm_word(low);
		walk.high = jvm_word(high);
	} else if (jvm_fields_find(old, 4)) {
		memory += jvm_word(heap);
		walk.low = jvm_word(memory + low_boundary);
		walk.high = jvm_word(memory + high_boundary);
	}
	return walk.low && walk.low < walk.high;
}

void walk_init(uint64_t env_distance)
{
	const struct jvm_field stack[] = {{"JavaThread", "_stack_base", &walk.base},
					  {"JavaThread", "_stack_size", &walk.size}};

	if (atomic_load(&walk.ready))
		return;
	records_init();
	walk.env = env_distance;
	walk.pid = getpid();
	if (!jvm_fields_find(stack, 2) || !code_bounds())
		return;
	walk.stubs = calloc(STUBS_MAX, sizeof(*walk.stubs));
	if (walk.stubs)
		atomic_store(&walk.ready, true);
}

static const struct stub *stub_find(uint64_t pc)
{
	uint32_t n = atomic_load(&walk.n_stubs);

	for (uint32_t i = 0; i < n; i++)
		if (pc >= walk.stubs[i].begin && pc < walk.stubs[i].end)
			return &walk.stubs[i];
	return NULL;
}

void JNICALL walk_stub(const char *name, const void *addr, jint length)
{
	uint32_t n = atomic_load(&walk.n_stubs);
	uint64_t at = (uint64_t)(uintptr_t)addr;

	if (!walk.stubs || n == STUBS_MAX || length <= 0 || !name || !strncmp(name, "Interpreter", 11) || stub_find(at))
		return;
	walk.stubs[n] = (struct stub){at, at + (uint64_t)length};
	atomic_store(&walk.n_stubs, n + 1);
}

/* Code may be gone, or not be there yet: the kernel reads it. */
static bool code_read(uint64_t at, uint8_t *ret, size_t n)
{
	struct iovec to = {ret, n}, from = {(void *)(uintptr_t)at, n};

	return process_vm_readv(walk.pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

/* What follows a call in generated code. */
static bool is_return(uint64_t v)
{
	uint8_t b[8];

	if (v < walk.low + sizeof(b) || v >= walk.high || !code_read(v - sizeof(b), b, sizeof(b)))
		return false;
	return b[3] == 0xe8 || (b[6] == 0xff && (b[7] & 0x38) == 0x10) || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[2] == 0xff && (b[3] & 0x38) == 0x10);
}

/* How far a stub's push of rbp and move of rsp to it are from its begin; -1: it has no such frame. */
static int frame_begin(const struct stub *s)
{
	static const uint8_t enter[2][4] = {{0x55, 0x48, 0x8b, 0xec}, {0x55, 0x48, 0x89, 0xe5}};
	uint8_t b[12];

	if (s->end - s->begin < sizeof(b) || !code_read(s->begin, b, sizeof(b)))
		return -1;
	for (int i = 0; i <= (int)sizeof(b) - 4; i++)
		if (!memcmp(b + i, enter[0], 4) || !memcmp(b + i, enter[1], 4))
			return i;
	return -1;
}

struct place {
	JNIEnv *env;
	JVMPI_CallFrame *frames;
	jint depth;
	uint64_t pc, sp, fp, base;
	ucontext_t context; /* a copy to change */
	unsigned tries;
};

static jint trace_at(struct place *p, uint64_t pc)
{
	JVMPI_CallTrace trace = {p->env, 0, p->frames};

	p->context.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
	walk.get(&trace, p->depth, &p->context);
	return trace.num_frames;
}

/* With the registers of the context, and the record that fits pc best. */
static jint trace_near(struct place *p, uint64_t pc)
{
	jint n = trace_at(p, pc), better;
	uint64_t near = n > 0 ? record_near(pc) : pc;

	if (near == pc)
		return n;
	better = trace_at(p, near);
	return better > 0 ? better : trace_at(p, pc);
}

/* With the return address in the word at `at`. 0: not from there. */
static jint try_caller(struct place *p, uint64_t at, uint64_t fp)
{
	jint n;
	uint64_t v;

	if (at % 8 || at < p->sp || at + 8 > p->base)
		return 0;
	v = jvm_word(at);
	if (!is_return(v) || ++p->tries > TRIES)
		return 0;
	/* One less: the JVM looks for the place that belongs to what follows. */
	p->context.uc_mcontext.gregs[REG_RSP] = (greg_t)(at + 8);
	p->context.uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
	n = trace_near(p, v - 1);
	return n > 0 ? n : 0;
}

static jint from_stub(struct place *p, const struct stub *s)
{
	int enter = frame_begin(s);
	uint64_t at = p->pc - s->begin;
	jint n;

	if (enter >= 0 && at > (uint64_t)enter + 1 && p->fp >= p->sp && p->fp + 16 <= p->base && p->fp % 8 == 0) {
		n = try_caller(p, p->fp + 8, jvm_word(p->fp));
		if (n)
			return n;
	}
	if (enter >= 0 && at == (uint64_t)enter + 1)
		return try_caller(p, p->sp + 8, jvm_word(p->sp));
	return try_caller(p, p->sp, p->fp);
}

/* The nearest word that may be a return address; what lies below it may be the caller's frame pointer. */
static jint from_words(struct place *p)
{
	jint n = 0;

	for (uint64_t at = p->sp, i = 0; i < WORDS && at + 8 <= p->base && !n && p->tries < TRIES; i++, at += 8) {
		uint64_t below = i ? jvm_word(at - 8) : 0;

		n = try_caller(p, at, below > at && below < p->base ? below : p->fp);
	}
	return n;
}

static jint from_caller(struct place *p)
{
	const struct stub *s = p->pc >= walk.low && p->pc < walk.high ? stub_find(p->pc) : NULL;
	jint n = s ? from_stub(p, s) : 0;

	return n ? n : from_words(p);
}

jint walk_here(JNIEnv *env, JVMPI_CallFrame *frames, jint depth, const void *ucontext)
{
	struct place p = {.env = env, .frames = frames, .depth = depth};
	uint64_t thread = (uint64_t)(uintptr_t)env - walk.env;
	const greg_t *regs;
	jint n, found;

	memcpy(&p.context, ucontext, sizeof(p.context));
	n = trace_near(&p, (uint64_t)p.context.uc_mcontext.gregs[REG_RIP]);
	if ((n != UNKNOWN_JAVA && n != NOT_WALKABLE_JAVA) || !atomic_load(&walk.ready))
		return n;
	regs = p.context.uc_mcontext.gregs;
	p.pc = (uint64_t)regs[REG_RIP];
	p.sp = (uint64_t)regs[REG_RSP];
	p.fp = (uint64_t)regs[REG_RBP];
	p.base = jvm_word(thread + walk.base);
	/* A handler on a stack of its own may have been interrupted. */
	if (p.sp % 8 || p.sp >= p.base || p.base - p.sp > jvm_word(thread + walk.size))
		return n;
	found = from_caller(&p);
	return found > 0 ? found : n;
}

#else

int walk_open(void)
{
	return -ENOSYS;
}

void walk_init(uint64_t env_distance)
{
	(void)env_distance;
}

void JNICALL walk_stub(const char *name, const void *addr, jint length)
{
	(void)name, (void)addr, (void)length;
}

jint walk_here(JNIEnv *env, JVMPI_CallFrame *frames, jint depth, const void *ucontext)
{
	(void)env, (void)frames, (void)depth, (void)ucontext;
	return 0;
}

#endif
