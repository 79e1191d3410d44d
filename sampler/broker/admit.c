/* Targets that come and go while the broker runs, as the process that started it says. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "sampler/broker/private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/small_thread.h"
#include "symbolizer/target/proc.h"

enum { WAIT_MAX_NS = 1000000000 };

struct admitted {
	pid_t pid; /* 0: none */
	uint32_t number;
	uint32_t divisor; /* takes effect at at_ns; 0: unchanged */
	uint64_t at_ns;
};

struct admitting {
	struct broker *b;
	struct admitted by_slot[BROKER_SLOTS];
};

/*
 * Makes sure that the PID still belongs to the process that was found. From here on, it is accessed by descriptors
 * only.
 */
static int add(struct broker *b, const struct broker_admission *m, uint32_t *ret)
{
	int r;

	pthread_mutex_lock(&b->lock);
	r = broker_add_pid(b, m->pid, ret, NULL);
	pthread_mutex_unlock(&b->lock);
	if (r == 0 && proc_start_ticks(b->targets[*ret].proc) != m->start_ticks) {
		broker_target_forget(b, *ret);
		r = -ESRCH;
	}
	return r;
}

/* It may have executed another program between being found and being watched. 0 or -errno. */
static int has_no_more_rights(struct broker *b, uint32_t number)
{
	struct broker_target *t;
	struct proc_status st;
	int r = broker_target_use(b, number, &t, &st);

	if (r == 0)
		broker_target_release(b, number);
	return r;
}

static int admit(struct admitting *a, const struct broker_admission *m)
{
	const struct broker_admissions *o = &a->b->admissions;
	struct admitted *slot = &a->by_slot[m->slot];
	uint32_t number;
	int r;

	if (slot->pid && slot->pid != m->pid)
		return -EEXIST;
	if (slot->pid) {
		slot->divisor = m->divisor;
		slot->at_ns = m->at_ns;
		return 0;
	}
	r = add(a->b, m, &number);
	if (r < 0)
		return r;
	r = o->set(o->ctx, m->pid, m->slot, m->divisor);
	if (r == 0)
		r = has_no_more_rights(a->b, number);
	if (r < 0)
		o->remove(o->ctx, m->pid);
	if (r < 0)
		broker_target_forget(a->b, number);
	else
		*slot = (struct admitted){.pid = m->pid, .number = number};
	return r;
}

/* The process has ended, and another one with its PID was admitted before this was known. */
static bool is_anothers(const struct admitting *a, const struct admitted *slot)
{
	for (uint32_t i = 0; i < BROKER_SLOTS; i++)
		if (&a->by_slot[i] != slot && a->by_slot[i].pid == slot->pid)
			return true;
	return false;
}

static void dismiss(struct admitting *a, const struct broker_admission *m)
{
	const struct broker_admissions *o = &a->b->admissions;
	struct admitted *slot = &a->by_slot[m->slot];

	if (!slot->pid)
		return;
	if (!is_anothers(a, slot)) {
		o->remove(o->ctx, slot->pid);
		broker_kin_forget(a->b, slot->pid);
	}
	broker_target_forget(a->b, slot->number);
	*slot = (struct admitted){0};
}

static int take(struct admitting *a, const struct broker_admission *m)
{
	const struct broker_admissions *o = &a->b->admissions;
	struct broker_admission answer = *m;
	int r = 0;

	if (m->slot >= BROKER_SLOTS)
		return -EPROTO;
	if (m->what == BROKER_ADMIT)
		r = admit(a, m);
	else if (m->what == BROKER_DISMISS)
		dismiss(a, m);
	else
		return -EPROTO;
	if (r == 0)
		return channel_send(o->to, m, sizeof(*m), -1);
	answer.what = BROKER_REFUSED;
	answer.code = r;
	return channel_send(o->from, &answer, sizeof(answer), -1);
}

/* Applies what is due. Returns the milliseconds until the next change; -1: none is pending. */
static int set_due(struct admitting *a)
{
	const struct broker_admissions *o = &a->b->admissions;
	uint64_t now = clock_monotonic_ns(), next = UINT64_MAX;

	for (uint32_t i = 0; i < BROKER_SLOTS; i++) {
		struct admitted *slot = &a->by_slot[i];

		if (!slot->pid || !slot->divisor)
			continue;
		if (slot->at_ns > now) {
			next = slot->at_ns < next ? slot->at_ns : next;
			continue;
		}
		o->change(o->ctx, slot->pid, i, slot->divisor);
		slot->divisor = 0;
	}
	return next == UINT64_MAX       ? -1 :
	       next - now < WAIT_MAX_NS ? (int)((next - now) / 1000000) :
					  WAIT_MAX_NS / 1000000;
}

static void *take_all(void *arg)
{
	struct admitting *a = arg;
	struct pollfd p = {.fd = a->b->admissions.from, .events = POLLIN};
	struct broker_admission m;

	for (;;) {
		int n = poll(&p, 1, set_due(a));

		if (n > 0 && (channel_receive(p.fd, &m, sizeof(m), NULL) < 0 || take(a, &m) < 0))
			break;
	}
	/* The admitting process has given up: stop sampling everything, even if the worker cannot end. */
	for (size_t i = 0; i < BROKER_SLOTS; i++)
		if (a->by_slot[i].pid)
			a->b->admissions.remove(a->b->admissions.ctx, a->by_slot[i].pid);
	free(a);
	return NULL;
}

int broker_admit_start(struct broker *b)
{
	struct admitting *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->b = b;
	r = small_thread_start(take_all, a);
	if (r < 0)
		free(a);
	return r;
}
