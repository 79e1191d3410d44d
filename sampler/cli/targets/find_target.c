#include "sampler/cli/targets/find_target.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cli/options/cmd_docs.h"
#include "sampler/closing/closing.h"
#include "sampler/inspect/each_process.h"
#include "sampler/inspect/inspect.h"
#include "sampler/inspect/java_main.h"
#include "sampler/views/nearest.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/text.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"

/* Limit of command lines; real ones are far below the kernel's limit. */
#define MAX_CMDLINE (1u << 20)

/* MISSPELT: edit distance from a command's name; NAME_SIZE: of what a JVM is called. */
enum { MISSPELT = 2, NEAREST = 3, NAME_SIZE = 65 };

static bool read_main(struct proc *p, char *dst, size_t size)
{
	CLEANUP(free_at_exit) char *cmdline = NULL;
	size_t len = 0;

	return proc_cmdline(p, &cmdline, &len) == 0 && len < MAX_CMDLINE && java_main(cmdline, len, dst, size);
}

struct matching {
	struct buf pids; /* as text */
	size_t n;
	pid_t pid; /* any of them */
};

/* A JVM whose name is similar. */
struct similar {
	pid_t pid;
	int distance;
	char name[NAME_SIZE];
};

struct search {
	const char *name;
	VEC(pid_t) javas;
	size_t left; /* left out for lack of time or memory */
	struct err failed; /* why a process could not be examined; "": none */
	struct matching open, closed; /* closed: their programs cannot be read, so they cannot be sampled either */
	struct similar nearest[NEAREST]; /* the most similar first */
	size_t n_nearest;
};

static bool look_at_name(void *ctx, pid_t pid, void *record, struct err *failed)
{
	struct proc *p;
	bool closed, is_java;

	(void)ctx, (void)record, (void)failed;
	if (proc_open(pid, &p, NULL) < 0)
		return false;
	is_java = inspect_is_java(p, &closed);
	proc_close(p);
	return is_java;
}

struct looked {
	/* bool has no value for every byte that a child may send */
	uint8_t is_it;
	uint8_t closed; /* its program cannot be read */
	char name[NAME_SIZE]; /* if it is not the one */
};

/* The command line is read from the process's memory. */
static bool look_at_main(void *ctx, pid_t pid, void *record, struct err *failed)
{
	const struct search *s = ctx;
	struct closing c = {0};
	struct looked l = {0};
	struct proc *p = NULL;
	bool closed = false, has_main = false;
	char main[4096];
	int r = closing_for_one_process(&c, pid, failed);

	if (r == -ESRCH)
		*failed = (struct err){0};
	if (r == 0 && proc_open(pid, &p, NULL) == 0)
		has_main = inspect_is_java(p, &closed) && read_main(p, main, sizeof(main));
	if (has_main) {
		l.is_it = java_main_matches(main, s->name);
		java_main_short(main, l.name, sizeof(l.name));
	}
	l.closed = closed;
	proc_close(p);
	closing_done(&c);
	memcpy(record, &l, sizeof(l));
	return has_main;
}

static void found_java(void *ctx, pid_t pid, const void *record)
{
	struct search *s = ctx;

	(void)record;
	if (!vec_push(&s->javas, pid))
		s->left++;
}

static void note_nearest(struct search *s, pid_t pid, const char *name)
{
	struct similar x = {.pid = pid, .distance = nearest_word(s->name, name)};
	size_t at = s->n_nearest;

	if (x.distance < 0)
		return;
	text_sanitise(x.name, sizeof(x.name), name, strlen(name));
	for (; at && x.distance < s->nearest[at - 1].distance; at--)
		if (at < NEAREST)
			s->nearest[at] = s->nearest[at - 1];
	if (at == NEAREST)
		return;
	s->nearest[at] = x;
	s->n_nearest += s->n_nearest < NEAREST;
}

static void found(void *ctx, pid_t pid, const void *record)
{
	struct search *s = ctx;
	struct looked l;
	struct matching *m;

	memcpy(&l, record, sizeof(l));
	l.name[sizeof(l.name) - 1] = '\0';
	if (!l.is_it) {
		note_nearest(s, pid, l.name);
		return;
	}
	m = l.closed ? &s->closed : &s->open;
	buf_printf(&m->pids, " %d", (int)pid);
	m->pid = pid;
	m->n++;
}

static void stuck(void *ctx, pid_t pid, int signal)
{
	(void)ctx;
	each_process_say_stuck(pid, signal);
}

static int look_at_each(struct search *s, const struct each_process *e, const pid_t *pids, size_t n, struct err *err)
{
	size_t left = 0;
	int r = each_process(pids, n, e, &left, err);

	s->left += left;
	return r;
}

static int search_all(struct search *s, struct err *err)
{
	const uint64_t deadline_ns = clock_monotonic_ns() + EACH_ALL_MS * UINT64_C(1000000);
	const struct each_process names = {.ctx = s,
					   .deadline_ns = deadline_ns,
					   .begin = closing_for_names,
					   .look = look_at_name,
					   .found = found_java,
					   .stuck = stuck};
	const struct each_process mains = {.ctx = s,
					   .record = sizeof(struct looked),
					   .deadline_ns = deadline_ns,
					   .apart = true,
					   .look = look_at_main,
					   .found = found,
					   .stuck = stuck,
					   .failed = &s->failed};
	CLEANUP(free_at_exit) pid_t *pids = NULL;
	size_t n = 0;
	int r;

	(void)proc_others(&pids, &n); /* none are found, then */
	r = look_at_each(s, &names, pids, n, err);
	if (r == 0 && s->javas.n)
		closing_say_gaps();
	if (r == 0)
		r = look_at_each(s, &mains, s->javas.v, s->javas.n, err);
	if (r == 0)
		r = each_process_take_failed(&s->failed, s->open.n + s->closed.n > 0, err);
	if (r == 0 && s->left)
		log_warn("%zu processes were left out: others took too long to read", s->left);
	return r;
}

/* A misspelt command looks like a main class. NULL: no similar command. */
static const struct cmd_doc *command_like(const char *name)
{
	const struct cmd_doc *c = cmd_docs();

	while (c->name && (c->name[0] != name[0] || nearest_distance(name, c->name) > MISSPELT))
		c++;
	return c->name ? c : NULL;
}

static void nearest_text(const struct search *s, char *dst, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < s->n_nearest && len < size; i++)
		len += (size_t)snprintf(dst + len, size - len, "%s%s (PID %d)",
					i ? ", " : "; nearest: ", s->nearest[i].name, (int)s->nearest[i].pid);
}

static int not_found(const struct search *s, struct err *err)
{
	const struct cmd_doc *c = command_like(s->name);
	char near[NEAREST * (NAME_SIZE + 32)] = "";

	nearest_text(s, near, sizeof(near));
	if (c)
		return err_set(err, -ENOENT,
			       "no running JVM that you may see has the main class or jar '%.80s'%s; did you mean "
			       "'jsampler %s'?",
			       s->name, near, c->name);
	return err_set(err, -ENOENT,
		       "no running JVM that you may see has the main class or jar '%.80s'%s; 'jsampler list' "
		       "shows them%s",
		       s->name, near, proc_own_pids_advice());
}

/* If no other JVM matches, returns one that cannot be sampled, so that the error says why. */
int find_target(const char *name, pid_t *ret, struct err *err)
{
	struct search s = {.name = name};
	int r = search_all(&s, err);
	const struct matching *m = s.open.n ? &s.open : &s.closed;

	if (r == 0 && m->n == 0)
		r = not_found(&s, err);
	else if (r == 0 && m->n > 1)
		r = err_set(err, -EEXIST, "several JVMs have the main class or jar '%.80s': PIDs%.80s; use -p", name,
			    m->pids.data ? m->pids.data : "");
	*ret = m->pid;
	buf_done(&s.open.pids);
	buf_done(&s.closed.pids);
	vec_done(&s.javas);
	return r;
}
