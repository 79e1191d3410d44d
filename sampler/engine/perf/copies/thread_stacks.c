#include "sampler/engine/perf/copies/thread_stacks.h"

enum {
	SIZE_MIN = 4096,
	SIZE_STEP = 256,
	/* Together with SIZE_STEP less than the 2,304 bytes of the control block at the end of a thread's stack
	 * (struct pthread of glibc on x86-64): beyond it there is usually a guard page, and running into that costs
	 * the kernel 1.6 us. */
	ROOM_MAX = 1792,
	FIRST_SAMPLES = 64, /* enough for a thread whose depth hardly varies */
	LATER_SAMPLES = 1024,
};
#define FIRST_NS UINT64_C(250000000)

static unsigned place_of(pid_t tid)
{
	return (unsigned)tid % THREAD_STACKS;
}

static struct thread_stack *stack_of(struct thread_stacks *s, pid_t tid)
{
	struct thread_stack *t = &s->threads[place_of(tid)];

	if (t->tid != tid)
		*t = (struct thread_stack){.tid = tid, .needed = FIRST_SAMPLES};
	return t;
}

static uint32_t size_now(const struct thread_stack *t, uint32_t common)
{
	return t->size && t->size < common ? t->size : common;
}

/* Depths that vary may vary more than was seen; otherwise a little room is enough. */
static uint32_t size_for(const struct thread_stack *t)
{
	uint64_t room = t->deepest / 4, spread = 2 * (t->deepest - t->shallowest), size;

	if (room > ROOM_MAX)
		room = ROOM_MAX;
	size = t->deepest + (spread > room ? spread : room);
	if (size < SIZE_MIN)
		return SIZE_MIN;
	if (size > UINT32_MAX / 2)
		return UINT32_MAX / 2;
	return (uint32_t)((size + SIZE_STEP - 1) / SIZE_STEP * SIZE_STEP);
}

static void start_window(struct thread_stack *t)
{
	t->seen = 0;
	t->needed = LATER_SAMPLES;
	t->deepest = 0;
	t->shallowest = 0;
}

static bool is_nearly_constant(const struct thread_stack *t)
{
	return t->deepest - t->shallowest <= t->deepest / 8;
}

/* At the end of the thread's window: is a smaller size enough? */
static bool decide(struct thread_stack *t, uint32_t common)
{
	uint32_t now = size_now(t, common), want;

	if (t->stays || !t->tid || t->seen < t->needed)
		return false;
	if (t->needed < LATER_SAMPLES && !is_nearly_constant(t)) {
		t->needed = LATER_SAMPLES;
		return false;
	}
	want = size_for(t);
	start_window(t);
	/* A small gain does not justify new events. */
	if (want > now / 4 * 3)
		return false;
	t->size = want;
	return true;
}

static bool decide_all(struct thread_stacks *s, uint32_t common, uint64_t now_ns)
{
	bool any = false;

	for (unsigned i = 0; i < THREAD_STACKS; i++)
		any |= decide(&s->threads[i], common);
	if (any) {
		s->pause_ns *= 2;
		s->next_ns = now_ns + s->pause_ns;
	}
	return any;
}

/* What was learnt about depths no longer holds, and most likely not for other threads either. */
static void forget_depths(struct thread_stacks *s, pid_t tid)
{
	for (unsigned i = 0; i < THREAD_STACKS; i++) {
		s->threads[i].size = 0;
		start_window(&s->threads[i]);
	}
	stack_of(s, tid)->stays = true;
}

bool thread_stacks_note(struct thread_stacks *s, const struct stack_use *u, uint32_t common, uint64_t now_ns)
{
	struct thread_stack *t = stack_of(s, u->tid);

	if (!s->pause_ns) {
		s->pause_ns = FIRST_NS;
		s->next_ns = now_ns + FIRST_NS;
	}
	if (u->cut && thread_stacks_is_own(u, common)) {
		/* Further samples of the old events show nothing new, unless opening new ones was refused. */
		bool news = !t->stays || now_ns >= s->next_ns;

		forget_depths(s, u->tid);
		s->next_ns = now_ns + s->pause_ns;
		return news;
	}
	if (!t->seen || u->used < t->shallowest)
		t->shallowest = u->used;
	if (u->used > t->deepest)
		t->deepest = u->used;
	t->seen++;
	return t->seen >= t->needed && now_ns >= s->next_ns && decide_all(s, common, now_ns);
}

uint32_t thread_stacks_size(const struct thread_stacks *s, pid_t tid, uint32_t common)
{
	const struct thread_stack *t = &s->threads[place_of(tid)];

	return t->tid == tid ? size_now(t, common) : common;
}

void thread_stacks_forget(struct thread_stacks *s, pid_t tid)
{
	struct thread_stack *t = &s->threads[place_of(tid)];

	if (t->tid == tid)
		*t = (struct thread_stack){0};
}
