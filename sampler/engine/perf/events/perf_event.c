#include "sampler/engine/perf/events/perf_event.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/files/fileio.h"

struct name {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
};

/* clang-format off */
#define HW(n, a, c) {n, a, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##c}
#define SW(n, a, c) {n, a, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##c}
/* clang-format on */

static const struct name names[] = {
	SW("cpu-clock", "cpu", CPU_CLOCK),
	SW("task-clock", NULL, TASK_CLOCK),
	SW("page-faults", "faults", PAGE_FAULTS),
	SW("minor-faults", NULL, PAGE_FAULTS_MIN),
	SW("major-faults", NULL, PAGE_FAULTS_MAJ),
	SW("context-switches", "cs", CONTEXT_SWITCHES),
	SW("cpu-migrations", "migrations", CPU_MIGRATIONS),
	SW("alignment-faults", NULL, ALIGNMENT_FAULTS),
	SW("emulation-faults", NULL, EMULATION_FAULTS),
	HW("cycles", "cpu-cycles", CPU_CYCLES),
	HW("instructions", NULL, INSTRUCTIONS),
	HW("cache-references", NULL, CACHE_REFERENCES),
	HW("cache-misses", NULL, CACHE_MISSES),
	HW("branches", "branch-instructions", BRANCH_INSTRUCTIONS),
	HW("branch-misses", NULL, BRANCH_MISSES),
	HW("bus-cycles", NULL, BUS_CYCLES),
	HW("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HW("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HW("ref-cycles", NULL, REF_CPU_CYCLES),
};

/* PERF_TYPE_HW_CACHE: config is cache | op << 8 | result << 16. */
static const struct name caches[] = {
	{"L1-dcache", NULL, 0, PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", NULL, 0, PERF_COUNT_HW_CACHE_L1I},
	{"LLC", NULL, 0, PERF_COUNT_HW_CACHE_LL},        {"dTLB", NULL, 0, PERF_COUNT_HW_CACHE_DTLB},
	{"iTLB", NULL, 0, PERF_COUNT_HW_CACHE_ITLB},     {"branch", NULL, 0, PERF_COUNT_HW_CACHE_BPU},
	{"node", NULL, 0, PERF_COUNT_HW_CACHE_NODE},
};

#define OP(op, result) (PERF_COUNT_HW_CACHE_OP_##op << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)
static const struct name cache_ops[] = {
	{"loads", NULL, 0, OP(READ, ACCESS)},          {"load-misses", NULL, 0, OP(READ, MISS)},
	{"stores", NULL, 0, OP(WRITE, ACCESS)},        {"store-misses", NULL, 0, OP(WRITE, MISS)},
	{"prefetches", NULL, 0, OP(PREFETCH, ACCESS)}, {"prefetch-misses", NULL, 0, OP(PREFETCH, MISS)},
};
#undef OP

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool find_named(const char *name, struct perf_event_spec *ret)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		const struct name *n = &names[i];

		if (strcmp(name, n->name) && (!n->alias || strcmp(name, n->alias)))
			continue;
		ret->type = n->type;
		ret->config = n->config;
		ret->hardware = n->type == PERF_TYPE_HARDWARE;
		ret->clock = n->type == PERF_TYPE_SOFTWARE &&
			     (n->config == PERF_COUNT_SW_CPU_CLOCK || n->config == PERF_COUNT_SW_TASK_CLOCK);
		snprintf(ret->unit, sizeof(ret->unit), "%s", ret->clock ? "ns" : n->name);
		return true;
	}
	return false;
}

static bool find_cache(const char *name, struct perf_event_spec *ret)
{
	for (size_t i = 0; i < COUNT(caches); i++) {
		size_t len = strlen(caches[i].name);

		if (strncmp(name, caches[i].name, len) || name[len] != '-')
			continue;
		for (size_t j = 0; j < COUNT(cache_ops); j++) {
			if (strcmp(name + len + 1, cache_ops[j].name))
				continue;
			ret->type = PERF_TYPE_HW_CACHE;
			ret->config = caches[i].config | cache_ops[j].config;
			ret->hardware = true;
			return true;
		}
	}
	return false;
}

static bool find_raw(const char *name, struct perf_event_spec *ret)
{
	size_t n = strlen(name);

	if (name[0] != 'r' || n < 2 || n > 17 || strspn(name + 1, "0123456789abcdefABCDEF") != n - 1)
		return false;
	ret->type = PERF_TYPE_RAW;
	ret->config = strtoull(name + 1, NULL, 16);
	ret->hardware = true;
	return true;
}

static bool is_tracepoint_name(const char *name)
{
	const char *colon = strchr(name, ':');

	if (!colon || colon == name || !colon[1] || strchr(colon + 1, ':'))
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("_-:", *name))
			return false;
	return true;
}

static int tracepoint_id(const char *name, uint64_t *ret)
{
	static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	const char *colon = strchr(name, ':');
	int r = -ENOENT;

	for (size_t i = 0; i < COUNT(roots); i++) {
		char path[192], *text;
		size_t len;
		int q;

		snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", roots[i], (int)(colon - name), name, colon + 1);
		q = file_read_at(AT_FDCWD, path, 64, &text, &len);
		if (q == -EACCES || q == -EPERM)
			r = q;
		if (q < 0)
			continue;
		text[strcspn(text, "\n")] = 0;
		q = parse_u64(text, 0, INT32_MAX, ret);
		free(text);
		return q;
	}
	return r;
}

static int find_tracepoint(const char *name, struct perf_event_spec *ret, struct err *err)
{
	int r = tracepoint_id(name, &ret->config);

	if (r == -EACCES || r == -EPERM)
		return err_set(err, r,
			       "event '%s': only root can read the tracepoints in "
			       "/sys/kernel/tracing: run as root",
			       name);
	if (r < 0 && access("/sys/kernel/tracing/events", F_OK) < 0 &&
	    access("/sys/kernel/debug/tracing/events", F_OK) < 0)
		return err_set(err, r,
			       "event '%s': tracepoints need tracefs: mount -t tracefs none "
			       "/sys/kernel/tracing",
			       name);
	if (r < 0)
		return err_set(err, -EINVAL, "unknown event '%s': no such tracepoint in /sys/kernel/tracing/events",
			       name);
	ret->type = PERF_TYPE_TRACEPOINT;
	ret->tracepoint = true;
	return 0;
}

static bool find_plain(const char *name, struct perf_event_spec *ret)
{
	return find_named(name, ret) || find_cache(name, ret) || find_raw(name, ret);
}

/* "cycles:u": unlike in a tracepoint's name, the part before the colon is an event. */
static int find_modified(const char *name, struct perf_event_spec *ret, struct err *err)
{
	const char *colon = strrchr(name, ':');
	char plain[sizeof(ret->name)];

	if (!colon || colon == name)
		return -ENOENT;
	snprintf(plain, sizeof(plain), "%.*s", (int)(colon - name), name);
	if (!find_plain(plain, ret))
		return -ENOENT;
	ret->user_only = strcmp(colon, ":u") == 0;
	return ret->user_only ? 0 :
				err_set(err, -EINVAL, "event '%s': of perf's modifiers, only :u is supported", name);
}

int perf_event_find(const char *name, struct perf_event_spec *ret, struct err *err)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	if (strlen(name) >= sizeof(ret->name))
		return err_set(err, -EINVAL, "unknown event '%.40s...': name too long", name);
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	snprintf(ret->unit, sizeof(ret->unit), "%s", name);
	if (find_plain(name, ret))
		return 0;
	r = find_modified(name, ret, err);
	if (r != -ENOENT)
		return r;
	if (is_tracepoint_name(name))
		return find_tracepoint(name, ret, err);
	return err_set(err, -EINVAL, "unknown event '%s': use cpu, wall, or a name that 'perf list' prints", name);
}

int perf_event_try(const struct perf_event_spec *event)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}
