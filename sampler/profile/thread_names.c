#include "sampler/profile/thread_names.h"

#include "symbolizer/base/hash.h"
#include "symbolizer/base/strtab.h"

static uint64_t thread_hash(pid_t pid, pid_t tid)
{
	return hash_u64((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid);
}

static bool thread_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct thread_names *t = ctx;
	const struct thread_name *a = wanted, *b = &t->list.v[position];

	return a->pid == b->pid && a->tid == b->tid;
}

static uint32_t find(const struct thread_names *t, pid_t pid, pid_t tid)
{
	struct thread_name wanted = {pid, tid, 0};

	return slots_find(&t->slots, thread_hash(pid, tid), thread_is, t, &wanted);
}

bool thread_names_set(struct thread_names *t, pid_t pid, pid_t tid, const char *name, bool full)
{
	uint32_t i = find(t, pid, tid), id;

	/* A program may rename its threads forever, so a full table accepts no more texts. */
	if (full || (!t->strings && !(t->strings = strtab_new())))
		return false;
	if ((id = strtab_add_z(t->strings, name)) == UINT32_MAX)
		return false;
	if (i == SLOTS_NONE)
		return slots_push(&t->slots, thread_hash(pid, tid), &t->list, ((struct thread_name){pid, tid, id}));
	t->list.v[i].name = id;
	return true;
}

const char *thread_names_get(const struct thread_names *t, pid_t pid, pid_t tid)
{
	uint32_t i = find(t, pid, tid);

	return i == SLOTS_NONE ? NULL : strtab_get(t->strings, t->list.v[i].name);
}

size_t thread_names_bytes(const struct thread_names *t)
{
	return t->list.cap * sizeof(*t->list.v) + slots_bytes(&t->slots) + (t->strings ? strtab_bytes(t->strings) : 0);
}

void thread_names_done(struct thread_names *t)
{
	vec_done(&t->list);
	slots_done(&t->slots);
	strtab_free(t->strings);
	*t = (struct thread_names){0};
}
