/* Loading and starting agents. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/agents/agent.h"
#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/base/libc_old.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/classes/code.h"
#include "jvm-bridge/host/collections/gc.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/thread.h"

typedef jint(JNICALL *on_load)(JavaVM *, char *, void *);

struct agent *agent_new(const void *base)
{
	struct agent *a = NULL;
	unsigned n;

	lock_take(&the_bridge.agents_lock);
	n = atomic_load(&the_bridge.n_agents);
	if (n < AGENTS_MAX) {
		a = &the_bridge.agents[n];
		a->index = n;
		a->base = base;
		atomic_store(&a->collected, gc_collections());
		functions_fill(a);
		atomic_store(&the_bridge.n_agents, n + 1);
	}
	lock_drop(&the_bridge.agents_lock);
	return a;
}

static struct agent *agent_find(const void *base)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		if (the_bridge.agents[i].base == base)
			return &the_bridge.agents[i];
	return NULL;
}

/* One struct per calling library: it is what distinguishes plain -Xrun agents. */
struct agent *agent_of(const void *caller, bool late)
{
	struct agent *a;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fbase)
		return NULL;
	a = agent_find(info.dli_fbase);
	if (a)
		return a;
	a = agent_new(info.dli_fbase);
	if (a)
		a->started = late;
	return a;
}

/* Opens libNAME.so in the directories of a JVM system property. */
static void *open_in_property(const char *property, const char *name)
{
	char *value = NULL, path[AGENT_NAME_MAX], *at, *colon;
	void *lib = NULL;

	if ((*the_bridge.ti)->GetSystemProperty(the_bridge.ti, property, &value) || !value)
		return NULL;
	for (at = value; at && !lib; at = colon) {
		colon = strchr(at, ':');
		if (colon)
			*colon++ = 0;
		if (*at && snprintf(path, sizeof(path), "%s/lib%s.so", at, name) < (int)sizeof(path))
			lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	}
	bridge_free(value);
	return lib;
}

/* Opens an agent installed next to the bridge: hprof is libjsampler-hprof.so, even on JDK 8, which has its own hprof. */
static void *open_beside(const char *name)
{
	char path[AGENT_NAME_MAX];
	Dl_info info;
	const char *slash;

	if (!dladdr((const void *)open_beside, &info) || !info.dli_fname || !(slash = strrchr(info.dli_fname, '/')))
		return NULL;
	if (snprintf(path, sizeof(path), "%.*s/libjsampler-%s.so", (int)(slash - info.dli_fname), info.dli_fname,
		     name) >= (int)sizeof(path))
		return NULL;
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

/*
 * A path has a slash. A name is one of the bridge's own agents, or lib<name>.so, searched where the JVM would: among
 * its own libraries, then where the loader looks, finally where Java code would load it from. `why` gets the loader's
 * message.
 */
static void *library_open(const char *name, char *why, size_t size)
{
	char file[AGENT_NAME_MAX];
	bool bare = !strchr(name, '/');
	const char *said;
	void *lib = NULL;

	if (bare && snprintf(file, sizeof(file), "lib%s.so", name) >= (int)sizeof(file)) {
		snprintf(why, size, "the name is too long");
		return NULL;
	}
	if (bare)
		lib = open_beside(name);
	if (bare && !lib)
		lib = open_in_property("sun.boot.library.path", name);
	if (lib)
		return lib;
	lib = dlopen(bare ? file : name, RTLD_LAZY | RTLD_LOCAL);
	said = lib ? NULL : dlerror();
	snprintf(why, size, "%s", said ? said : "cannot load the library");
	if (!lib && bare)
		lib = open_in_property("java.library.path", name);
	return lib;
}

static int host_run(const char *name, void *lib, on_load load, char *options, bool quiet)
{
	Dl_info info;
	struct agent *a;
	jint r;

	(void)lib;
	if (!dladdr((void *)load, &info))
		info.dli_fbase = (void *)load;
	a = agent_find(info.dli_fbase);
	if (a && !a->failed) {
		bridge_say("agent '%s' is already loaded; nothing was changed", name);
		return 0;
	}
	if (!a)
		a = agent_new(info.dli_fbase);
	if (!a) {
		bridge_say("agent '%s': there are already %d agents, which is the maximum", name, AGENTS_MAX);
		return -ENOSPC;
	}
	/* If the agent crashes, this is the last line, and names the culprit. */
	if (!quiet)
		bridge_say("agent '%s': JVM_OnLoad", name);
	a->started = false;
	atomic_store(&the_bridge.loading, a);
	r = load(the_bridge.vm, options, NULL);
	atomic_store(&the_bridge.loading, NULL);
	a->failed = r != JNI_OK;
	if (r == JNI_OK)
		return 0;
	a->iface.NotifyEvent = NULL;
	atomic_store(&a->enabled, 0);
	event_modes_apply();
	bridge_say("agent '%s': JVM_OnLoad returned %d", name, (int)r);
	return -EINVAL;
}

int agent_host(const char *name, char *options, bool quiet)
{
	char why[1024];
	void *lib = library_open(name, why, sizeof(why));
	on_load load;

	if (!lib) {
		bridge_say("agent '%s': %s", name, why);
		return -ENOENT;
	}
	*(void **)&load = dlsym(lib, "JVM_OnLoad");
	if (!load) {
		bridge_say("agent '%s': the library has no JVM_OnLoad, so it is not a JVMPI agent", name);
		dlclose(lib);
		return -ENOEXEC;
	}
	return host_run(name, lib, load, options, quiet);
}

/*
 * Reports everything that exists before JVM_INIT_DONE. Events of other threads may come in between; an id is reported
 * once, and before its first use.
 */
void agent_start(struct agent *a, JNIEnv *env)
{
	struct thread *t = thread_current();
	JVMPI_Event e = {.event_type = JVMPI_EVENT_JVM_INIT_DONE};

	if (a->started || !t)
		return;
	events_prepare(a);
	a->started = true;
	arena_report(a, t);
	if (agent_wants(a, JVMPI_EVENT_CLASS_LOAD) && !class_report_all(a, t, env, false))
		bridge_say("CLASS_LOAD is not sent for classes that are already loaded: the JVM cannot list them");
	threads_announce(a, t, 0);
	if (!a->lean)
		code_report_all(a, t, 0);
	if (agent_wants(a, JVMPI_EVENT_JVM_INIT_DONE))
		event_send(a, t, &e, GC_MAY);
}
