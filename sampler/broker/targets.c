/* Which processes belong to this run: those that the program chose, and all that they start. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/broker/private.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/proc_owner.h"
#include "symbolizer/target/proc_stat.h"

enum { STAT_MAX = 4096, CGROUP_MAX = 64 << 10, ANCESTORS_MAX = 64 };

static int read_stat(struct proc *p, struct proc_stat *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	int r = proc_read(p, "stat", STAT_MAX, &text, NULL);

	return r < 0 ? r : proc_stat_parse(text, ret);
}

static void proc_close_at_exit(struct proc **p)
{
	proc_close(*p);
}

/* Its path in all hierarchies; "": the kernel has no cgroups; NULL: unknown. */
static char *read_cgroup(struct proc *p)
{
	char *text = NULL;
	int r = proc_read(p, "cgroup", CGROUP_MAX, &text, NULL);

	return r == -ENOENT ? strdup("") : r < 0 ? NULL : text;
}

static void remember(struct broker *b, struct proc *p, uid_t uid, uint64_t start)
{
	struct broker_kin *k = &b->kin[b->n_kin++ % BROKER_KIN];

	free(k->cgroup);
	*k = (struct broker_kin){proc_pid(p), uid, start, read_cgroup(p)};
}

void broker_kin_forget(struct broker *b, pid_t pid)
{
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < BROKER_KIN && i < b->n_kin; i++) {
		struct broker_kin *k = &b->kin[i];

		if (k->pid != pid)
			continue;
		free(k->cgroup);
		*k = (struct broker_kin){0};
	}
	pthread_mutex_unlock(&b->lock);
}

static struct broker_target *free_number(struct broker *b)
{
	for (size_t i = 0; i < b->n_targets; i++)
		if (!b->targets[i].proc)
			return &b->targets[i];
	return b->n_targets < BROKER_TARGETS_MAX ? &b->targets[b->n_targets++] : NULL;
}

static int add(struct broker *b, struct proc **p, uint32_t *ret)
{
	struct proc_owner owner;
	struct proc_status st;
	struct proc_stat s;
	struct broker_target *t;
	int r = proc_owner(*p, &owner, &st);

	if (r == 0)
		r = read_stat(*p, &s);
	if (r < 0)
		return r;
	t = free_number(b);
	if (!t)
		return -E2BIG;
	remember(b, *p, st.euid, s.start);
	*t = (struct broker_target){.pid = proc_pid(*p), .owner = owner, .finds = 1};
	t->proc = take_ptr(*p);
	*ret = (uint32_t)(t - b->targets);
	return 0;
}

int broker_add_pid(struct broker *b, pid_t pid, uint32_t *ret, struct err *err)
{
	CLEANUP(proc_close_at_exit) struct proc *p = NULL;
	int r = proc_open(pid, &p, err);

	if (r < 0)
		return r;
	r = add(b, &p, ret);
	return r < 0 ? err_set(err, r, "cannot sample process %d: %s", (int)pid, strerror(-r)) : 0;
}

/* --- processes that targets started --- */

static size_t kin_count(const struct broker *b)
{
	return b->n_kin < BROKER_KIN ? b->n_kin : BROKER_KIN;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/*
 * A process whose parent ended before the request cannot be told from other processes of its user that are younger than
 * the target and in the same cgroup. A child inherits its parent's cgroup, and only someone with write access there can
 * move it: cgroups(7).
 */
static bool may_be_orphan(const struct broker *b, struct proc *p)
{
	CLEANUP(free_at_exit) char *cgroup = NULL;
	struct proc_status st;

	if (!b->follow || proc_status(p, &st) < 0)
		return false;
	cgroup = read_cgroup(p);
	for (size_t i = 0; i < kin_count(b); i++) {
		const struct broker_kin *k = &b->kin[i];

		if (k->start <= proc_start_ticks(p) && k->uid == st.uid && k->uid == st.euid &&
		    is_same(k->cgroup, cgroup))
			return true;
	}
	return false;
}

static const struct broker_kin *find_kin(const struct broker *b, pid_t pid, uint64_t start)
{
	for (size_t i = 0; i < kin_count(b); i++)
		if (b->kin[i].pid == pid && b->kin[i].start == start)
			return &b->kin[i];
	return NULL;
}

/* A set-user-ID program that a user's process has started is not that user's. */
static bool has_no_more_rights(const struct broker_kin *k, struct proc *p)
{
	struct proc_status st;

	return k->uid == 0 || (proc_status(p, &st) == 0 && st.uid == k->uid && st.euid == k->uid && !proc_is_roots(p));
}

/* Parents are not younger than their children: a process that got a parent's PID later is not one. */
static bool was_started_here(const struct broker *b, struct proc *p)
{
	struct proc_stat s;
	pid_t pid;
	int r = read_stat(p, &s);

	for (int i = 0; r == 0 && i < ANCESTORS_MAX && s.ppid > 1; i++) {
		CLEANUP(proc_close_at_exit) struct proc *parent = NULL;
		const struct broker_kin *k = NULL;
		uint64_t start = s.start;

		pid = s.ppid;
		r = proc_open(pid, &parent, NULL);
		if (r == 0)
			r = read_stat(parent, &s);
		if (r == 0 && s.start > start)
			break;
		if (r == 0)
			k = find_kin(b, pid, s.start);
		if (k)
			return has_no_more_rights(k, p);
	}
	return may_be_orphan(b, p);
}

static struct broker_target *known(struct broker *b, pid_t pid)
{
	struct proc_status st;

	for (size_t i = 0; i < b->n_targets; i++) {
		struct broker_target *t = &b->targets[i];

		if (t->finds && t->pid == pid && proc_status(t->proc, &st) == 0)
			return t;
	}
	return NULL;
}

static int find(struct broker *b, pid_t pid, uint32_t *ret)
{
	CLEANUP(proc_close_at_exit) struct proc *p = NULL;
	struct broker_target *t = known(b, pid);
	int r;

	if (t && t->finds == UINT32_MAX)
		return -E2BIG;
	if (t) {
		t->finds++;
		*ret = (uint32_t)(t - b->targets);
		return 0;
	}
	r = proc_open(pid, &p, NULL);
	if (r < 0)
		return r;
	return was_started_here(b, p) ? add(b, &p, ret) : -EPERM;
}

int broker_target_find(struct broker *b, pid_t pid, uint32_t *ret)
{
	int r;

	pthread_mutex_lock(&b->lock);
	r = find(b, pid, ret);
	pthread_mutex_unlock(&b->lock);
	return r;
}

int broker_target_recheck(const struct broker_target *t, bool open_to_all)
{
	struct proc_status st;

	if (t->owner.euid == 0 || (open_to_all && proc_is_plainly(t->proc, &t->owner)))
		return 0;
	return proc_owner_check(t->proc, &t->owner, &st) == -EPERM ? -EPERM : 0;
}

int broker_target_use(struct broker *b, uint32_t number, struct broker_target **ret, struct proc_status *ret_status)
{
	struct broker_target *t = number < BROKER_TARGETS_MAX ? &b->targets[number] : NULL;
	bool found;
	int r;

	pthread_mutex_lock(&b->lock);
	found = t && t->finds;
	if (found)
		t->uses++;
	pthread_mutex_unlock(&b->lock);
	if (!found)
		return -EPROTO;
	/* Its directory in /proc is never another process's, and shows its CPU time until it has been waited for. */
	r = ret_status ? proc_owner_check(t->proc, &t->owner, ret_status) : 0;
	if (r < 0)
		broker_target_release(b, number);
	*ret = t;
	return r;
}

/* Decrements one of the counts. When both are 0, the target is closed. */
static void release_one(struct broker *b, uint32_t number, bool use)
{
	struct broker_target *t = number < BROKER_TARGETS_MAX ? &b->targets[number] : NULL;
	struct proc *p = NULL;

	pthread_mutex_lock(&b->lock);
	if (t && use)
		t->uses--;
	else if (t && t->finds)
		t->finds--;
	if (t && !t->uses && !t->finds)
		p = take_ptr(t->proc);
	pthread_mutex_unlock(&b->lock);
	proc_close(p);
}

void broker_target_release(struct broker *b, uint32_t number)
{
	release_one(b, number, true);
}

void broker_target_forget(struct broker *b, uint32_t number)
{
	release_one(b, number, false);
}
