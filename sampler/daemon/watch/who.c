#include "sampler/daemon/watch/who.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/identity/identity.h"
#include "sampler/inspect/java_main.h"
#include "sampler/session/session.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/service_names.h"

/* AGE_SHARE: a pause between two looks is this part of the time since the first one. */
enum { CGROUP_MAX = 1 << 16, VALUE_MAX = 4096, AGE_SHARE = 8 };

#define AGAIN_NS UINT64_C(250000000)
/*
 * How long to try to read a JVM; then only what /proc says is used. A JVM that has begun to start may need long if it
 * gets little CPU time: on 8 % of a CPU, six JVMs took more than 20 s.
 */
#define PATIENCE_NS UINT64_C(5000000000)
#define STARTING_PATIENCE_NS UINT64_C(120000000000)

static void take(struct buf *b, char *text, size_t len)
{
	buf_done(b);
	*b = (struct buf){0};
	buf_add(b, text, len);
	free(text);
}

static void look_at_process(struct who *w, pid_t pid)
{
	char *text = NULL;
	size_t len = 0;
	struct proc *p;

	if (proc_open(pid, &p, NULL) < 0)
		return;
	if (proc_read(p, "cgroup", CGROUP_MAX, &text, &len) == 0)
		take(&w->cgroup, text, len);
	if (service_names_read(p, &text, &len) == 0)
		take(&w->environment, text, len);
	if (proc_cmdline(p, &text, &len) == 0) {
		if (!java_main(text, len, w->main, sizeof(w->main)))
			w->main[0] = '\0';
		free(text);
	}
	proc_close(p);
}

/* "MAIN ARGUMENTS": a class has no slash, and is one word; the path of a jar may have spaces. */
static void cut_arguments(char *text)
{
	size_t word = strcspn(text, " ");
	char *jar = strstr(text, ".jar ");

	if (memchr(text, '/', word) && jar)
		jar[strlen(".jar")] = '\0';
	else
		text[word] = '\0';
}

static void look_at_jvm(struct who *w, struct hotspot *hs)
{
	char value[VALUE_MAX];

	buf_done(&w->properties);
	w->properties = (struct buf){0};
	for (const char *const *key = identity_properties(); *key; key++)
		if (hotspot_property(hs, *key, value, sizeof(value))) {
			buf_printf(&w->properties, "%s=%s", *key, value);
			buf_add(&w->properties, "", 1);
		}
	/* The command line may only name an argument file. */
	if ((!w->main[0] || w->main[0] == '@') && hotspot_command(hs, value, sizeof(value))) {
		cut_arguments(value);
		if (strlen(value) < sizeof(w->main))
			strcpy(w->main, value);
	}
}

/* Less and less often, since a look may take a millisecond, and a user may have hundreds of processes that do not start. */
static uint64_t pause_ns(const struct who *w, uint64_t now_ns)
{
	uint64_t age = now_ns - w->since_ns;

	return age / AGE_SHARE > AGAIN_NS ? age / AGE_SHARE : AGAIN_NS;
}

uint64_t who_look(struct who *w, pid_t pid, struct session *s)
{
	uint64_t now = clock_monotonic_ns();
	struct hotspot *hs;

	if (w->over || now < w->next_ns)
		return w->over ? 0 : w->next_ns - now;
	hs = session_look_for_hotspot(s);
	if (hs || !w->since_ns)
		look_at_process(w, pid);
	if (hs)
		look_at_jvm(w, hs);
	if (!w->since_ns)
		w->since_ns = now;
	w->over = hs || now - w->since_ns >= (session_jvm_starts(s) ? STARTING_PATIENCE_NS : PATIENCE_NS);
	w->next_ns = now + pause_ns(w, now);
	return w->over ? 0 : w->next_ns - now;
}

void who_facts(const struct who *w, struct identity_facts *f)
{
	f->cgroup = w->cgroup.data;
	f->cgroup_len = w->cgroup.len;
	f->environment = w->environment.data;
	f->environment_len = w->environment.len;
	f->properties = w->properties.data;
	f->properties_len = w->properties.len;
	f->main = w->main[0] ? w->main : NULL;
}

void who_done(struct who *w)
{
	buf_done(&w->cgroup);
	buf_done(&w->environment);
	buf_done(&w->properties);
	*w = (struct who){0};
}
