#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/suspend_link.h"
#include "sampler/engine/suspend/suspend_output.h"
#include "sampler/engine/suspend/suspend_requests.h"
#include "sampler/engine/suspend/suspend_threads.h"
#include "sampler/engine/suspend/suspend_tracer.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

/* The process that stops threads: what it delivers, and that a target goes on whoever dies or misbehaves. */
enum { PATIENCE_MS = 20000 };
#define PATIENCE_NS (UINT64_C(1000000) * PATIENCE_MS)

static struct {
	pid_t tracer;
	int confine; /* what confine() returns */
} * seen; /* by all processes of the test */

static int confine(int socket, struct err *err)
{
	assert_true(socket > 2);
	seen->tracer = getpid();
	return seen->confine ? err_set(err, seen->confine, "not here") : 0;
}

struct world {
	pid_t target;
	struct proc *proc;
	struct suspend_link link;
	struct suspend_tracer *tracer;
	atomic_bool enough; /* requests */
	uint64_t flooded;
};

static pid_t start_target(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			__asm__ volatile("");
	}
	return pid;
}

static int open_tracer(struct world *w, struct err *err)
{
	const struct engine_options o = {.event = "wall", .period = 1000000, .confine_tracer = confine};

	assert_int_equal(suspend_link_open(&w->link, NULL), 0);
	return suspend_tracer_new(w->proc, &w->link, &o, &w->tracer, err);
}

static void setup(struct world *w)
{
	*w = (struct world){.target = start_target()};
	*seen = (typeof(*seen)){0};
	assert_int_equal(proc_open(w->target, &w->proc, NULL), 0);
}

static void close_tracer(struct world *w)
{
	suspend_tracer_free(w->tracer);
	w->tracer = NULL;
	suspend_link_close(&w->link);
}

static void done(struct world *w)
{
	close_tracer(w);
	proc_close(w->proc);
	kill(w->target, SIGKILL);
	assert_int_equal(waitpid(w->target, NULL, 0), w->target);
}

static bool within(bool (*condition)(const struct world *w), const struct world *w)
{
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		if (condition(w))
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

/* No tracer has it, and it is not stopped. */
static bool target_runs(const struct world *w)
{
	struct suspend_threads threads;
	char state;

	suspend_threads_init(&threads, w->proc);
	state = suspend_thread_state(&threads, w->target);
	suspend_threads_done(&threads);
	return (state == 'R' || state == 'S') && !suspend_thread_tracer(w->proc, w->target);
}

static bool tracer_is_gone(const struct world *w)
{
	char path[64], text[512] = "", *end;
	FILE *f;

	(void)w;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)seen->tracer);
	f = fopen(path, "r");
	if (!f)
		return true;
	(void)!fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	end = strrchr(text, ')');
	return !end || end[2] == 'Z' || end[2] == 'X';
}

/* Takes messages until there are `n` samples of the target. */
static unsigned take_samples(struct world *w, unsigned n)
{
	uint64_t until = clock_monotonic_ns() + PATIENCE_NS;
	struct suspend_msg_sample m;
	unsigned got = 0;
	const void *msg;
	size_t len;

	while (got < n && clock_monotonic_ns() < until && !suspend_tracer_done(w->tracer)) {
		suspend_tracer_wait(w->tracer, clock_monotonic_ns() + 10000000);
		for (; (msg = sample_queue_peek(w->link.samples, &len)); sample_queue_release(w->link.samples)) {
			if (len < sizeof(m))
				continue;
			memcpy(&m, msg, sizeof(m));
			got += m.head.kind == SUSPEND_MSG_SAMPLE && m.head.tid == w->target && m.stack_len > 0 &&
			       len == sizeof(m) + m.stack_len + m.frozen_len;
		}
	}
	return got;
}

static void wait_until_done(struct world *w)
{
	uint64_t until = clock_monotonic_ns() + PATIENCE_NS;

	while (!suspend_tracer_done(w->tracer) && clock_monotonic_ns() < until)
		suspend_tracer_wait(w->tracer, clock_monotonic_ns() + 10000000);
	assert_true(suspend_tracer_done(w->tracer));
}

static void delivers_samples(void **state)
{
	struct suspend_loop_stats stats;
	struct world w;

	(void)state;
	setup(&w);
	assert_int_equal(open_tracer(&w, NULL), 0);
	assert_int_not_equal(seen->tracer, getpid());
	assert_int_equal(suspend_tracer_start(w.tracer, NULL), 0);
	assert_true(take_samples(&w, 20) >= 20);
	suspend_tracer_stop(w.tracer);
	wait_until_done(&w);
	assert_int_equal(suspend_tracer_result(w.tracer, NULL), 0);
	stats = suspend_link_stats(&w.link);
	assert_true(stats.samples >= 20 && stats.cpu_ns && stats.threads == 1 && !stats.target_ended);
	assert_true(stats.suspend.pause.n == stats.suspend.stops && stats.suspend.pause.max_ns);
	assert_true(within(target_runs, &w));
	done(&w);
}

/* What went wrong there is said here. */
static void refusal_is_told(void **state)
{
	struct err err = {0};
	struct world w;

	(void)state;
	setup(&w);
	seen->confine = -EPERM;
	assert_int_equal(open_tracer(&w, &err), -EPERM);
	assert_string_equal(err.msg, "not here");
	done(&w);
}

static void never_started_it_ends(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	assert_int_equal(open_tracer(&w, NULL), 0);
	close_tracer(&w);
	assert_true(within(tracer_is_gone, &w));
	done(&w);
}

static void killed_it_leaves_the_target_running(void **state)
{
	struct err err = {0};
	struct world w;

	(void)state;
	for (int i = 0; i < 20; i++) {
		setup(&w);
		assert_int_equal(open_tracer(&w, NULL), 0);
		assert_int_equal(suspend_tracer_start(w.tracer, NULL), 0);
		assert_true(take_samples(&w, 1) >= 1);
		poll(NULL, 0, i % 4);
		kill(seen->tracer, SIGKILL);
		wait_until_done(&w);
		assert_int_equal(suspend_tracer_result(w.tracer, &err), -EPIPE);
		assert_non_null(strstr(err.msg, "Killed"));
		assert_true(within(target_runs, &w));
		done(&w);
	}
}

static void it_ends_with_its_owner(void **state)
{
	struct world w;
	pid_t owner;

	(void)state;
	for (int i = 0; i < 20; i++) {
		setup(&w);
		owner = fork();
		assert_true(owner >= 0);
		if (owner == 0) {
			if (open_tracer(&w, NULL) == 0 && suspend_tracer_start(w.tracer, NULL) == 0)
				pause();
			_exit(1);
		}
		while (!seen->tracer)
			poll(NULL, 0, 1);
		poll(NULL, 0, i % 8);
		kill(owner, SIGKILL);
		assert_int_equal(waitpid(owner, NULL, 0), owner);
		assert_true(within(tracer_is_gone, &w));
		assert_true(within(target_runs, &w));
		done(&w);
	}
}

/* --- An owner that was taken over */

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *seed >> 16;
}

static void scribble(struct world *w, uint64_t *seed)
{
	uint8_t *shared = (uint8_t *)w->link.shared;
	uint64_t value = next(seed) % 3 ? next(seed) % 300 : next(seed) << 20;
	struct suspend_request *q;

	switch (next(seed) % 4) {
	case 0: /* flags stay: `stopping` would end it */
		memcpy(shared + 64 + next(seed) % (sizeof(*w->link.shared) - 64 - sizeof(value)), &value,
		       sizeof(value));
		break;
	case 1:
		atomic_store(&w->link.shared->frozen.answered, (uint32_t)value);
		atomic_store(&w->link.shared->frozen.len, (uint32_t)next(seed));
		break;
	default:
		q = sample_queue_reserve(w->link.requests, sizeof(*q) + value % 64);
		if (!q)
			return;
		*q = (struct suspend_request){value % 2 ? w->target : (pid_t)value, (uint32_t)(next(seed) % 104)};
		sample_queue_commit(w->link.requests, value % 5 ? sizeof(*q) : value % 64);
	}
}

static void an_owner_that_lies_does_no_harm(void **state)
{
	uint64_t seed = 1, until;
	siginfo_t info = {0};
	struct world w;

	(void)state;
	for (int i = 0; i < 5; i++) {
		setup(&w);
		assert_int_equal(open_tracer(&w, NULL), 0);
		assert_int_equal(suspend_tracer_start(w.tracer, NULL), 0);
		until = clock_monotonic_ns() + 100000000;
		while (clock_monotonic_ns() < until)
			scribble(&w, &seed);
		assert_int_equal(waitid(P_PID, (id_t)seen->tracer, &info, WEXITED | WNOHANG | WNOWAIT), 0);
		assert_int_equal(info.si_pid, 0); /* it goes on */
		suspend_tracer_stop(w.tracer);
		assert_int_equal(waitid(P_PID, (id_t)seen->tracer, &info, WEXITED | WNOWAIT), 0);
		assert_int_equal(info.si_code, CLD_EXITED);
		assert_int_equal(info.si_status, 0);
		assert_true(within(target_runs, &w));
		done(&w);
	}
}

static void *flood(void *ctx)
{
	struct world *w = ctx;
	struct suspend_request *q;

	for (pid_t tid = 1; !atomic_load(&w->enough); tid = tid % 100000 + 1) {
		q = sample_queue_reserve(w->link.requests, sizeof(*q));
		if (!q)
			continue;
		*q = (struct suspend_request){tid, SUSPEND_REQUEST_NOT_FROZEN};
		sample_queue_commit(w->link.requests, sizeof(*q));
		w->flooded++;
	}
	return NULL;
}

/* As fast as they come: there are so many in a tick, and the others wait. */
static void too_many_requests_hold_up_no_sample(void **state)
{
	struct world w;
	pthread_t t;

	(void)state;
	setup(&w);
	assert_int_equal(open_tracer(&w, NULL), 0);
	assert_int_equal(suspend_tracer_start(w.tracer, NULL), 0);
	assert_int_equal(pthread_create(&t, NULL, flood, &w), 0);
	assert_true(take_samples(&w, 50) >= 50);
	suspend_tracer_stop(w.tracer);
	wait_until_done(&w);
	atomic_store(&w.enough, true);
	pthread_join(t, NULL);
	assert_true(w.flooded > 4096);
	assert_true(within(target_runs, &w));
	done(&w);
}

/* --- Frames in the heap */

enum { ANSWER = 1000 };

static atomic_bool slow;

static size_t copy(void *ctx, pid_t tid, uint8_t *dst, size_t max)
{
	(void)ctx;
	assert_true(max >= ANSWER);
	memset(dst, tid & 0xff, ANSWER);
	while (slow)
		poll(NULL, 0, 1);
	return ANSWER;
}

static size_t take(struct suspend_frozen *f, pid_t tid, uint8_t *dst, uint64_t ns)
{
	return suspend_frozen_take(f, tid, dst, ENGINE_FROZEN_MAX, clock_monotonic_ns() + ns);
}

static void frozen_frames_are_asked_for(void **state)
{
	struct suspend_frozen_box *box = calloc(1, sizeof(*box));
	uint8_t *bytes = malloc(ENGINE_FROZEN_MAX);
	struct suspend_frozen f = {.box = box};
	struct suspend_answers a = {.box = box, .frozen = {.copy = copy}};
	uint64_t began;

	(void)state;
	assert_int_equal(suspend_answers_start(&a, NULL), 0);
	for (pid_t tid = 1; tid < 200; tid++) {
		assert_int_equal(take(&f, tid, bytes, PATIENCE_NS), ANSWER);
		assert_true(bytes[0] == tid && bytes[ANSWER - 1] == tid);
	}
	slow = true;
	assert_int_equal(take(&f, 7, bytes, 1000000), 0); /* not in time */
	began = clock_monotonic_ns();
	assert_int_equal(take(&f, 7, bytes, PATIENCE_NS), 0); /* nor is it asked again before that is answered */
	assert_true(clock_monotonic_ns() - began < PATIENCE_NS / 2);
	slow = false;
	while (atomic_load(&box->answered) != 200)
		poll(NULL, 0, 1);
	assert_int_equal(take(&f, 8, bytes, PATIENCE_NS), ANSWER);
	assert_int_equal(bytes[0], 8);
	suspend_answers_end(&a);
	free(bytes);
	free(box);
}

/* One that says more than there is room for, whoever gives it. */
static void *answer_too_much(void *arg)
{
	struct suspend_frozen_box *box = arg;

	while (!atomic_load(&box->asked))
		;
	atomic_store(&box->len, 17);
	atomic_store(&box->answered, atomic_load(&box->asked));
	return NULL;
}

static void a_long_answer_is_refused(void **state)
{
	struct suspend_frozen_box *box = calloc(1, sizeof(*box));
	struct suspend_frozen f = {.box = box};
	uint8_t bytes[16] = {0};
	pthread_t thread;

	(void)state;
	box->bytes[0] = 1;
	assert_int_equal(pthread_create(&thread, NULL, answer_too_much, box), 0);
	assert_int_equal(suspend_frozen_take(&f, 1, bytes, sizeof(bytes), clock_monotonic_ns() + PATIENCE_NS / 20), 0);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&box->answered), f.asked);
	assert_int_equal(bytes[0], 0);
	free(box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delivers_samples),
		cmocka_unit_test(refusal_is_told),
		cmocka_unit_test(never_started_it_ends),
		cmocka_unit_test(killed_it_leaves_the_target_running),
		cmocka_unit_test(it_ends_with_its_owner),
		cmocka_unit_test(an_owner_that_lies_does_no_harm),
		cmocka_unit_test(too_many_requests_hold_up_no_sample),
		cmocka_unit_test(frozen_frames_are_asked_for),
		cmocka_unit_test(a_long_answer_is_refused),
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return seen == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
