/*
 * What a process that parses, and was taken over, may ask of the one that stops threads: messages of any length and content in
 * the queue of requests, each behind a byte with its length. A thread number is taken modulo a few, so that some exist.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/suspend_requests.h"
#include "sampler/engine/suspend/suspend_tick.h"
#include "symbolizer/target/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { THREADS = 4, NUMBERS = 6, BYTES = 1 << 16, LONGEST = 64 };

static void add_thread(struct suspend_threads *t, struct suspend_thread *th, pid_t tid)
{
	*th = (struct suspend_thread){.tid = tid, .account_fd = -1, .position_fd = -1, .at = t->n};
	HASH_ADD_INT(t->by_tid, tid, th);
	t->all[t->n++] = th;
	t->n_awake += tid % 2; /* the others, which follow, are idle */
}

static void check(const struct suspend_tick *t)
{
	size_t left = 0;

	for (size_t i = 0; i < t->threads.n; i++) {
		left += t->threads.all[i]->left;
		if (t->threads.all[i]->at != i)
			abort();
	}
	if (t->threads.n != THREADS || t->threads.n_awake > THREADS || left != t->threads.n_left)
		abort();
}

static void put(struct sample_queue *q, const uint8_t *data, size_t len)
{
	uint8_t *at = sample_queue_reserve(q, len);
	struct suspend_request r;

	if (!at)
		return;
	memcpy(at, data, len);
	if (len == sizeof(r)) {
		memcpy(&r, data, sizeof(r));
		r.tid = (pid_t)((uint32_t)r.tid % NUMBERS);
		memcpy(at, &r, sizeof(r));
	}
	sample_queue_commit(q, len);
}

static void apply_all(struct suspend_tick *t, const uint8_t *data, size_t size)
{
	while (size) {
		size_t len = data[0] % LONGEST;

		if (len > size - 1)
			len = size - 1;
		put(t->requests.queue, data + 1, len);
		data += 1 + len;
		size -= 1 + len;
	}
	suspend_requests_apply(t);
	check(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct suspend_thread threads[THREADS];
	struct suspend_thread *all[THREADS];
	struct suspend_tick t = {.period_ns = 1000000, .tick_ns = 5000000, .threads = {.all = all}};

	if (proc_open(getpid(), &t.proc, NULL) < 0)
		return 0;
	t.threads.proc = t.proc;
	t.requests.queue = sample_queue_new(BYTES);
	t.out.queue = sample_queue_new(BYTES);
	add_thread(&t.threads, &threads[0], 1);
	add_thread(&t.threads, &threads[1], 3);
	add_thread(&t.threads, &threads[2], 2);
	add_thread(&t.threads, &threads[3], 4);
	if (t.requests.queue && t.out.queue)
		apply_all(&t, data, size);
	HASH_CLEAR(hh, t.threads.by_tid);
	sample_queue_free(t.requests.queue);
	sample_queue_free(t.out.queue);
	proc_close(t.proc);
	return 0;
}
