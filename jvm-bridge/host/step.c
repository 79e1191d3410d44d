/*
 * INSTRUCTION_START by JVMTI's SingleStep. The outcome of a branch is known when the thread reaches its next
 * instruction: the event of an if or a switch is sent then, right before that of its target.
 */
#include "jvm-bridge/host/step.h"

#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/thread.h"

enum {
	IFEQ = 0x99,
	IF_ACMPNE = 0xa6,
	TABLESWITCH = 0xaa,
	LOOKUPSWITCH = 0xab,
	WIDE_IFNULL = 0xc6,
	WIDE_IFNONNULL = 0xc7,
};

/* Per thread: the bytecode of the running method, and a branch to be reported. */
struct steps {
	jmethodID method;
	unsigned char *code; /* JVMTI's memory */
	jint size;
	bool waits; /* `branch` has not been sent yet */
	JVMPI_Event branch;
};

static jint s4(const unsigned char *p)
{
	return (jint)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

static bool is_if(int op)
{
	return (op >= IFEQ && op <= IF_ACMPNE) || op == WIDE_IFNULL || op == WIDE_IFNONNULL;
}

static const unsigned char *operands(const struct steps *s, jint at)
{
	return s->code + at + 4 - at % 4;
}

static bool is_switch(const struct steps *s, jint at)
{
	const unsigned char *p = operands(s, at);
	int64_t left = s->size - (p - s->code), n;

	if (s->code[at] == LOOKUPSWITCH)
		return left >= 8 && (n = s4(p + 4)) >= 0 && left >= 8 + 8 * n;
	if (s->code[at] != TABLESWITCH || left < 12)
		return false;
	n = (int64_t)s4(p + 8) - s4(p + 4) + 1;
	return n > 0 && left >= 12 + 4 * n;
}

/* Whoever redefines classes may pass `s->code` by: nothing beyond its end is read. */
static bool is_branch(const struct steps *s, jint at)
{
	return s->code && at >= 0 && at < s->size && (is_if(s->code[at]) || is_switch(s, at));
}

/* Calls of a method that was redefined begin at 0; those that go on have another jmethodID from then on. */
static bool code_get(struct steps *s, jmethodID method, jint at)
{
	if (s->method == method && s->code && at)
		return true;
	bridge_free(s->code);
	*s = (struct steps){.method = method};
	if ((*the_bridge.ti)->GetBytecodes(the_bridge.ti, method, &s->size, &s->code))
		s->code = NULL;
	return s->code;
}

/* The lowest key with that target; above the highest key: the default. */
static void tableswitch_fill(const struct steps *s, jint at, jint to, JVMPI_Event *e)
{
	const unsigned char *p = operands(s, at);
	jint low = s4(p + 4), hi = s4(p + 8), key = hi + (hi != INT32_MAX);

	for (jint i = 0; i <= hi - low; i++)
		if (at + s4(p + 12 + 4 * i) == to) {
			key = low + i;
			break;
		}
	e->u.instruction.u.tableswitch_info.key = key;
	e->u.instruction.u.tableswitch_info.low = low;
	e->u.instruction.u.tableswitch_info.hi = hi;
}

static void lookupswitch_fill(const struct steps *s, jint at, jint to, JVMPI_Event *e)
{
	const unsigned char *p = operands(s, at);
	jint n = s4(p + 4), i = 0;

	while (i < n && at + s4(p + 12 + 8 * i) != to)
		i++;
	e->u.instruction.u.lookupswitch_info.chosen_pair_index = i;
	e->u.instruction.u.lookupswitch_info.pairs_total = n;
	e->u.instruction.u.lookupswitch_info.is_default = i == n;
}

static void branch_fill(const struct steps *s, jint to, JVMPI_Event *e)
{
	jint at = e->u.instruction.offset;
	int op = s->code[at];

	if (op == TABLESWITCH)
		tableswitch_fill(s, at, to, e);
	else if (op == LOOKUPSWITCH)
		lookupswitch_fill(s, at, to, e);
	else
		e->u.instruction.u.if_info.is_true = to != at + 3;
}

static void step_report(struct thread *t, struct steps *s, jmethodID method, jint at)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_INSTRUCTION_START};

	if (s->waits && s->method == method)
		branch_fill(s, at, &s->branch);
	if (s->waits)
		event_send_all(t, &s->branch, GC_MAY);
	s->waits = false;
	e.u.instruction.method_id = method;
	e.u.instruction.offset = at;
	s->waits = code_get(s, method, at) && is_branch(s, at);
	if (s->waits)
		s->branch = e;
	else
		event_send_all(t, &e, GC_MAY);
}

void JNICALL on_single_step(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method, jlocation location)
{
	struct thread *t = thread_current();

	(void)ti, (void)env, (void)thread;
	if (!thread_may_report(t) || t->asking)
		return;
	if (!t->steps)
		t->steps = calloc(1, sizeof(*t->steps));
	if (t->steps)
		step_report(t, t->steps, method, (jint)location);
}

void steps_done(struct steps *s)
{
	if (s)
		bridge_free(s->code);
	free(s);
}
