#include "sampler/engine/suspend/suspend_link.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/shared_memory.h"

enum { QUEUE_BYTES = 64 << 20, REQUEST_BYTES = 64 << 10, READ_TRIES = 1000 };

_Static_assert(sizeof(struct suspend_facts) % sizeof(uint64_t) == 0, "facts are copied by words");

int suspend_link_open(struct suspend_link *l, struct err *err)
{
	*l = (struct suspend_link){.shared = shared_memory_new(sizeof(*l->shared))};
	l->samples = sample_queue_new_shared(QUEUE_BYTES);
	l->requests = sample_queue_new_shared(REQUEST_BYTES);
	l->push_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!l->shared || !l->samples || !l->requests)
		return err_set(err, -ENOMEM, "out of memory");
	return l->push_fd < 0 ? err_set(err, -EMFILE, "out of descriptors (ulimit -n)") : 0;
}

void suspend_link_close(struct suspend_link *l)
{
	sample_queue_free(l->samples);
	sample_queue_free(l->requests);
	shared_memory_free(l->shared, sizeof(*l->shared));
	if (l->push_fd >= 0)
		close(l->push_fd);
	*l = (struct suspend_link){.push_fd = -1};
}

static void tell(const struct suspend_link *l)
{
	const uint64_t one = 1;

	(void)!write(l->push_fd, &one, sizeof(one));
}

void suspend_link_wake_owner(struct suspend_link *l)
{
	atomic_thread_fence(memory_order_seq_cst); /* with the one in suspend_link_wait() */
	if (atomic_exchange(&l->shared->owner_waits, false))
		tell(l);
}

void suspend_link_end(struct suspend_link *l)
{
	l->shared->done = true;
	tell(l);
}

bool suspend_link_done(const struct suspend_link *l)
{
	return l->shared->done;
}

bool suspend_link_wait(struct suspend_link *l, int socket, uint64_t until_ns)
{
	struct pollfd fds[2] = {{.fd = l->push_fd, .events = POLLIN}, {.fd = socket}};
	uint64_t now = clock_monotonic_ns(), ns = until_ns > now ? until_ns - now : 0, n;
	struct timespec left = clock_timespec(ns);
	bool waits;

	l->shared->owner_waits = true;
	atomic_thread_fence(memory_order_seq_cst); /* visible before the queue is looked at */
	waits = sample_queue_empty(l->samples) && !l->shared->done;
	if (!waits)
		left = (struct timespec){0}; /* only looks at the socket */
	if (ppoll(fds, 2, until_ns || !waits ? &left : NULL, NULL) > 0 && fds[0].revents)
		(void)!read(l->push_fd, &n, sizeof(n));
	l->shared->owner_waits = false;
	return !(fds[1].revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* --- Facts */

/* The reader sees that it has read while this wrote, and reads again: nobody waits for a lock while threads are stopped. */
void suspend_link_publish(struct suspend_link *l, const struct suspend_facts *f)
{
	struct suspend_shared *s = l->shared;
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed), words[SUSPEND_FACTS_WORDS];

	memcpy(words, f, sizeof(words));
	atomic_store_explicit(&s->turn, turn | 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < SUSPEND_FACTS_WORDS; i++)
		atomic_store_explicit(&s->facts[i], words[i], memory_order_relaxed);
	atomic_store_explicit(&s->turn, (turn | 1) + 1, memory_order_release);
}

static bool read_facts(struct suspend_shared *s, struct suspend_facts *ret)
{
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_acquire), words[SUSPEND_FACTS_WORDS];

	for (size_t i = 0; i < SUSPEND_FACTS_WORDS; i++)
		words[i] = atomic_load_explicit(&s->facts[i], memory_order_relaxed);
	memcpy(ret, words, sizeof(*ret));
	atomic_thread_fence(memory_order_acquire);
	return turn % 2 == 0 && atomic_load_explicit(&s->turn, memory_order_relaxed) == turn;
}

/* A tracing side that was killed while it wrote leaves a mixture. */
struct suspend_loop_stats suspend_link_stats(const struct suspend_link *l)
{
	struct suspend_facts f;

	for (int i = 0; !read_facts(l->shared, &f) && i < READ_TRIES; i++)
		sched_yield();
	f.stats.suspend.pause = suspend_times_of(&f.pause);
	f.stats.suspend.stop = suspend_times_of(&f.stop);
	f.stats.suspend.copy = suspend_times_of(&f.copy);
	f.stats.suspend.spread = suspend_times_of(&f.spread);
	return f.stats;
}
