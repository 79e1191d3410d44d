#include "tests/integration/attribution_samples.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_PAGES = 64, MAX_CPUS = 256 };

struct ring {
	struct perf_event_mmap_page *page;
};

struct samples {
	pid_t pid;
	size_t page_size;
	unsigned n;
	struct ring rings[MAX_CPUS];
	int *fds;
	size_t n_fds;
};

/* tid -1: whatever runs on the CPU; otherwise that thread and the threads that it starts. A descriptor or -errno. */
static int event_open(pid_t tid, int cpu, unsigned hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000ull / hz,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.inherit = tid >= 0,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int keep_fd(struct samples *s, int fd)
{
	int *fds = realloc(s->fds, (s->n_fds + 1) * sizeof(*fds));

	if (!fds) {
		close(fd);
		return -ENOMEM;
	}
	s->fds = fds;
	s->fds[s->n_fds++] = fd;
	return 0;
}

static int ring_open(struct samples *s, int fd)
{
	void *p = mmap(NULL, (1 + RING_PAGES) * s->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	s->rings[s->n++].page = p;
	return 0;
}

static int open_cpu(struct samples *s, int cpu, unsigned hz)
{
	int fd = event_open(-1, cpu, hz), r;

	if (fd < 0)
		return fd;
	r = keep_fd(s, fd);
	return r < 0 ? r : ring_open(s, fd);
}

/* For one CPU: the first thread's event has the ring, those of the other threads write into it. */
static int open_thread(struct samples *s, pid_t tid, int cpu, unsigned hz, int *owner)
{
	int fd = event_open(tid, cpu, hz), r;

	if (fd == -ESRCH) /* it has ended */
		return 0;
	if (fd < 0)
		return fd;
	r = keep_fd(s, fd);
	if (r < 0)
		return r;
	if (*owner >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, *owner) < 0 ? -errno : 0;
	*owner = fd;
	return ring_open(s, fd);
}

static int open_threads(struct samples *s, int cpu, unsigned hz)
{
	char path[32];
	struct dirent *e;
	int owner = -1, r = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", s->pid);
	d = opendir(path);
	if (!d)
		return -errno;
	while (r == 0 && (e = readdir(d)))
		if (e->d_name[0] != '.')
			r = open_thread(s, atoi(e->d_name), cpu, hz, &owner);
	closedir(d);
	return r;
}

int samples_open(pid_t pid, unsigned hz, struct samples **ret)
{
	struct samples *s = calloc(1, sizeof(*s));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int r = s ? 0 : -ENOMEM;

	if (s) {
		s->pid = pid;
		s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	}
	for (int cpu = 0; r == 0 && cpu < cpus && cpu < MAX_CPUS; cpu++) {
		r = open_cpu(s, cpu, hz);
		/* Events of a whole CPU take CAP_PERFMON, those of one's own threads do not. */
		if (r == -EACCES || r == -EPERM)
			r = open_threads(s, cpu, hz);
	}
	if (r) {
		samples_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

static void ring_copy(const struct samples *s, const struct ring *r, uint64_t at, void *dst, size_t len)
{
	const uint8_t *data = (const uint8_t *)r->page + s->page_size;
	size_t size = RING_PAGES * s->page_size;

	for (size_t i = 0; i < len; i++)
		((uint8_t *)dst)[i] = data[(at + i) % size];
}

static void ring_drain(struct samples *s, struct ring *r, sample_pc_fn *fn, void *ctx)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;

	while (tail < head) {
		struct perf_event_header h;
		struct {
			uint64_t ip;
			uint32_t pid, tid;
		} body;

		ring_copy(s, r, tail, &h, sizeof(h));
		if (h.size == 0)
			break;
		if (h.type == PERF_RECORD_SAMPLE) {
			ring_copy(s, r, tail + sizeof(h), &body, sizeof(body));
			if ((pid_t)body.pid == s->pid)
				fn(ctx, body.ip);
		}
		tail += h.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

void samples_drain(struct samples *s, sample_pc_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < s->n; i++)
		ring_drain(s, &s->rings[i], fn, ctx);
}

void samples_close(struct samples *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++)
		munmap(s->rings[i].page, (1 + RING_PAGES) * s->page_size);
	for (size_t i = 0; i < s->n_fds; i++)
		close(s->fds[i]);
	free(s->fds);
	free(s);
}
