#include "sampler/engine/perf/events/perf_attr.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/regs_host.h"

#define SAMPLE_TYPE                                                                                                    \
	((uint64_t)PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |            \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* linux/perf_event.h of 6.0; older headers lack it. */
#define FORMAT_LOST (1u << 4)

uint64_t perf_attr_weight(const struct perf_config *c)
{
	bool each = c->event.type == PERF_TYPE_SOFTWARE || c->event.type == PERF_TYPE_TRACEPOINT;

	return each && !c->event.clock && c->period > 1 ? c->period : 0;
}

static uint64_t sample_type(const struct perf_config *c)
{
	uint64_t type = SAMPLE_TYPE;

	if (!perf_attr_weight(c))
		type |= PERF_SAMPLE_PERIOD;
	if (c->features & PERF_CAN_STAY)
		type |= PERF_SAMPLE_READ;
	return type;
}

struct perf_layout perf_attr_layout(const struct perf_config *c)
{
	return (struct perf_layout){
		.sample_type = sample_type(c),
		.n_regs = (unsigned)__builtin_popcountll(regs_host_perf_mask()),
		.n_read = c->features & PERF_CAN_COUNT_LOST ? 2 : 1,
		.sample_id_all = true,
	};
}

static void set_common(const struct perf_config *c, struct perf_event_attr *a)
{
	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	a->disabled = 1;
	a->exclude_hv = 1;
	a->exclude_kernel = c->exclude_kernel;
	a->sample_id_all = 1;
	/* Side-band records end in the fields of the sample type, which is the same for all events of a ring, so that
	 * one layout fits all records. */
	a->sample_type = sample_type(c);
	a->sample_regs_user = regs_host_perf_mask();
	a->sample_stack_user = c->stack_bytes;
	a->exclude_callchain_user = 1;
	a->exclude_callchain_kernel = !c->kernel || c->exclude_kernel;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->watermark = 1;
	a->wakeup_watermark = c->wakeup_bytes;
	if (c->features & PERF_CAN_COUNT_LOST)
		a->read_format = FORMAT_LOST;
}

static void set_sideband(struct perf_event_attr *a)
{
	a->comm = 1;
	a->comm_exec = 1;
	a->task = 1;
	a->mmap = 1; /* executable mappings only; mmap_data would add the others */
	a->mmap2 = 1;
}

void perf_attr_sampling(const struct perf_config *c, bool per_thread, struct perf_event_attr *a)
{
	set_common(c, a);
	a->type = c->event.type;
	a->config = c->event.config;
	a->sample_period = c->period;
	if (c->wake_each && (per_thread || !c->cpus_in_batches)) {
		/* The ring keeps its watermark, that of the event that owns it. */
		a->watermark = 0;
		a->wakeup_events = 1;
	}
	if (per_thread) {
		a->inherit = 1;
		a->inherit_thread = !c->follow && c->features & PERF_CAN_INHERIT_THREAD;
		a->inherit_stat = !!(c->features & PERF_CAN_READ_ENDED);
		if (!c->sideband_apart)
			set_sideband(a);
	} else {
		a->exclude_idle = 1;
	}
}

void perf_attr_leader(const struct perf_config *c, bool sideband, struct perf_event_attr *a)
{
	set_common(c, a);
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_DUMMY;
	if (sideband)
		set_sideband(a);
}

void perf_attr_forks(const struct perf_config *c, struct perf_event_attr *a)
{
	perf_attr_leader(c, false, a);
	a->task = 1;
	a->wakeup_watermark = 1;
}

static int open_here(const struct perf_event_attr *attr, const struct event_place *p, int filter_fd)
{
	struct perf_event_attr a = *attr;
	CLEANUP(close_at_exit) int fd = -1;

	a.sample_stack_user = p->stack_bytes;
	fd = (int)syscall(SYS_perf_event_open, &a, p->tid, p->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || (p->tid < 0 && filter_fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, filter_fd) < 0))
		return -errno;
	return take_fd(&fd);
}

int perf_open_places(const struct perf_event_attr *attr, const struct event_place *places, size_t n, int filter_fd,
		     int *fds, size_t *ret_opened)
{
	if (deputy())
		return deputy()->events(deputy()->ctx, attr, places, n, filter_fd, fds, ret_opened);
	deputy_note_event(attr->type, attr->config);
	for (*ret_opened = 0; *ret_opened < n; ++*ret_opened) {
		int fd = open_here(attr, &places[*ret_opened], filter_fd);

		if (fd < 0)
			return fd;
		fds[*ret_opened] = fd;
	}
	return 0;
}

int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu, int filter_fd)
{
	const struct event_place p = {tid, cpu, attr->sample_stack_user};
	size_t opened;
	int fd, r = perf_open_places(attr, &p, 1, filter_fd, &fd, &opened);

	return r < 0 ? r : fd;
}

static int try_open(const struct perf_config *c, pid_t tid, int cpu)
{
	struct perf_event_attr a;
	int fd;

	perf_attr_sampling(c, tid >= 0, &a);
	fd = perf_open(&a, tid, cpu, -1);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* A kernel that does not know a bit returns EINVAL without saying which: the newest features are left out first.
 * Returns the result of the last try. */
static int probe_features(struct perf_config *c, pid_t tid, int cpu)
{
	static const unsigned sets[] = {
		PERF_CAN_STAY | PERF_CAN_INHERIT_THREAD | PERF_CAN_COUNT_LOST | PERF_CAN_READ_ENDED,
		PERF_CAN_INHERIT_THREAD | PERF_CAN_COUNT_LOST | PERF_CAN_READ_ENDED,
		PERF_CAN_INHERIT_THREAD | PERF_CAN_COUNT_LOST,
		PERF_CAN_INHERIT_THREAD | PERF_CAN_READ_ENDED,
		PERF_CAN_INHERIT_THREAD,
		PERF_CAN_COUNT_LOST | PERF_CAN_READ_ENDED,
		PERF_CAN_COUNT_LOST,
		PERF_CAN_READ_ENDED,
		0,
	};
	int r = -EINVAL;

	for (size_t i = c->stay ? 0 : 1; i < sizeof(sets) / sizeof(sets[0]); i++) {
		c->features = sets[i];
		r = try_open(c, tid, cpu);
		if (r != -EINVAL && r != -E2BIG)
			break;
	}
	return r;
}

int perf_attr_probe(struct perf_config *c, pid_t tid, int cpu)
{
	int r = probe_features(c, tid, cpu);

	if ((r == -EACCES || r == -EPERM) && !c->exclude_kernel) {
		c->exclude_kernel = true;
		r = probe_features(c, tid, cpu);
	}
	return r;
}
