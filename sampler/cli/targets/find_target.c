#include "sampler/cli/targets/find_target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cli/options/cmd_docs.h"
#include "sampler/inspect/each_process.h"
#include "sampler/inspect/inspect.h"
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

static bool matches(pid_t pid, const char *name, bool *ret_closed)
{
	CLEANUP(free_at_exit) char *cmdline = NULL;
	struct proc *p;
	char main[4096];
	size_t len = 0;
	bool ok;

	if (proc_open(pid, &p, NULL) < 0)
		return false;
	ok = inspect_is_java(p, ret_closed) && proc_cmdline(p, &cmdline, &len) == 0 && len < MAX_CMDLINE &&
	     java_main(cmdline, len, main, sizeof(main)) && java_main_matches(main, name);
	proc_close(p);
	return ok;
}

struct matching {
	struct buf pids; /* as text */
	size_t n;
	pid_t pid; /* any of them */
};

struct search {
	const char *name;
	struct matching open, closed; /* closed: their programs may not be read, so they may not be sampled either */
};

static bool look(void *ctx, pid_t pid, void *record)
{
	const struct search *s = ctx;
	bool closed = false;
	bool is_it = matches(pid, s->name, &closed);

	*(uint8_t *)record = closed;
	return is_it;
}

static void found(void *ctx, pid_t pid, const void *record)
{
	struct search *s = ctx;
	bool closed = *(const uint8_t *)record != 0;
	struct matching *m = closed ? &s->closed : &s->open;

	buf_printf(&m->pids, " %d", (int)pid);
	m->pid = pid;
	m->n++;
}

static void stuck(void *ctx, pid_t pid)
{
	(void)ctx;
	log_warn("process %d: its command line could not be read within %d s", (int)pid, EACH_PATIENCE_MS / 1000);
}

static int search_all(struct search *s, struct err *err)
{
	const struct each_process e = {s, sizeof(uint8_t), look, found, stuck};
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
			       "no running JVM that you may see has the main class or jar '%.80s'; did you mean "
			       "'jsampler %s'?",
			       name, c->name);
	return err_set(err, -ENOENT,
		       "no running JVM that you may see has the main class or jar '%.80s'; 'jsampler list' "
		       "shows them%s",
		       name, proc_own_pids_advice());
}

/* If no other JVM matches, one that may not be sampled is returned, so that the error says why. */
int find_target(const char *name, pid_t *ret, struct err *err)
{
	struct search s = {.name = name};
	int r = search_all(&s, err);
	const struct matching *m = s.open.n ? &s.open : &s.closed;

	if (r == 0 && m->n == 0)
		r = not_found(name, err);
	else if (r == 0 && m->n > 1)
		r = err_set(err, -EEXIST, "several JVMs have the main class or jar '%.80s': PIDs%.80s; use -p", name,
			    m->pids.data ? m->pids.data : "");
	*ret = m->pid;
	buf_done(&s.open.pids);
	buf_done(&s.closed.pids);
	return r;
}
