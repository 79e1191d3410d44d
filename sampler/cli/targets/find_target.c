#include "sampler/cli/targets/find_target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cli/options/cmd_docs.h"
#include "sampler/inspect/each_process.h"
#include "sampler/inspect/java_main.h"
#include "sampler/views/nearest.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"

/* Longest command line that is looked at; real ones are far shorter than the kernel's limit. */
#define MAX_CMDLINE (1u << 20)

enum { MISSPELT = 2 }; /* bytes of a command's name */

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

	if (proc_open(pid, &p, NULL) < 0)
		return false;
	ok = is_java(p) && proc_cmdline(p, &cmdline, &len) == 0 && len < MAX_CMDLINE &&
	     java_main(cmdline, len, main, sizeof(main)) && java_main_matches(main, name);
	proc_close(p);
	return ok;
}

struct search {
	const char *name;
	struct buf pids; /* PIDs found, as text */
	size_t n;
	pid_t pid; /* any of them */
};

static bool look(void *ctx, pid_t pid, void *record)
{
	const struct search *s = ctx;

	(void)record;
	return matches(pid, s->name);
}

static void found(void *ctx, pid_t pid, const void *record)
{
	struct search *s = ctx;

	(void)record;
	buf_printf(&s->pids, " %d", (int)pid);
	s->pid = pid;
	s->n++;
}

static void stuck(void *ctx, pid_t pid)
{
	(void)ctx;
	log_warn("process %d: its command line could not be read within %d s", (int)pid, EACH_PATIENCE_MS / 1000);
}

static int search_all(struct search *s, struct err *err)
{
	const struct each_process e = {s, 0, look, found, stuck};
	VEC(pid_t) pids = {0};
	DIR *d = opendir("/proc");
	struct dirent *entry;
	size_t left;
	int r;

	while (d && (entry = readdir(d))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid > 0 && pid != getpid() && !vec_push(&pids, pid))
			break;
	}
	if (d)
		closedir(d);
	r = each_process(pids.v, pids.n, &e, &left, err);
	if (r == 0 && left)
		log_warn("%zu processes were left out: others took too long to read", left);
	vec_done(&pids);
	return r;
}

/* A misspelt command looks like a main class. NULL: no command is similar. */
static const struct cmd_doc *command_like(const char *name)
{
	const struct cmd_doc *c = cmd_docs();

	while (c->name && (c->name[0] != name[0] || nearest_distance(name, c->name) > MISSPELT))
		c++;
	return c->name ? c : NULL;
}

static int not_found(const char *name, struct err *err)
{
	const struct cmd_doc *c = command_like(name);

	if (c)
		return err_set(err, -ENOENT,
			       "no running JVM that you may see has the main class or jar "
			       "'%.80s'; did you mean "
			       "'jsampler %s'?",
			       name, c->name);
	return err_set(err, -ENOENT,
		       "no running JVM that you may see has the main class or jar '%.80s'; 'jsampler list' "
		       "shows them",
		       name);
}

int find_target(const char *name, pid_t *ret, struct err *err)
{
	struct search s = {.name = name};
	int r = search_all(&s, err);

	if (r == 0 && s.n == 0)
		r = not_found(name, err);
	else if (r == 0 && s.n > 1)
		r = err_set(err, -EEXIST, "several JVMs have the main class or jar '%.80s': PIDs%.80s; use -p", name,
			    s.pids.data ? s.pids.data : "");
	*ret = s.pid;
	buf_done(&s.pids);
	return r;
}
