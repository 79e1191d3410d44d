#include "sampler/cli/find_target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/session/java_main.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

/* Longest command line looked at; the kernel's own limit is far above what a JVM is given. */
#define MAX_CMDLINE (1u << 20)

static bool is_java(struct proc *p)
{
	char exe[4096];
	const char *base;

	if (proc_exe(p, exe, sizeof(exe)) < 0)
		return false;
	base = strrchr(exe, '/');
	return strncmp(base ? base + 1 : exe, "java", 4) == 0;
}

static bool matches(pid_t pid, const char *name)
{
	CLEANUP(free_at_exit) char *cmdline = NULL;
	struct proc *p;
	char main[4096];
	size_t len = 0;
	bool ok;

	if (pid == getpid() || proc_open(pid, &p, NULL) < 0)
		return false;
	ok = is_java(p) && proc_cmdline(p, &cmdline, &len) == 0 && len < MAX_CMDLINE &&
	     java_main(cmdline, len, main, sizeof(main)) && java_main_matches(main, name);
	proc_close(p);
	return ok;
}

int find_target(const char *name, pid_t *ret, struct err *err)
{
	DIR *d = opendir("/proc");
	struct buf found = {0};
	struct dirent *e;
	size_t n = 0;
	int r = 0;

	while (d && (e = readdir(d))) {
		pid_t pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;

		if (pid <= 0 || !matches(pid, name))
			continue;
		buf_printf(&found, " %d", (int)pid);
		*ret = pid;
		n++;
	}
	if (d)
		closedir(d);
	if (n == 0)
		r = err_set(err, -ENOENT,
			    "no running JVM that you may see has the main class or jar '%.80s'; jsampler "
			    "list shows them", name);
	else if (n > 1)
		r = err_set(err, -EEXIST, "several JVMs have the main class or jar '%.80s': PIDs%.80s; use -p",
			    name, found.data ? found.data : "");
	buf_done(&found);
	return r;
}
