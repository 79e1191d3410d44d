/* Single instructions. */
#include <string.h>

#include "tests/jvmpi/events.h"

JNIEXPORT void JNICALL Java_Events_redefine(JNIEnv *env, jclass klass);

/* What javac makes of branches(), table(), lookup(): the branch is the third, the second, the second instruction. */
static struct {
	int branches, taken, table, lookup, keys, pairs, defaults;
	int steps; /* of branches() */
	jint last;
	int backward;
	int changed; /* ifs that were true, 6 bytes behind their place in the class file */
} s;

static void steps_seen(JVMPI_Event *e, jint type)
{
	const char *name;
	jint at = e->u.instruction.offset;

	if (type != JVMPI_EVENT_INSTRUCTION_START || !jvmpi_events.main || e->env_id != jvmpi_events.main)
		return;
	name = events_method(e->u.instruction.method_id);
	if (!name)
		return;
	if (!strcmp(name, "branches")) {
		s.steps++;
		s.branches += at == 2;
		s.taken += at == 2 && e->u.instruction.u.if_info.is_true;
		s.backward += at && at <= s.last;
		s.last = at;
	} else if (!strcmp(name, "table") && at == 1) {
		s.table++;
		s.keys += e->u.instruction.u.tableswitch_info.low == 1 && e->u.instruction.u.tableswitch_info.hi == 3 ?
				  e->u.instruction.u.tableswitch_info.key :
				  1000;
	} else if (!strcmp(name, "lookup") && at == 1) {
		s.lookup++;
		s.pairs += e->u.instruction.u.lookupswitch_info.chosen_pair_index;
		s.defaults += e->u.instruction.u.lookupswitch_info.is_default;
	} else if (!strcmp(name, "changed") && at == 1 + 6) {
		s.changed += e->u.instruction.u.if_info.is_true;
	}
}

static void steps_begin(JNIEnv *env)
{
	(void)env;
	check("INSTRUCTION_START", jvmpi->EnableEvent(JVMPI_EVENT_INSTRUCTION_START, NULL) == JVMPI_SUCCESS,
	      "it cannot be enabled");
}

static void *insert(void *arg)
{
	JavaVM *vm = arg;
	void *env;

	if ((*vm)->AttachCurrentThread(vm, &env, NULL))
		return NULL;
	jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
	(*vm)->DetachCurrentThread(vm);
	return NULL;
}

/* Another thread inserts calls, so that this one takes no step between the two calls of changed(). */
JNIEXPORT void JNICALL Java_Events_redefine(JNIEnv *env, jclass klass)
{
	jmethodID changed = (*env)->GetStaticMethodID(env, klass, "changed", "(I)I");
	pthread_t thread;
	JavaVM *vm;

	if (!jvmpi_events.main || !changed || (*env)->GetJavaVM(env, &vm) || pthread_create(&thread, NULL, insert, vm))
		return;
	pthread_join(thread, NULL);
	(*env)->CallStaticIntMethod(env, klass, changed, 1);
	s.changed -= (*env)->ExceptionCheck(env);
	jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
}

static void steps_end(JNIEnv *env)
{
	(void)env;
	jvmpi->DisableEvent(JVMPI_EVENT_INSTRUCTION_START, NULL);
	/* iload, iconst, if_icmple, iconst, ireturn: either way. */
	check("INSTRUCTION_START", s.steps == 10 && s.branches == 2 && !s.backward,
	      "%d instructions, %d ifs, %d out of order", s.steps, s.branches, s.backward);
	check("INSTRUCTION_START", s.taken == 1, "%d of 2 ifs are true", s.taken);
	check("INSTRUCTION_START", s.table == 4 && s.keys == 1 + 2 + 3 + 4, "%d tableswitches, keys %d", s.table,
	      s.keys);
	check("INSTRUCTION_START", s.lookup == 4 && s.pairs == 0 + 1 + 2 + 3 && s.defaults == 1,
	      "%d lookupswitches, pairs %d, %d by default", s.lookup, s.pairs, s.defaults);
	check("INSTRUCTION_START", s.changed == 1, "%d of 1 ifs of a method that was changed are true", s.changed);
}

static const jint step_types[] = {0};

const struct kind kind_steps = {
	.what = "steps", .types = step_types, .seen = steps_seen, .begin = steps_begin, .end = steps_end};
