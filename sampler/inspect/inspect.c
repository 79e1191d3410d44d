#include "sampler/inspect/inspect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/inspect/java_main.h"
#include "sampler/readers/readers.h"
#include "sampler/session/bridge/bridge.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/text.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/target/cgroup.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

/* `list` opens many processes, and needs only a few names from one file of each. */
#define FILES_NS UINT64_C(2000000000)
enum { MAX_CGROUP = 1 << 16 };
/* Of one mapping. libc has 1.4 MB, the smallest native images 2, libjvm.so 9 and more. */
enum { MUCH_CODE = 3 << 19 };

static void read_container(struct proc *p, struct inspection *i)
{
	CLEANUP(free_at_exit) char *text = NULL;
	size_t len;

	if (proc_read(p, "cgroup", MAX_CGROUP, &text, &len) == 0)
		cgroup_container(text, len, i->container, sizeof(i->container));
}

static void read_main(struct proc *p, struct inspection *i)
{
	CLEANUP(free_at_exit) char *cmdline = NULL;
	char main[512];
	size_t len;

	if (proc_cmdline(p, &cmdline, &len) == 0 && java_main(cmdline, len, main, sizeof(main)))
		text_sanitise(i->main, sizeof(i->main), main, strlen(main));
}

static uint64_t uptime_s(struct proc *p)
{
	struct timespec now;
	uint64_t started = proc_start_ticks(p) / (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec > started ? (uint64_t)now.tv_sec - started : 0;
}

bool inspect_is_java(struct proc *p, bool *ret_closed)
{
	char exe[4096];
	const char *base;

	*ret_closed = proc_exe(p, exe, sizeof(exe)) < 0;
	if (*ret_closed)
		return proc_comm(p, proc_pid(p), exe, sizeof(exe)) == 0 && strcmp(exe, "java") == 0;
	base = strrchr(exe, '/');
	return strncmp(base ? base + 1 : exe, "java", 4) == 0;
}

static void read_outline(struct proc *p, struct inspect_outline *o)
{
	struct budget files;
	struct maps *maps = NULL;
	struct proc_status st;
	bool closed;

	o->uid = proc_status(p, &st) == 0 ? st.uid : (uid_t)-1;
	o->may_be_jvm = inspect_is_java(p, &closed);
	budget_init(&files, READERS_BYTES, FILES_NS);
	if (maps_open(p, &files, &maps, NULL) < 0)
		return;
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		o->much_code |= (m->flags & MAP_X) && m->inode && m->end - m->start >= MUCH_CODE;
		if (m->inode && !o->inode) {
			o->dev_major = m->dev_major;
			o->dev_minor = m->dev_minor;
			o->inode = m->inode;
		}
	}
	o->may_be_jvm |= maps_has_file(maps, "libjvm.so");
	maps_close(maps);
}

int inspect_outline(pid_t pid, struct inspect_outline *ret)
{
	struct inspect_outline o = {0};
	struct proc *p;
	int r = proc_open(pid, &p, NULL);

	if (r < 0)
		return r;
	if (!proc_is_kernels(p))
		read_outline(p, &o);
	proc_close(p);
	*ret = o;
	return o.may_be_jvm || (o.inode && o.much_code) ? 0 : -ENOENT;
}

static enum inspect_jvm jvm_by_name(struct proc *p)
{
	bool closed;

	return inspect_is_java(p, &closed) ? INSPECT_JVM_CLOSED : INSPECT_NO_JVM;
}

static void read_jvm(struct proc *p, struct inspection *i)
{
	const char *release;
	struct budget files;
	struct readers *v = NULL;

	budget_init(&files, READERS_BYTES, FILES_NS);
	if (readers_open(p, (struct unwinder_options){0}, &files, NULL, &v, NULL) < 0) {
		i->jvm = jvm_by_name(p);
		return;
	}
	v->exported_only = true;
	readers_find_jvm(v);
	if (v->jvm == JVM_READY) {
		i->jvm = INSPECT_JVM;
		i->bridge = bridge_mapped(v->maps) != NULL;
		release = hotspot_version(v->hs)->jdk;
		text_sanitise(i->release, sizeof(i->release), release, strlen(release));
	} else if (v->jvm != JVM_ABSENT) {
		i->jvm = INSPECT_JVM_CLOSED;
		if (v->native_image)
			snprintf(i->release, sizeof(i->release), "native image");
	}
	readers_close(v);
}

static void read_ids(struct proc *p, struct inspection *i)
{
	struct proc_status st;

	if (proc_status(p, &st) == 0) {
		i->uid = st.euid;
		i->ns_pid = st.ns_pid;
	}
	i->uptime_s = uptime_s(p);
}

int inspect_outside(pid_t pid, struct inspection *ret)
{
	struct inspection i = {.pid = pid};
	struct proc *p;
	int r = proc_open(pid, &p, NULL);

	if (r < 0)
		return r;
	read_ids(p, &i);
	i.jvm = jvm_by_name(p);
	read_container(p, &i);
	proc_close(p);
	*ret = i;
	return 0;
}

static void take_text(char *dst, size_t size, const char *told)
{
	text_sanitise(dst, size, told, strnlen(told, size - 1));
}

int inspect_confirm(pid_t pid, const struct inspection *told, struct inspection *ret)
{
	struct inspection i;
	int r = inspect_outside(pid, &i);

	if (r < 0)
		return r;
	i.jvm = told->jvm == INSPECT_JVM ? INSPECT_JVM : INSPECT_JVM_CLOSED;
	i.bridge = told->bridge != 0;
	take_text(i.release, sizeof(i.release), told->release);
	take_text(i.main, sizeof(i.main), told->main);
	*ret = i;
	return 0;
}

int inspect_process(pid_t pid, struct inspection *ret)
{
	struct inspection i = {.pid = pid};
	enum log_level level = log_get_level();
	struct proc *p;
	int r = proc_open(pid, &p, NULL);

	if (r < 0)
		return r;
	read_ids(p, &i);
	log_set_level(LOG_LEVEL_QUIET);
	read_jvm(p, &i);
	log_set_level(level);
	if (i.jvm != INSPECT_NO_JVM) {
		read_main(p, &i);
		read_container(p, &i);
	}
	proc_close(p);
	*ret = i;
	return 0;
}
