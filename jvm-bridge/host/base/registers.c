/*
 * Registers of a thread at the point where SuspendThread stopped it. The JVM keeps those of the last Java frame
 * (JavaFrameAnchor: pc, sp, fp); the others were saved on the stack above that sp, by the safepoint poll's stub or by
 * the interpreter. The checksum over both is the paper's. Native code called from that frame is not covered: JVMTI's
 * suspension does not stop it.
 */
#include "jvm-bridge/host/base/registers.h"
#include "jvm-bridge/host/base/address.h"

enum { STACK_BYTES = 8192 }; /* the poll's stub saves up to 3 kB, with AVX-512 registers; frames follow */

static struct {
	_Atomic bool ready;
	uint64_t env; /* offset of the JNIEnv in a JavaThread */
	uint64_t anchor, sp, pc, fp; /* offsets in JavaThread; in JavaFrameAnchor */
	uint64_t base, size; /* of the stack; offsets in JavaThread */
} at;

void registers_init(uint64_t env_distance)
{
	const struct jvm_field fields[] = {
		{"JavaThread", "_anchor", &at.anchor},        {"JavaFrameAnchor", "_last_Java_sp", &at.sp},
		{"JavaFrameAnchor", "_last_Java_pc", &at.pc}, {"JavaFrameAnchor", "_last_Java_fp", &at.fp},
		{"JavaThread", "_stack_base", &at.base},      {"JavaThread", "_stack_size", &at.size},
	};

	at.env = env_distance;
	if (jvm_fields_find(fields, sizeof(fields) / sizeof(*fields)))
		atomic_store(&at.ready, true);
	else
		bridge_say("has_run=registers: unknown layout of threads in this JVM; ThreadHasRun uses the CPU clock");
}

bool registers_known(void)
{
	return atomic_load(&at.ready);
}

static uint64_t add(uint64_t sum, uint64_t v)
{
	return (sum ^ v) * 0x9e3779b97f4a7c15u + (sum >> 29);
}

uint64_t registers_sum(JNIEnv *env)
{
	uint64_t thread = (uint64_t)(uintptr_t)env - at.env, anchor = thread + at.anchor;
	uint64_t sp = jvm_word(anchor + at.sp), base = jvm_word(thread + at.base), sum = 1, end;

	/* No Java frame: all native. */
	if (!sp || sp % 8 || sp >= base || base - sp > jvm_word(thread + at.size))
		return sum;
	sum = add(add(add(sum, sp), jvm_word(anchor + at.pc)), jvm_word(anchor + at.fp));
	end = base - sp > STACK_BYTES ? sp + STACK_BYTES : base;
	for (uint64_t p = sp; p + 8 <= end; p += 8)
		sum = add(sum, jvm_word(p));
	return sum;
}
