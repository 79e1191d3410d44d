#include "sampler/daemon/supervise/quarantine.h"

#include <stdlib.h>

#define FIRST_NS UINT64_C(60000000000)
#define DAY_NS UINT64_C(86400000000000)

/* A target, or a user: pid 0. */
struct blamed {
	pid_t pid;
	uid_t uid;
	uint64_t start_ticks;
	unsigned times;
	uint64_t last_ns, delay_ns, until_ns;
};

struct quarantine {
	struct blamed v[QUARANTINE_MAX];
	size_t n;
};

struct quarantine *quarantine_new(void)
{
	return calloc(1, sizeof(struct quarantine));
}

void quarantine_free(struct quarantine *q)
{
	free(q);
}

static struct blamed *find(struct quarantine *q, const struct blamed *who)
{
	for (size_t i = 0; i < q->n; i++) {
		struct blamed *b = &q->v[i];

		if (b->pid == who->pid && b->uid == who->uid && b->start_ticks == who->start_ticks)
			return b;
	}
	return NULL;
}

/*
 * A user who is forgotten could start over, so targets are dropped first, and among them the one that was to blame
 * longest ago.
 */
static bool goes_before(const struct blamed *a, const struct blamed *b)
{
	if (!a->pid != !b->pid)
		return a->pid;
	return a->last_ns < b->last_ns;
}

static struct blamed *make_room(struct quarantine *q, uint64_t now_ns)
{
	struct blamed *first = &q->v[0];

	if (q->n < QUARANTINE_MAX)
		return &q->v[q->n++];
	for (size_t i = 0; i < q->n; i++) {
		if (now_ns - q->v[i].last_ns >= DAY_NS)
			return &q->v[i];
		if (goes_before(&q->v[i], first))
			first = &q->v[i];
	}
	return first;
}

static struct blamed *find_or_add(struct quarantine *q, const struct blamed *who, uint64_t now_ns)
{
	struct blamed *b = find(q, who);

	if (!b) {
		b = make_room(q, now_ns);
		*b = *who;
	} else if (now_ns - b->last_ns >= DAY_NS) {
		*b = *who;
	}
	return b;
}

static uint64_t blame(struct quarantine *q, const struct blamed *who, unsigned tolerated, uint64_t now_ns)
{
	struct blamed *b = find_or_add(q, who, now_ns);

	b->last_ns = now_ns;
	if (++b->times < tolerated)
		return 0;
	b->delay_ns = !b->delay_ns ? FIRST_NS : b->delay_ns * 2 < DAY_NS ? b->delay_ns * 2 : DAY_NS;
	b->until_ns = now_ns + b->delay_ns;
	return b->delay_ns;
}

static struct blamed target_of(const struct quarantine_who *who)
{
	return (struct blamed){.pid = who->pid, .uid = who->uid, .start_ticks = who->start_ticks};
}

static struct blamed user_of(const struct quarantine_who *who)
{
	return (struct blamed){.uid = who->uid};
}

uint64_t quarantine_blame(struct quarantine *q, const struct quarantine_who *who, uint64_t now_ns)
{
	const struct blamed target = target_of(who), user = user_of(who);
	uint64_t a = blame(q, &target, QUARANTINE_TARGET, now_ns), b = blame(q, &user, QUARANTINE_USER, now_ns);

	return a > b ? a : b;
}

static uint64_t left(const struct blamed *b, uint64_t now_ns)
{
	return b && b->until_ns > now_ns ? b->until_ns - now_ns : 0;
}

uint64_t quarantine_left_ns(struct quarantine *q, const struct quarantine_who *who, uint64_t now_ns)
{
	const struct blamed target = target_of(who), user = user_of(who);
	uint64_t a = left(find(q, &target), now_ns), b = left(find(q, &user), now_ns);

	return a > b ? a : b;
}
