#include "sampler/engine/perf/events/perf_explain.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sampler/engine/perf/events/perf_attr.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/kernel_setting.h"
#include "symbolizer/target/own_rights.h"
#include "symbolizer/target/proc.h"

static int explain_denied(int r, struct proc *proc, struct err *err)
{
	int64_t paranoid = kernel_setting("perf_event_paranoid", 2);
	struct proc_status s;

	if (geteuid() != 0 && proc_status(proc, &s) == 0 && s.euid != geteuid())
		return err_set(err, r, "PID %d belongs to user %u: sample it as that user, or as root", proc_pid(proc),
			       s.euid);
	/* Only Debian's and Android's kernels have values above 2. */
	if (geteuid() != 0 && paranoid > 2)
		return err_set(err, r,
			       "perf events are refused: kernel.perf_event_paranoid is %lld; run as "
			       "root, or with CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=1",
			       (long long)paranoid);
	/* The kernel itself returns EACCES; seccomp profiles of container runtimes usually return EPERM. */
	if (r == -EPERM || own_rights().seccomp == 2)
		return err_set(err, r,
			       "perf_event_open is refused although kernel.perf_event_paranoid is "
			       "%lld: a seccomp profile (container?) blocks it; allow it there, or run "
			       "jsampler on the host",
			       (long long)paranoid);
	return err_set(err, r,
		       "PID %d: no permission for perf events (kernel.perf_event_paranoid is %lld): run "
		       "%s with CAP_PERFMON and CAP_SYS_PTRACE (container: --cap-add)",
		       proc_pid(proc), (long long)paranoid, geteuid() == 0 ? "jsampler" : "it as root, or");
}

/* Always -EOPNOTSUPP, because -EINVAL is for the caller's mistakes. */
static int explain_event(int r, const struct perf_config *c, struct err *err)
{
	if (c->event.hardware)
		return err_set(err, -EOPNOTSUPP,
			       "event '%s' is not available: this machine has no such hardware "
			       "counter (virtual machine?); -e cpu works everywhere",
			       c->event.name);
	return err_set(err, -EOPNOTSUPP, "event '%s' cannot be sampled here: perf_event_open: %s", c->event.name,
		       strerror(-r));
}

int perf_explain_open(int r, struct proc *proc, const struct perf_config *c, struct err *err)
{
	switch (r) {
	case -EACCES:
	case -EPERM: return explain_denied(r, proc, err);
	case -ENOSYS:
		return err_set(err, r,
			       "perf_event_open is not available: the kernel lacks CONFIG_PERF_EVENTS, or "
			       "a seccomp profile (container?) hides it");
	case -ENOENT:
	case -ENODEV:
	case -EOPNOTSUPP:
	case -EINVAL: return explain_event(r, c, err);
	case -ESRCH: return err_set(err, r, "PID %d has ended", proc_pid(proc));
	case -ENFILE: return err_set(err, r, "the system is out of file descriptors: raise fs.file-max");
	default: return err_set(err, r, "perf_event_open: %s", strerror(-r));
	}
}

int perf_explain_mmap(int r, size_t bytes, struct err *err)
{
	if (r == -EPERM || r == -ENOMEM)
		return err_set(err, r,
			       "cannot lock %zu KiB of memory for the ring of each CPU: raise "
			       "kernel.perf_event_mlock_kb (now %lld) or 'ulimit -l', or stop other "
			       "users of perf events",
			       bytes / 1024, (long long)kernel_setting("perf_event_mlock_kb", 0));
	return err_set(err, r, "cannot map a perf ring: %s", strerror(-r));
}

int perf_explain_budget(size_t threads, size_t cpus, uint64_t limit, struct err *err)
{
	return err_set(err, -EMFILE,
		       "%zu threads x %zu CPUs need more than %zu file descriptors, the limit is %llu: "
		       "raise it ('ulimit -Hn', LimitNOFILE=)%s",
		       threads, cpus, threads * cpus, (unsigned long long)limit,
		       geteuid() == 0 ? "" : ", or run as root, which needs few");
}
