/*
 * Inserting calls into classes: those that are loaded, by retransforming them, and those that will be. What is wanted
 * later is inserted together with what was wanted before, since the JVM then hands out classes as they were loaded. A
 * JVMTI environment of its own does it, since one that may retransform classes gets class files in another order.
 */
#include "jvm-bridge/host/events/inserted.h"

#include <errno.h>
#include <string.h>

#include "jvm-bridge/host/events/calls_class.h"
#include "jvm-bridge/host/events/numbers.h"
#include "jvm-bridge/host/rewrite/rewrite.h"
#include "jvm-bridge/host/thread.h"

enum { BATCH = 256 };

static struct {
	jvmtiEnv *ti;
	_Atomic unsigned what, failed; /* enum insert: begun, and what came to nothing */
	_Atomic unsigned asked; /* by how many threads, until one has inserted what all of them want */
	_Atomic unsigned classes, methods; /* that were left out */
} inserted;

/* Capabilities that JVMs from 8 on give at any time. */
static bool capabilities_add(jvmtiEnv *ti)
{
	const jvmtiCapabilities wanted = {.can_generate_all_class_hook_events = 1,
					  .can_retransform_classes = 1,
					  .can_retransform_any_class = 1,
					  .can_tag_objects = 1};

	return !(*ti)->AddCapabilities(ti, &wanted);
}

/* JVMTI's memory, or NULL: the class stays as it is. */
static unsigned char *rewritten(JNIEnv *env, jobject loader, const unsigned char *data, jint size, jint *new_size)
{
	struct rewriting r;
	unsigned char *to = NULL;
	uint32_t first = 0;
	int bad = rewriting_begin(&r, atomic_load(&inserted.what), data, (size_t)size);

	if (!bad && r.methods && !calls_class_is_found(env, loader))
		bad = -ENOENT;
	if (!bad && r.methods) {
		*new_size = (jint)rewriting_size(&r);
		if ((r.numbers && !numbers_take(r.numbers, &first)) ||
		    (*inserted.ti)->Allocate(inserted.ti, *new_size, &to))
			bad = -1;
		else
			rewriting_write(&r, first, to);
	}
	atomic_fetch_add(&inserted.classes, bad != 0);
	atomic_fetch_add(&inserted.methods, bad ? 0 : r.left_out);
	rewriting_done(&r);
	return to;
}

/* What switches virtual threads: the JVM knows these methods' frames, and they run when JVMTI must not be called. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = {"java/lang/VirtualThread", "jdk/internal/vm/Continuation", CALLS_CLASS};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static void JNICALL on_class_file_insert(jvmtiEnv *ti, JNIEnv *env, jclass redefined, jobject loader, const char *name,
					 jobject domain, jint size, const unsigned char *data, jint *new_size,
					 unsigned char **new_data)
{
	unsigned char *to;

	(void)ti, (void)redefined, (void)domain;
	if (is_left_out(name) || atomic_load(&the_bridge.dead))
		return;
	to = rewritten(env, loader, data, size, new_size);
	if (to)
		*new_data = to;
}

/* One by one where the JVM refuses to change some of them. */
static void retransform(const jclass *classes, jint n)
{
	if (!(*inserted.ti)->RetransformClasses(inserted.ti, n, classes))
		return;
	for (jint i = 0; n > 1 && i < n; i++)
		retransform(classes + i, 1);
	atomic_fetch_add(&inserted.classes, n == 1);
}

static bool is_found_by_loader(JNIEnv *env, jclass klass)
{
	jobject loader = NULL;
	bool found = !(*inserted.ti)->GetClassLoader(inserted.ti, klass, &loader) && calls_class_is_found(env, loader);

	(*env)->DeleteLocalRef(env, loader);
	atomic_fetch_add(&inserted.classes, !found);
	return found;
}

/*
 * A class that Unsafe.defineAnonymousClass() has made, as for lambdas: its name ends with a slash and a number. JDK 8 crashes
 * when it retransforms one; later JVMs say that it is not modifiable.
 */
static bool is_anonymous(const char *signature)
{
	const char *end = strrchr(signature, '/');
	size_t digits = end ? strspn(end + 1, "0123456789") : 0;

	return digits && end[1 + digits] == ';';
}

static bool is_changed(JNIEnv *env, jclass klass)
{
	jboolean modifiable = JNI_FALSE;
	char *signature = NULL;
	bool left_out;

	if ((*inserted.ti)->IsModifiableClass(inserted.ti, klass, &modifiable) || !modifiable ||
	    (*inserted.ti)->GetClassSignature(inserted.ti, klass, &signature, NULL))
		return false;
	left_out = is_left_out(signature + 1) || is_anonymous(signature); /* behind the L */
	bridge_free(signature);
	return !left_out && is_found_by_loader(env, klass);
}

static bool loaded_change(JNIEnv *env)
{
	jclass *classes = NULL;
	jint n = 0, kept = 0;

	/* As in class_report_all(): JVMTI makes room for its references, and this for a few more. */
	if ((*inserted.ti)->GetLoadedClasses(inserted.ti, &n, &classes) || (*env)->EnsureLocalCapacity(env, 64))
		return false;
	for (jint i = 0; i < n; i++) {
		if (is_changed(env, classes[i]))
			classes[kept++] = classes[i];
		else
			(*env)->DeleteLocalRef(env, classes[i]);
	}
	for (jint i = 0; i < kept; i += BATCH)
		retransform(classes + i, kept - i < BATCH ? kept - i : BATCH);
	for (jint i = 0; i < kept; i++)
		(*env)->DeleteLocalRef(env, classes[i]);
	bridge_free(classes);
	return true;
}

/* Changed classes must not be in it: JDK 25 crashes when it writes one (ArchiveBuilder::record_regenerated_object). */
static bool writes_archive(JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "jdk/internal/misc/CDS"); /* from JDK 16 on */
	jmethodID dumps = klass ? (*env)->GetStaticMethodID(env, klass, "isDumpingArchive", "()Z") : NULL;
	bool yes = dumps && (*env)->CallStaticBooleanMethod(env, klass, dumps);

	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, klass);
	return yes;
}

/* NULL, or why not. */
static const char *begin(JNIEnv *env)
{
	jthrowable pending = bridge_exception_take(env);
	const char *why = "the JVM does not let classes be changed";

	if (writes_archive(env))
		why = "classes are not changed in a JVM that writes an AOT cache or a CDS archive";
	else if (calls_class_link(inserted.ti, env) &&
		 !(*inserted.ti)
			  ->SetEventNotificationMode(inserted.ti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
						     NULL) &&
		 loaded_change(env))
		why = NULL;
	bridge_exception_put(env, pending);
	return why;
}

/*
 * One thread at a time inserts: the JVM may let no two change the same classes. Another that wants something meanwhile, or
 * a handler on the same thread, does not wait, since its agent may hold what this one needs; the first does it, too.
 */
static bool insert(unsigned what, const char *name)
{
	JNIEnv *env = bridge_env();
	unsigned asked = 1;
	const char *why;

	if (!env)
		return false;
	if (atomic_fetch_or(&inserted.what, what) & what)
		return !(atomic_load(&inserted.failed) & what);
	if (atomic_fetch_add(&inserted.asked, 1))
		return true;
	while (!(why = begin(env)))
		if (atomic_compare_exchange_strong(&inserted.asked, &asked, 0))
			return true;
	bridge_say("%s: %s", name, why);
	atomic_store(&inserted.failed, atomic_load(&inserted.what));
	atomic_store(&inserted.asked, 0);
	return false;
}

static bool environment_open_locked(void)
{
	static const jvmtiEventCallbacks callbacks = {.ClassFileLoadHook = on_class_file_insert,
						      .ClassPrepare = on_class_prepare_link};
	void *at = NULL;
	jvmtiEnv *ti;

	if (inserted.ti)
		return true;
	if (the_bridge.vm_functions->GetEnv(the_bridge.vm, &at, JVMTI_VERSION_1_2))
		return false;
	ti = at;
	if (!capabilities_add(ti) || (*ti)->SetEventCallbacks(ti, &callbacks, sizeof(callbacks))) {
		(*ti)->DisposeEnvironment(ti);
		return false;
	}
	inserted.ti = ti;
	return true;
}

/* As in support.c: JVMTI's functions for capabilities take no lock up to JDK 17. */
static bool environment_open(void)
{
	bool entered = steady_enter(), ok = environment_open_locked();

	steady_leave(entered);
	return ok;
}

static bool insert_calls(void)
{
	return insert(INSERT_CALLS, "calls=inserted");
}

bool inserted_open(void)
{
	if (!environment_open())
		return false;
	the_bridge.insert_calls = insert_calls;
	return true;
}

bool allocs_insert(void)
{
	return environment_open() && allocated_prepare() && insert(INSERT_ALLOCS, "OBJECT_ALLOC");
}

void inserted_end(void)
{
	unsigned classes = atomic_load(&inserted.classes), methods = atomic_load(&inserted.methods);

	if (classes || methods)
		bridge_say("%u classes and %u other methods could not be changed: what they do is not reported",
			   classes, methods);
}
