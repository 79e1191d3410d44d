#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"
#include "sampler/engine/perf/events/perf_attach_priv.h"
#include "sampler/engine/perf/perf_intake.h"
#include "sampler/engine/perf/perf_msg.h"
#include "sampler/engine/perf/perf_policy.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

/* Samples of this very thread, on a stack of PAGES pages of which two were never touched. */
enum { PAGE = 4096, HOLE_AT = 2, HOLE_PAGES = 2, PAGES = 8, REGS = 20, SP = 7 /* PERF_REG_X86_SP */, TRIES = 1000 };

struct world {
	struct proc *proc;
	struct perf_attach attach;
	struct perf_policy policy;
	struct perf_intake in;
	struct perf_reader reader;
	uint8_t *stack;
};

struct got {
	uint64_t len, missing;
};

static int stay_here(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	return cpu;
}

/* With a page on each side that keeps it apart from other mappings. */
static uint8_t *make_stack(void)
{
	uint8_t *p = mmap(NULL, (PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, PAGES * PAGE, PROT_READ | PROT_WRITE), 0);
	for (int i = 0; i < PAGES; i++)
		if (i < HOLE_AT || i >= HOLE_AT + HOLE_PAGES)
			memset(p + PAGE + i * PAGE, 'a' + i, PAGE);
	return p + PAGE;
}

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->reader.cpu = stay_here();
	w->stack = make_stack();
	assert_int_equal(proc_open(getpid(), &w->proc, NULL), 0);
	w->attach.proc = w->proc;
	w->attach.config.wake_each = true;
	w->policy = (struct perf_policy){.proc = w->proc, .attach = &w->attach};
	perf_intake_init(&w->in, &w->attach, sample_queue_new(1 << 20), &w->policy, &(struct engine_options){0});
	w->in.layout = (struct perf_layout){
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.n_regs = REGS,
	};
	assert_non_null(w->in.queue);
}

static void world_done(struct world *w)
{
	perf_intake_done(&w->in);
	sample_queue_free(w->in.queue);
	proc_close(w->proc);
	munmap(w->stack - PAGE, (PAGES + 2) * PAGE);
}

static void put(struct buf *b, uint64_t v, size_t len)
{
	buf_add(b, &v, len);
}

/* As the kernel writes it: the copy ends where a page is not there. */
static struct buf sample(const struct world *w, uint64_t time, size_t offset, size_t copied)
{
	struct buf b = {0};
	uint16_t size;

	put(&b, PERF_RECORD_SAMPLE, 4);
	put(&b, PERF_RECORD_MISC_USER, 2);
	put(&b, 0, 2);
	put(&b, (uint32_t)getpid(), 4);
	put(&b, (uint32_t)syscall(SYS_gettid), 4);
	put(&b, time, 8);
	put(&b, PERF_SAMPLE_REGS_ABI_64, 8);
	for (int i = 0; i < REGS; i++)
		put(&b, i == SP ? (uintptr_t)(w->stack + offset) : 0, 8);
	put(&b, 2 * PAGE + 8, 8);
	buf_add(&b, w->stack + offset, copied);
	for (size_t i = copied; i < 2 * PAGE + 8; i += 8)
		put(&b, 0, 8);
	put(&b, copied, 8);
	size = (uint16_t)b.len;
	memcpy(b.data + 6, &size, 2);
	return b;
}

static struct got deliver(struct world *w, size_t offset, size_t copied)
{
	struct buf b = sample(w, clock_monotonic_ns(), offset, copied);
	const struct perf_msg_sample *m;
	struct got got = {0};
	size_t len;

	w->reader.switches += engine_thread_switches();
	perf_intake_record(&w->in, &w->reader, b.data, b.len);
	m = sample_queue_peek(w->in.queue, &len);
	assert_non_null(m);
	got = (struct got){m->stack_len, m->stack_missing};
	sample_queue_release(w->in.queue);
	buf_done(&b);
	return got;
}

/* This thread may be moved on between two instructions of the test: how often is the whole stack there? */
static unsigned times_whole(struct world *w, size_t offset, size_t copied, int switches, uint64_t waiting_since_ns)
{
	unsigned whole = 0;

	for (int i = 0; i < TRIES; i++) {
		struct got got;

		w->reader.switches = (uint64_t)switches;
		w->reader.waiting_since_ns = waiting_since_ns;
		got = deliver(w, offset, copied);
		assert_int_equal(got.len + got.missing, PAGES * PAGE - offset);
		whole += got.missing == 0;
	}
	return whole;
}

static void test_a_hole_is_crossed_while_the_thread_waits(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_true(times_whole(&w, 0, HOLE_AT * PAGE, 0, 0) > 0);
	world_done(&w);
}

static void test_not_when_the_reader_left_its_cpu(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(times_whole(&w, 0, HOLE_AT * PAGE, -1, 0), 0);
	world_done(&w);
}

static void test_not_when_the_sample_came_before_the_reader_waited(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(times_whole(&w, 0, HOLE_AT * PAGE, 0, UINT64_MAX), 0);
	world_done(&w);
}

static void test_not_on_another_cpu(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.reader.cpu++;
	assert_int_equal(times_whole(&w, 0, HOLE_AT * PAGE, 0, 0), 0);
	w.reader.cpu = -1; /* of nobody's in particular */
	assert_int_equal(times_whole(&w, 0, HOLE_AT * PAGE, 0, 0), 0);
	world_done(&w);
}

/* Of a new stack nothing is known until the maps may be read again: what is behind its copy is not to be read from it later. */
static void test_a_stack_that_is_not_known(void **state)
{
	struct world w;
	struct got got;
	uint8_t *known;

	(void)state;
	world_init(&w);
	assert_true(times_whole(&w, 0, HOLE_AT * PAGE, 0, 0) > 0);
	w.in.rest.maps_pause_ns = UINT64_C(1000000000000);
	known = w.stack;
	w.stack = make_stack();
	w.reader.switches = w.reader.waiting_since_ns = 0;
	got = deliver(&w, 0, HOLE_AT * PAGE);
	assert_int_equal(got.len, HOLE_AT * PAGE);
	assert_true(got.missing >= (PAGES - HOLE_AT) * PAGE);
	w.in.rest.maps_pause_ns = 0;
	assert_true(times_whole(&w, 0, HOLE_AT * PAGE, 0, 0) > 0);
	munmap(known - PAGE, (PAGES + 2) * PAGE);
	world_done(&w);
}

/* The stack pointer itself is in the hole: only a thread that is ahead of all others knows that nothing has run since. */
static void test_nothing_copied(void **state)
{
	const struct sched_param lowest = {.sched_priority = 1}, none = {0};
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	assert_int_equal(times_whole(&w, HOLE_AT * PAGE, 0, 0, 0), 0);
	if (sched_setscheduler(0, SCHED_RR, &lowest) == 0) {
		assert_true(engine_thread_is_realtime());
		assert_true(times_whole(&w, HOLE_AT * PAGE, 0, 0, 0) > 0);
		assert_int_equal(times_whole(&w, HOLE_AT * PAGE, 0, -1, 0), 0);
		assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	}
	assert_false(engine_thread_is_realtime());
	world_done(&w);
}

enum { RING = 1 << 16 };

/* The kernel has stopped to publish what it writes. */
static void test_unpublished(void **state)
{
	static uint8_t data[RING];
	uint64_t head = 0, tail = 0, last = 0, now = clock_monotonic_ns(), times[] = {now - 30, now - 20, now - 25, 0};
	struct perf_ring ring;
	struct world w;
	size_t at = 0, len;

	(void)state;
	world_init(&w);
	assert_int_equal(perf_ring_init(&ring, data, RING, &head, &tail), 0);
	w.attach.rings = &ring;
	w.reader.last_ns = &last;
	times[3] = now - UINT64_C(2000000000); /* of an earlier round */
	for (int i = 0; i < 4; i++) {
		struct buf b = sample(&w, times[i], 0, HOLE_AT * PAGE);

		memcpy(data + at, b.data, b.len);
		at += b.len;
		head = i ? head : at;
		buf_done(&b);
	}
	perf_intake_drain(&w.in, &w.reader);
	assert_non_null(sample_queue_peek(w.in.queue, &len));
	sample_queue_release(w.in.queue);
	assert_null(sample_queue_peek(w.in.queue, &len));
	assert_int_equal(last, times[0]);
	assert_int_equal(perf_intake_unpublished(&w.in, &w.reader), times[2]);
	assert_null(sample_queue_peek(w.in.queue, &len));
	perf_intake_salvage(&w.in, &w.reader);
	for (int i = 1; i < 3; i++) {
		const struct perf_msg_sample *m = sample_queue_peek(w.in.queue, &len);

		assert_non_null(m);
		assert_int_equal(m->time_ns, times[i]);
		sample_queue_release(w.in.queue);
	}
	assert_null(sample_queue_peek(w.in.queue, &len));
	last = now + UINT64_C(1000000000); /* all of it is older */
	assert_int_equal(perf_intake_unpublished(&w.in, &w.reader), 0);
	perf_ring_close(&ring);
	world_done(&w);
}

static void end_thread(struct world *w, pid_t tid)
{
	struct buf b = {0};

	put(&b, PERF_RECORD_EXIT, 4);
	put(&b, 0, 2);
	put(&b, 32, 2);
	put(&b, (uint32_t)getpid(), 4);
	put(&b, (uint32_t)getpid(), 4);
	put(&b, (uint32_t)tid, 4);
	put(&b, (uint32_t)getpid(), 4);
	put(&b, 1000, 8);
	assert_int_equal(b.len, 32);
	perf_intake_record(&w->in, &w->reader, b.data, b.len);
	buf_done(&b);
}

/* 0: none. */
static uint64_t told_of_end(struct world *w)
{
	const struct perf_msg_ended *m;
	uint64_t counted = 0;
	size_t len;

	for (; (m = sample_queue_peek(w->in.queue, &len)); sample_queue_release(w->in.queue))
		if (m->head.kind == PERF_MSG_ENDED) {
			assert_true(m->late && m->tail == m->counted % 1000);
			counted += m->counted;
		}
	return counted;
}

/* The kernel reports the counts of inherited events only. */
static void test_end_of_a_listed_thread(void **state)
{
	static const uint64_t counts[][2] = {{2300, 0}, {40, 0}, {500, 0}};
	enum { LISTED = 1000, FORKED, SUSPECT, N };
	pid_t known[] = {LISTED, FORKED, SUSPECT};
	struct world w;

	(void)state;
	world_init(&w);
	w.attach.config.period = 1000;
	w.attach.mode = PERF_ATTACH_THREADS;
	for (size_t i = 0; i < 4; i++) {
		int fd = memfd_create("count", MFD_CLOEXEC);
		pid_t tid = i < 2 ? LISTED : known[i - 1];

		assert_true(fd >= 0);
		assert_int_equal(pwrite(fd, counts[i < 2 ? i : 2], sizeof(counts[0]), 0), sizeof(counts[0]));
		assert_true(vec_push(&w.attach.set.events, ((struct event_fd){.fd = fd, .tid = tid})));
	}
	w.attach.set.known = known;
	w.attach.set.n_known = 3;
	assert_true(vec_push(&w.attach.set.suspects, ((struct event_suspect){.tid = SUSPECT})));
	perf_attach_forked(&w.attach, FORKED);
	for (pid_t tid = LISTED; tid <= N; tid++) {
		end_thread(&w, tid);
		assert_int_equal(told_of_end(&w), tid == LISTED ? 2340 : 0);
	}
	end_thread(&w, LISTED); /* another one with this id */
	assert_int_equal(told_of_end(&w), 0);
	w.attach.set.known = NULL;
	event_set_done(&w.attach.set);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_hole_is_crossed_while_the_thread_waits),
		cmocka_unit_test(test_not_when_the_reader_left_its_cpu),
		cmocka_unit_test(test_not_when_the_sample_came_before_the_reader_waited),
		cmocka_unit_test(test_not_on_another_cpu),
		cmocka_unit_test(test_a_stack_that_is_not_known),
		cmocka_unit_test(test_nothing_copied),
		cmocka_unit_test(test_unpublished),
		cmocka_unit_test(test_end_of_a_listed_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
