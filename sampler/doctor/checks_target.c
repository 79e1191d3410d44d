#include "sampler/doctor/checks_target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jvm-bridge/attach/attach.h"
#include "sampler/closing/closing.h"
#include "sampler/doctor/checks_closed.h"
#include "sampler/engine/engine.h"
#include "sampler/inspect/inspect.h"
#include "sampler/inspect/java_main.h"
#include "sampler/readers/readers.h"
#include "symbolizer/base/bounded_child.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/user_name.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/cgroup.h"
#include "symbolizer/target/kernel_setting.h"
#include "symbolizer/target/own_rights.h"

/* 1 kHz: a busy thread yields 200 stacks in a fifth of a second. */
#define TEST_PERIOD_NS UINT64_C(1000000)

enum {
	ALL_MAX_MS = 40000, /* limit of CHECKS_ALL_MS plus the time that the child waits for a CPU */
	TICK_MS = 500,
	CHECKS_MAX = 100,
};

/*
 * Sends the checks added since the last call. false: the target has ended; what was found since the last call says
 * nothing about it, and that is sent instead.
 */
static bool tell(struct checked *t)
{
	if (!t->ended && t->proc && proc_gone(t->proc)) {
		t->ended = true;
		t->c->n = t->n_sent;
		checks_add(t->c, CHECK_FAIL, "process", "it ended while it was examined");
		checks_remedy(t->c, "jsampler list");
	}
	for (; t->n_sent < t->c->n; t->n_sent++)
		if (send(t->out, &t->c->v[t->n_sent], sizeof(struct check), MSG_NOSIGNAL) != sizeof(struct check))
			break;
	return !t->ended;
}

static void check_process(struct checked *t, pid_t pid)
{
	char comm[64] = "", user[40];
	bool known = user_name(t->st.euid, user, sizeof(user));

	proc_comm(t->proc, pid, comm, sizeof(comm));
	checks_add(t->c, CHECK_OK, "process", "PID %d, %s, user %s (%u)", (int)pid, comm, known ? user : "?",
		   (unsigned)t->st.euid);
	if (t->st.tracer) {
		checks_add(t->c, CHECK_WARN, "debugger", "process %d traces it and may stop it at any time",
			   (int)t->st.tracer);
		checks_remedy(t->c, "end process %d", (int)t->st.tracer);
	}
}

/* The command line is read from the target's memory. */
static void check_main(struct checked *t)
{
	CLEANUP(free_at_exit) char *cmdline = NULL;
	char main[300] = "";
	size_t len = 0;
	bool closed;

	if (inspect_is_java(t->proc, &closed) && proc_cmdline(t->proc, &cmdline, &len) == 0 &&
	    java_main(cmdline, len, main, sizeof(main)))
		checks_add(t->c, CHECK_OK, "main class", "%s", main);
}

static void check_namespaces(struct checked *t)
{
	static const char *const kinds[] = {"pid", "mnt", "user", "net"};
	char other[64] = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!proc_same_ns(t->proc, kinds[i]))
			snprintf(other + strlen(other), sizeof(other) - strlen(other), "%s%s", *other ? ", " : "",
				 kinds[i]);
	if (*other)
		checks_add(t->c, CHECK_OK, "namespaces", "its own: %s; PID %d inside", other, (int)t->st.ns_pid);
	else
		checks_add(t->c, CHECK_OK, "namespaces", "the same as jsampler's");
}

static void check_container(struct checked *t)
{
	CLEANUP(free_at_exit) char *text = NULL;
	char name[80] = "";
	size_t len;

	if (proc_read(t->proc, "cgroup", 1 << 16, &text, &len) == 0)
		cgroup_container(text, len, name, sizeof(name));
	checks_add(t->c, CHECK_OK, "its container", "%s", *name ? name : "none");
}

static void access_remedy(struct checked *t)
{
	struct own_rights me = own_rights();

	if (own_cap(&me, CAP_SYS_PTRACE))
		checks_remedy(t->c, "run jsampler on the host, outside of containers and sandboxes: sudo "
				    "jsampler -p PID");
	else if (t->st.euid == geteuid() && kernel_setting("yama/ptrace_scope", 0) > 0)
		checks_remedy(t->c, "sudo sysctl -w kernel.yama.ptrace_scope=0, or sudo jsampler -p %d",
			      (int)proc_pid(t->proc));
	else
		checks_remedy(t->c, "sudo jsampler -p %d, or in a container: --cap-add SYS_PTRACE",
			      (int)proc_pid(t->proc));
}

static bool check_access(struct checked *t)
{
	struct err err = {0};

	readers_budget(&t->files);
	if (readers_open(t->proc, (struct unwinder_options){.kernel = true}, &t->files, NULL, &t->readers, &err) == 0) {
		checks_add(t->c, CHECK_OK, "access", "tried: its memory can be read");
		return true;
	}
	checks_add(t->c, CHECK_FAIL, "access", "tried: %s", err.msg);
	access_remedy(t);
	return false;
}

static void check_events(struct checked *t)
{
	const struct engine_options o = {.event = "cpu", .period = TEST_PERIOD_NS, .kernel = true};
	struct engine_stats st;
	struct err err = {0};

	if (engine_perf_ops.open(t->proc, &o, &t->engine, &err) < 0) {
		t->engine = NULL;
		checks_add(t->c, CHECK_FAIL, "its perf events", "tried: %s", err.msg);
		checks_remedy(t->c, "sudo jsampler -p %d", (int)proc_pid(t->proc));
		return;
	}
	st = t->engine->ops->stats(t->engine);
	checks_add(t->c, CHECK_OK, "its perf events", "tried: %s, %u threads", st.attachment ? st.attachment : "opened",
		   st.threads);
}

static void start_attach(struct checked *t, const struct checks_options *o)
{
	static const struct attach_task dump = {.command = "threaddump"};
	struct err err = {0};

	if (!o->attach)
		t->no_attach = "--no-attach";
	else if (!proc_same_ns(t->proc, "user") && geteuid() != 0)
		t->no_attach = "the JVM has its own user namespace, where jsampler has no rights";
	else if (geteuid() != 0 && geteuid() != t->st.euid)
		t->no_attach = "only the JVM's own user and root may attach";
	else if (attach_start(t->proc, &dump, &t->attach, &err) < 0)
		t->no_attach = "cannot start a process for it";
}

/* Called before anything of the target is open. */
static bool start_broker(struct checked *t)
{
	const pid_t pid = proc_pid(t->proc);
	struct err err = {0};

	if (closing_fork(&t->closing, &(struct closing_targets){.pids = &pid, .n = 1}, &err) == 0)
		return true;
	checks_add(t->c, CHECK_FAIL, "privileges", "%s", err.msg);
	checks_remedy(t->c, "run jsampler as an ordinary user, or as root with all capabilities");
	return false;
}

/* Called before the first byte from the target is parsed. */
static bool close_child(struct checked *t)
{
	struct err err = {0};

	if (closing_close(&t->closing, &err) == 0) {
		checks_add(t->c, CHECK_OK, CHECK_CLOSED_CHILD, "said by itself");
		return tell(t);
	}
	checks_add(t->c, CHECK_FAIL, "privileges", "%s", err.msg);
	checks_remedy(t->c, "run jsampler as an ordinary user, or as root with all capabilities");
	return false;
}

static void checked_done(struct checked *t)
{
	attach_stop(t->attach);
	if (t->engine)
		t->engine->ops->close(t->engine);
	readers_close(t->readers);
	proc_close(t->proc);
	closing_done(&t->closing);
}

/* The checks that parse. */
static void check_closed_parts(struct checked *t)
{
	check_main(t);
	checks_jvm(t);
	if (!tell(t))
		return;
	checks_stacks(t);
	if (tell(t))
		checks_dump(t);
}

static void examine(struct checks *c, pid_t pid, const struct checks_options *o, int out)
{
	struct checked t = {.c = c, .out = out, .began_ns = clock_monotonic_ns()};
	struct err err = {0};

	if (proc_open(pid, &t.proc, &err) < 0 || proc_status(t.proc, &t.st) < 0) {
		checks_add(c, CHECK_FAIL, "process", "%s", *err.msg ? err.msg : "it ended");
		checks_remedy(c, "jsampler list");
		tell(&t);
		proc_close(t.proc);
		return;
	}
	check_process(&t, pid);
	check_namespaces(&t);
	check_container(&t);
	if (tell(&t) && start_broker(&t) && check_access(&t)) {
		start_attach(&t, o);
		check_events(&t);
		if (tell(&t) && close_child(&t))
			check_closed_parts(&t);
	}
	tell(&t);
	checked_done(&t);
}

struct task {
	pid_t pid;
	const struct checks_options *o;
};

static void child_main(void *ctx, int out)
{
	const struct task *k = ctx;
	struct checks c = {0};

	examine(&c, k->pid, k->o, out);
}

/* --- In the caller */

/* Untrusted: a child that was taken over may send anything. */
static void take(struct checks *c, struct check *k, pid_t child)
{
	k->name[sizeof(k->name) - 1] = k->text[sizeof(k->text) - 1] = k->remedy[sizeof(k->remedy) - 1] = '\0';
	if (c->n >= CHECKS_MAX || (unsigned)k->level >= CHECK_LEVELS)
		return;
	if (strcmp(k->name, CHECK_CLOSED_CHILD) == 0) { /* do not trust its claim; look at /proc */
		check_closed_child(c, child);
		return;
	}
	checks_add(c, k->level, k->name, "%s", k->text);
	if (k->remedy[0])
		checks_remedy(c, "%s", k->remedy);
}

/* How long the child had to wait for a CPU, in ms: second field of schedstat. The target cannot influence it. */
static int starved_ms(pid_t child)
{
	CLEANUP(free_at_exit) char *text = NULL;
	uint64_t ns = 0;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)child);
	if (file_read_at(AT_FDCWD, path, 200, &text, NULL) < 0 || sscanf(text, "%*u %" SCNu64, &ns) != 1)
		return 0;
	return (int)(ns / 1000000 < ALL_MAX_MS ? ns / 1000000 : ALL_MAX_MS);
}

static int left_ms(pid_t child, uint64_t began_ns)
{
	uint64_t took_ms = (clock_monotonic_ns() - began_ns) / 1000000;
	uint64_t may_ms = (uint64_t)(CHECKS_ALL_MS + starved_ms(child));

	if (may_ms > ALL_MAX_MS)
		may_ms = ALL_MAX_MS;
	return took_ms < may_ms ? (int)(may_ms - took_ms) : 0;
}

/* false: timeout. */
static bool listen_to(const struct bounded_child *child, struct checks *c)
{
	struct pollfd p = {.fd = child->fd, .events = POLLIN};
	uint64_t began_ns = clock_monotonic_ns();
	struct check k;
	int left;

	while ((left = left_ms(child->pid, began_ns)) > 0) {
		int r = poll(&p, 1, left < TICK_MS ? left : TICK_MS);

		if (r < 0 && errno != EINTR)
			return false;
		if (r <= 0)
			continue;
		if (recv(child->fd, &k, sizeof(k), MSG_DONTWAIT) != (ssize_t)sizeof(k))
			return true;
		take(c, &k, child->pid);
	}
	return false;
}

static void say_end(struct checks *c, pid_t pid, bool ended, int status)
{
	bool by_signal = WIFSIGNALED(status) && (ended || WTERMSIG(status) != SIGKILL);

	if (!ended && !by_signal) {
		checks_add(c, CHECK_FAIL, "answer",
			   "tried: PID %d did not answer in time: its memory or its "
			   "files cannot be read, or reading them never ends (a FUSE file system whose daemon "
			   "hangs?)",
			   (int)pid);
		checks_remedy(c, "ps -eo pid,state,wchan,cmd shows which process waits for what");
	} else if (by_signal && WTERMSIG(status) == SIGSYS) {
		checks_add(
			c, CHECK_FAIL, "answer",
			"the child that examined PID %d tried a system call that is not allowed there, and was ended",
			(int)pid);
		checks_remedy(c, "do not trust that process: it may have taken the child over; please report it");
	} else if (by_signal) {
		checks_add(c, CHECK_FAIL, "answer", "the child that examined PID %d was ended by signal %d", (int)pid,
			   WTERMSIG(status));
		checks_remedy(c, "please report it");
	}
}

void checks_target(struct checks *c, pid_t pid, const struct checks_options *o)
{
	/* Memory has separate limits: those of a recording. */
	const struct bounded_limits limits = {UINT64_MAX, ALL_MAX_MS * UINT64_C(1000000)};
	struct task task = {pid, o};
	struct bounded_child child;
	int status, r = bounded_child_start(&child, &limits, child_main, &task);
	bool ended;

	if (r < 0) {
		checks_add(c, CHECK_FAIL, "process", "cannot start a process: %s", strerror(-r));
		return;
	}
	ended = listen_to(&child, c);
	bounded_child_end(&child, &status);
	say_end(c, pid, ended, status);
}
