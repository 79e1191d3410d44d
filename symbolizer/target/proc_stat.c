#include "symbolizer/target/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/files/fileio.h"

enum { STAT_BYTES = 4096, STATUS_BYTES = 64 << 10 };

/* *ret must be freed. */
static int read_of(pid_t pid, const char *name, size_t max, char **ret)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return file_read_at(AT_FDCWD, path, max, ret, NULL);
}

int proc_stat_of(pid_t pid, struct proc_stat *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	int r = read_of(pid, "stat", STAT_BYTES, &text);

	return r < 0 ? r : proc_stat_parse(text, ret);
}

int proc_status_of(pid_t pid, struct proc_status *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	int r = read_of(pid, "status", STATUS_BYTES, &text);

	return r < 0 ? r : proc_status_parse(text, ret);
}

uint64_t proc_ticks_ns(uint64_t ticks)
{
	long hz = sysconf(_SC_CLK_TCK);

	return hz > 0 ? ticks * (1000000000u / (uint64_t)hz) : 0;
}

int proc_stat_parse(const char *text, struct proc_stat *ret)
{
	struct proc_stat s;
	/* The target chooses the name; the text after the last ')' comes from the kernel. */
	const char *p = strrchr(text, ')');

	if (!p)
		return -EINVAL;
	/* Fields 3 state, 4 ppid, 9 flags, 14 utime, 15 stime, 16 cutime, 17 cstime, 20 num_threads, 22 starttime. */
	if (sscanf(p + 1,
		   " %c %d %*d %*d %*d %*d %" SCNu64 " %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %*d %*d %" SCNu64 " %*d %" SCNu64,
		   &s.state, &s.ppid, &s.flags, &s.utime, &s.stime, &s.cutime, &s.cstime, &s.n_threads, &s.start) != 9)
		return -EINVAL;
	*ret = s;
	return 0;
}

int proc_stat_cpu(const char *text, int *ret)
{
	enum { STATE = 3, PROCESSOR = 39 };
	const char *p = strrchr(text, ')');

	for (int field = STATE - 1; p && field < PROCESSOR; field++)
		p = strchr(p + 1, ' ');
	return p && sscanf(p, " %d", ret) == 1 ? 0 : -EINVAL;
}

/* The text after "KEY:" at the start of a line, or NULL. (The kernel escapes line ends in names.) */
static const char *line_find(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = text; p; p = (p = strchr(p, '\n')) ? p + 1 : NULL)
		if (strncmp(p, key, len) == 0 && p[len] == ':')
			return p + len + 1;
	return NULL;
}

/* The n-th number (from 0) of a line; n = -1: the last. 0 if there is no such line or number. */
static uint64_t line_number(const char *text, const char *key, int n, int base)
{
	const char *p = line_find(text, key);
	uint64_t value = 0;

	for (int i = 0; p && (n < 0 || i <= n); i++) {
		char *end;
		uint64_t v;

		p += strspn(p, " \t");
		if (*p == '\n' || *p == '\0')
			return n < 0 ? value : 0;
		v = strtoull(p, &end, base);
		if (end == p)
			break;
		value = v;
		p = end;
	}
	return value;
}

int proc_status_parse(const char *text, struct proc_status *ret)
{
	if (!line_find(text, "Tgid") || !line_find(text, "Uid"))
		return -EINVAL;
	*ret = (struct proc_status){
		.uid = (uid_t)line_number(text, "Uid", 0, 10),
		.euid = (uid_t)line_number(text, "Uid", 1, 10),
		.egid = (gid_t)line_number(text, "Gid", 1, 10),
		.tgid = (pid_t)line_number(text, "Tgid", 0, 10),
		.ns_pid = (pid_t)line_number(text, "NSpid", -1, 10),
		.tracer = (pid_t)line_number(text, "TracerPid", 0, 10),
		.sig_caught = line_number(text, "SigCgt", 0, 16),
		.cap_effective = line_number(text, "CapEff", 0, 16),
		.seccomp = (int)line_number(text, "Seccomp", 0, 10),
		.seccomp_filters = line_number(text, "Seccomp_filters", 0, 10),
		.no_new_privs = line_number(text, "NoNewPrivs", 0, 10) == 1,
		.threads = line_number(text, "Threads", 0, 10),
	};
	if (ret->ns_pid == 0) /* a kernel without PID namespaces */
		ret->ns_pid = (pid_t)line_number(text, "Pid", 0, 10);
	return 0;
}
