#include "sampler/doctor/checks_target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sampler/doctor/checks_closed.h"
#include "sampler/engine/perf/events/perf_filter.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/cgroup.h"
#include "symbolizer/target/kernel_setting.h"
#include "symbolizer/target/own_rights.h"
#include "symbolizer/target/proc.h"

enum {
	DEFAULT_MLOCK_KB = 516, /* default of the kernel's perf_event_mlock_kb */
	LOW_SAMPLE_RATE = 1000, /* Hz; below this, -F 999 is not reached */
	FEW_DESCRIPTORS = 4096, /* enough for 256 threads on 16 CPUs */
	SPIN_MS = 50,
	SAMPLE_PERIOD_NS = 1000000,
};

static void check_kernel(struct checks *c)
{
	struct utsname u;

	if (uname(&u) == 0)
		checks_add(c, CHECK_OK, "kernel", "%s %s, %s", u.sysname, u.release, u.machine);
}

static void check_own_container(struct checks *c)
{
	CLEANUP(free_at_exit) char *text = NULL;
	char name[80] = "";
	bool inside = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
	bool own_pids = proc_own_pids();
	size_t len;

	if (file_read_at(AT_FDCWD, "/proc/self/cgroup", 1 << 16, &text, &len) == 0)
		cgroup_container(text, len, name, sizeof(name));
	if (!inside && !own_pids && !name[0]) {
		checks_add(c, CHECK_OK, "container", "jsampler runs on the host");
		return;
	}
	checks_add(c, CHECK_OK, "container", "jsampler runs in a container%s%s%s", name[0] ? " " : "", name,
		   own_pids ? ": only processes of its own PID namespace can be seen" : "");
}

static void check_capabilities(struct checks *c, const struct own_rights *me)
{
	static const struct {
		int cap;
		const char *name;
	} wanted[] = {
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
		{CAP_PERFMON_NUMBER, "CAP_PERFMON"},
		{CAP_BPF_NUMBER, "CAP_BPF"},
		{CAP_CHECKPOINT_RESTORE_NUMBER, "CAP_CHECKPOINT_RESTORE"},
		{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
		{CAP_SYSLOG, "CAP_SYSLOG"},
	};
	char held[160] = "", lacking[160] = "";

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char *list = own_cap(me, wanted[i].cap) ? held : lacking;

		snprintf(list + strlen(list), sizeof(held) - strlen(list), "%s%s", *list ? ", " : "", wanted[i].name);
	}
	if (!*lacking)
		checks_add(c, CHECK_OK, "capabilities", "all that jsampler can use");
	else
		checks_add(c, CHECK_OK, "capabilities", "%s%s%s", *held ? held : "none",
			   *held ? "; not " : ": only your own processes can be sampled", *held ? lacking : "");
	if (*lacking)
		checks_remedy(c, "for processes of other users: sudo jsampler ...");
}

static void check_seccomp(struct checks *c, const struct own_rights *me)
{
	if (me->seccomp == 0)
		checks_add(c, CHECK_OK, "seccomp", "no filter on jsampler");
	else
		checks_add(c, CHECK_OK, "seccomp",
			   "a filter applies to jsampler (container runtime?); the checks below show what it refuses");
}

static void check_paranoid(struct checks *c, const struct own_rights *me)
{
	int64_t v = kernel_setting("perf_event_paranoid", INT64_MIN);

	if (v == INT64_MIN) {
		checks_add(c, CHECK_FAIL, "perf_event_paranoid", "missing: this kernel has no perf events");
		checks_remedy(c, "a kernel built with CONFIG_PERF_EVENTS=y");
	} else if (own_perfmon(me)) {
		checks_add(c, CHECK_OK, "perf_event_paranoid",
			   "%" PRId64 ", which does not limit jsampler as "
			   "it runs now",
			   v);
	} else if (v > 2) {
		checks_add(c, CHECK_FAIL, "perf_event_paranoid",
			   "%" PRId64 ": perf events are refused to "
			   "unprivileged users",
			   v);
		checks_remedy(c, "sudo sysctl -w kernel.perf_event_paranoid=1");
	} else if (v == 2) {
		checks_add(c, CHECK_WARN, "perf_event_paranoid", "2: kernel frames are not recorded");
		checks_remedy(c, "sudo sysctl -w kernel.perf_event_paranoid=1");
	} else {
		checks_add(c, CHECK_OK, "perf_event_paranoid", "%" PRId64, v);
	}
}

static void check_mlock(struct checks *c, const struct own_rights *me)
{
	int64_t kb = kernel_setting("perf_event_mlock_kb", 0);

	if (own_perfmon(me) || kb >= DEFAULT_MLOCK_KB) {
		checks_add(c, CHECK_OK, "perf_event_mlock_kb", "%" PRId64 " KiB of rings for each CPU", kb);
		return;
	}
	checks_add(c, CHECK_WARN, "perf_event_mlock_kb",
		   "%" PRId64 " KiB of rings for each CPU: samples "
		   "may be lost at high rates",
		   kb);
	checks_remedy(c, "sudo sysctl -w kernel.perf_event_mlock_kb=%d", DEFAULT_MLOCK_KB);
}

static void check_rate(struct checks *c)
{
	int64_t hz = kernel_setting("perf_event_max_sample_rate", 0);

	if (hz >= LOW_SAMPLE_RATE) {
		checks_add(c, CHECK_OK, "max_sample_rate", "%" PRId64 " Hz", hz);
		return;
	}
	checks_add(c, CHECK_WARN, "max_sample_rate",
		   "kernel.perf_event_max_sample_rate is %" PRId64 " Hz: the kernel cuts higher rates", hz);
	checks_remedy(c, "sudo sysctl -w kernel.perf_event_max_sample_rate=100000");
}

/* When the kernel denies access, it shows zeros instead of addresses (kallsyms_show_value() in kernel/kallsyms.c). */
static bool kallsyms_readable(void)
{
	char head[17] = "";
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, head, sizeof(head) - 1) : -1;

	if (fd >= 0)
		close(fd);
	return n > 0 && strspn(head, "0") < (size_t)n;
}

static void check_kptr(struct checks *c)
{
	int64_t v = kernel_setting("kptr_restrict", 0);

	if (kallsyms_readable()) {
		checks_add(c, CHECK_OK, "kptr_restrict", "%" PRId64 ", kernel functions can be named", v);
		return;
	}
	checks_add(c, CHECK_WARN, "kptr_restrict",
		   "%" PRId64 ", /proc/kallsyms shows no addresses: kernel "
		   "frames have no names",
		   v);
	checks_remedy(c, "sudo sysctl -w kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
}

static void check_yama(struct checks *c, const struct own_rights *me)
{
	int64_t v = kernel_setting("yama/ptrace_scope", -1);

	if (v < 0) {
		checks_add(c, CHECK_OK, "ptrace_scope", "Yama is not in use");
	} else if (v == 0 || (v < 3 && own_cap(me, CAP_SYS_PTRACE))) {
		checks_add(c, CHECK_OK, "ptrace_scope", "%" PRId64, v);
	} else if (v < 3) {
		checks_add(c, CHECK_FAIL, "ptrace_scope",
			   "%" PRId64 ": a process may read only its own "
			   "children, so jsampler can start a program (-- COMMAND) but not attach",
			   v);
		checks_remedy(c, "sudo sysctl -w kernel.yama.ptrace_scope=0, or run jsampler with sudo");
	} else {
		checks_add(c, CHECK_FAIL, "ptrace_scope",
			   "%" PRId64 ": nobody, not even root, may read "
			   "another process until the next boot",
			   v);
		checks_remedy(c, "boot with kernel.yama.ptrace_scope=1 (see /etc/sysctl.d)");
	}
}

static void check_limits(struct checks *c, const struct own_rights *me)
{
	struct rlimit files = {0}, lock = {0};

	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_MEMLOCK, &lock);
	if (own_perfmon(me) || files.rlim_max >= FEW_DESCRIPTORS) {
		checks_add(c, CHECK_OK, "open files", "at most %" PRIu64, (uint64_t)files.rlim_max);
	} else {
		checks_add(c, CHECK_WARN, "open files",
			   "at most %" PRIu64 "; a target needs threads x "
			   "CPUs",
			   (uint64_t)files.rlim_max);
		checks_remedy(c, "ulimit -Hn 65536 as root, or LimitNOFILE=65536 in the unit");
	}
	if (lock.rlim_cur == RLIM_INFINITY)
		checks_add(c, CHECK_OK, "locked memory", "unlimited");
	else
		checks_add(c, CHECK_OK, "locked memory", "%" PRIu64 " KiB besides the rings",
			   (uint64_t)lock.rlim_cur / 1024);
}

static void check_priority(struct checks *c)
{
	const struct sched_param lowest = {.sched_priority = 1};
	int policy = sched_getscheduler(0);
	struct sched_param before;

	if (sched_getparam(0, &before) == 0 && sched_setscheduler(0, SCHED_RR, &lowest) == 0) {
		(void)sched_setscheduler(0, policy, &before);
		checks_add(c, CHECK_OK, "priority", "tried: samples can be read in real time, on a busy machine too");
		return;
	}
	checks_add(c, CHECK_OK, "priority",
		   "tried: no real time (%s): on a very busy machine samples may be lost, which the summary shows",
		   strerror(errno));
	checks_remedy(
		c,
		"sudo jsampler, or LimitRTPRIO=1 in a unit; in a container: --ulimit rtprio=1, or --cap-add SYS_NICE");
}

static void count_sample(void *ctx, const struct raw_sample *s)
{
	size_t *n = ctx;

	n[0]++;
	n[1] += s->has_user && s->stack_len > 0;
}

static void ignore_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	(void)ctx, (void)pid, (void)tid, (void)comm;
}

static void ignore_exit(void *ctx, pid_t pid, pid_t tid)
{
	(void)ctx, (void)pid, (void)tid;
}

static void ignore_pid(void *ctx, pid_t pid)
{
	(void)ctx, (void)pid;
}

struct engine_sink checks_sink(void *ctx, void (*sample)(void *ctx, const struct raw_sample *s))
{
	return (struct engine_sink){.ctx = ctx,
				    .sample = sample,
				    .thread = ignore_thread,
				    .thread_exit = ignore_exit,
				    .exec = ignore_pid,
				    .mapped = ignore_pid};
}

static void spin(void)
{
	uint64_t end = clock_monotonic_ns() + SPIN_MS * UINT64_C(1000000);

	while (clock_monotonic_ns() < end)
		;
}

/* Samples jsampler itself. n: number of samples, and of those with registers and stack. */
static int sample_self(struct engine *e, size_t n[2], struct err *err)
{
	const struct engine_sink sink = checks_sink(n, count_sample);
	int r = e->ops->start(e, err);

	if (r < 0)
		return r;
	spin();
	e->ops->stop(e);
	return e->ops->run(e, &sink, 0, err);
}

static void say_perf(struct checks *c, const struct engine_stats *st, const size_t n[2])
{
	if (!n[1]) {
		checks_add(c, CHECK_FAIL, "perf events",
			   "opened, but %d ms of CPU time gave %zu samples, "
			   "none with a stack",
			   SPIN_MS, n[0]);
		checks_remedy(c, "send this line with `uname -a` as a bug report");
		return;
	}
	checks_add(c, CHECK_OK, "perf events", "tried: %zu samples with stack in %d ms, %s, %s", n[1], SPIN_MS,
		   st->attachment ? st->attachment : "",
		   st->no_kernel ? "without kernel frames" : "with kernel frames");
}

static void check_perf(struct checks *c, struct proc *self)
{
	const struct engine_options o = {.event = "cpu", .period = SAMPLE_PERIOD_NS, .kernel = true};
	struct engine *e = NULL;
	struct engine_stats st = {0};
	struct err err = {0};
	size_t n[2] = {0, 0};
	int r = engine_perf_ops.open(self, &o, &e, &err);

	if (r == 0)
		r = sample_self(e, n, &err);
	if (e) {
		st = e->ops->stats(e);
		e->ops->close(e);
	}
	if (r == 0) {
		say_perf(c, &st, n);
		return;
	}
	checks_add(c, CHECK_FAIL, "perf events", "tried: %s", err.msg);
	checks_remedy(c, "sudo jsampler; in a container: --cap-add PERFMON --cap-add SYS_PTRACE, and a "
			 "seccomp profile that allows perf_event_open");
}

static void check_bpf(struct checks *c, struct proc *self)
{
	struct perf_filter filter;
	int r = perf_filter_open(self, false, &filter);

	perf_filter_close(&filter);
	if (r == 0) {
		checks_add(c, CHECK_OK, "eBPF", "tried: programs can be loaded");
		return;
	}
	checks_add(c, CHECK_OK, "eBPF",
		   "tried: %s; jsampler uses one event per thread and CPU instead, which "
		   "is good for hundreds of threads",
		   strerror(-r));
	checks_remedy(c, "for thousands of threads: sudo jsampler, or CAP_BPF and CAP_PERFMON");
}

void checks_host(struct checks *c)
{
	struct own_rights me = own_rights();
	struct proc *self = NULL;

	check_kernel(c);
	check_own_container(c);
	check_capabilities(c, &me);
	check_seccomp(c, &me);
	check_closed(c);
	check_closed_tracer(c);
	check_paranoid(c, &me);
	check_mlock(c, &me);
	check_rate(c);
	check_kptr(c);
	check_yama(c, &me);
	check_limits(c, &me);
	check_priority(c);
	if (proc_open(getpid(), &self, NULL) < 0) {
		checks_add(c, CHECK_FAIL, "/proc", "jsampler cannot read its own /proc/%d", (int)getpid());
		checks_remedy(c, "sudo mount -t proc proc /proc");
		return;
	}
	check_perf(c, self);
	check_bpf(c, self);
	proc_close(self);
}
