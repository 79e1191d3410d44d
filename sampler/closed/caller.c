#include "sampler/closed/caller.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/files/fileio.h"

enum {
	STATUS_MAX = 64 << 10,
	ANCESTORS_MAX = 256, /* a chain that changes while it is followed may have no end */
};

struct process {
	uint64_t parent, uid, gid; /* real ones */
};

/* The first number after `name`, which begins with the end of the previous line. */
static bool field(const char *status, const char *name, uint64_t *ret)
{
	const char *at = strstr(status, name);
	char number[24];
	size_t n;

	if (!at)
		return false;
	at += strlen(name);
	n = strspn(at, "0123456789");
	if (n == 0 || n >= sizeof(number))
		return false;
	memcpy(number, at, n);
	number[n] = '\0';
	return parse_u64(number, 0, UINT32_MAX, ret) == 0;
}

/* proc_pid_status(5). The name in its first line has no line ends: the kernel escapes them. */
static bool read_process(int proc, uint64_t pid, struct process *ret)
{
	CLEANUP(free_at_exit) char *status = NULL;
	char path[40];
	size_t len;

	snprintf(path, sizeof(path), "%u/status", (unsigned)pid);
	return file_read_at(proc, path, STATUS_MAX, &status, &len) == 0 && field(status, "\nPPid:\t", &ret->parent) &&
	       field(status, "\nUid:\t", &ret->uid) && field(status, "\nGid:\t", &ret->gid);
}

bool caller_ids(int proc, pid_t pid, const char *sudo_uid, struct ids *ret)
{
	struct process p;
	uint64_t said, at = (uint64_t)pid;

	if (!sudo_uid || parse_u64(sudo_uid, 1, UINT32_MAX - 1, &said) < 0)
		return false;
	for (int i = 0; i < ANCESTORS_MAX && at; i++, at = p.parent) {
		if (!read_process(proc, at, &p) || (p.uid && p.uid != said))
			return false;
		/* sudo itself has the caller's real uid, and root's group */
		if (p.uid && p.gid) {
			*ret = (struct ids){(uid_t)p.uid, (gid_t)p.gid};
			return true;
		}
	}
	return false;
}
