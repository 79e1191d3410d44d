#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/session/children.h"
#include "sampler/session/parts/unsampled.h"
#include "sampler/session/session_private.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

/* The test itself is the target; its engine knows nothing but what is set here. */
static struct engine_stats stats;
static struct session owner;
static struct session *child;

static struct engine_stats get_stats(const struct engine *e)
{
	(void)e;
	return stats;
}

static bool has_ended(const struct engine *e)
{
	(void)e;
	return false;
}

static const struct engine_ops ops = {.name = "fake", .stats = get_stats, .target_ended = has_ended};
static struct engine engine = {.ops = &ops};

static pid_t start_busy(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (clock_process_cpu_ns() < 50 * MS) /* hardly any of it in the kernel */
			for (volatile int i = 0; i < 100000; i++)
				;
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

/* A child of a session that began long before it, and whose CPU time is used. */
static void open_child(bool by_thread_time)
{
	uint64_t cpu = 0;

	stats = (struct engine_stats){.by_thread_time = by_thread_time};
	owner = (struct session){.engine = &engine, .pid = getpid()};
	owner.files = &owner.own_files;
	owner.started_ns = clock_monotonic_ns() - 100 * S;
	owner.o.engine_options.period = 10 * MS;
	readers_budget(&owner.own_files);
	assert_int_equal(proc_open(getpid(), &owner.proc, NULL), 0);
	owner.children = children_new(&owner);
	if (by_thread_time)
		owner.unsampled = unsampled_new(owner.proc, 10 * MS);
	assert_int_equal(session_open_child(&owner, start_busy(), &child, NULL), 0);
	while (cpu < 50 * MS)
		assert_int_equal(proc_cpu_ns(child->proc, &cpu), 0);
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void close_sessions(void)
{
	session_close(child);
	children_free(owner.children);
	unsampled_free(owner.unsampled);
	proc_close(owner.proc);
}

static void close_child(void)
{
	pid_t pid = child->pid;

	close_sessions();
	end_process(pid);
}

static struct profile_totals end_child(void)
{
	session_end_child(child);
	return profile_totals(child->profile);
}

static void sample(uint64_t weight)
{
	const struct raw_sample s = {
		.pid = child->pid,
		.tid = child->pid,
		.time_ns = child->looked_for_jvm_ns,
		.weight = weight,
		.has_user = true,
		.stack_addr = 8,
	};

	session_sink(child).sample(child, &s);
}

static void test_held_samples_are_given_at_the_end(void **state)
{
	(void)state;
	open_child(true);
	child->readers->jvm = JVM_STARTING;
	sample(10 * MS);
	sample(10 * MS);
	assert_int_equal(profile_totals(child->profile).samples, 0);
	assert_int_equal(end_child().samples, 2);
	close_child();
}

static void test_time_without_samples(void **state)
{
	struct profile_totals t;

	(void)state;
	open_child(true);
	sample(10 * MS);
	t = end_child();
	assert_true(t.weight + t.unsampled_short + t.unsampled_kernel >= 50 * MS);
	close_child();
}

/* Another process has waited for it, and no event has told what its threads used: the account that was read last counts. */
static void test_time_without_samples_of_a_process_that_is_gone(void **state)
{
	struct profile_totals t;
	pid_t pid;

	(void)state;
	open_child(true);
	stats.skips_kernel = true;
	pid = child->pid;
	sample(10 * MS);
	end_process(pid);
	t = end_child();
	assert_int_equal(t.samples, 1);
	assert_in_range(t.weight + t.unsampled_kernel, 50 * MS, 80 * MS);
	assert_true(t.unsampled_kernel >= 40 * MS);
	close_sessions();
}

/* Page faults are no nanoseconds, and on whole CPUs it is a matter of chance who is sampled. */
static void test_nothing_is_missing_where_that_is_not_known(void **state)
{
	struct profile_totals t;

	(void)state;
	open_child(false);
	sample(1);
	t = end_child();
	assert_int_equal(t.weight, 1);
	assert_int_equal(t.unsampled_short + t.unsampled_kernel, 0);
	close_child();
}

/* Where numbers are few, they are soon given again, long before room is needed for another session. */
static void test_a_number_is_given_again(void **state)
{
	struct engine_sink sink;
	pid_t pid;

	(void)state;
	open_child(false);
	pid = child->pid;
	owner.profile = profile_new((struct profile_options){.threads = true});
	sink = session_sink(&owner);
	sink.sample(sink.ctx, &(struct raw_sample){.pid = pid, .tid = pid, .weight = 1});
	sink.child(sink.ctx, owner.pid, pid); /* of this one, behind its first sample */
	assert_non_null(sink.process(sink.ctx, pid));
	assert_true(children_memory(owner.children)->bytes > 0);
	end_process(pid);
	sink.child(sink.ctx, owner.pid, pid);
	assert_null(sink.process(sink.ctx, pid));
	assert_true(children_memory(owner.children)->bytes > 0); /* its result is kept */
	profile_free(owner.profile);
	close_sessions();
}

static uint64_t samples_of(const struct named_profile *np)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < np->n_samples; i++)
		n += np->samples[i].count;
	return n;
}

/* Each profile has what came since the one before, with the names that are known, and nothing is counted twice. */
static void test_taken_one_after_the_other(void **state)
{
	struct named_profile *first, *second, *none;
	struct session_summary sum;

	(void)state;
	open_child(false);
	sample(10 * MS);
	profile_set_thread_name(child->profile, child->pid, child->pid, "worker-1");
	stats.lost = 5;
	assert_int_equal(session_take(child, &first, NULL), 0);
	sample(10 * MS);
	sample(10 * MS);
	stats.lost = 7;
	assert_int_equal(session_take(child, &second, NULL), 0);
	assert_int_equal(session_take(child, &none, NULL), 0);
	assert_int_equal(samples_of(first), 1);
	assert_int_equal(samples_of(second), 2);
	assert_int_equal(samples_of(none), 0);
	assert_true(first->meta.lost == 5 && second->meta.lost == 2 && none->meta.lost == 0);
	assert_int_equal(second->meta.complete + second->meta.incomplete, 2);
	assert_in_range(first->meta.duration_ns, 100 * S, 200 * S);
	assert_true(second->meta.duration_ns < 50 * S);
	assert_true(second->meta.start_realtime_ns >= first->meta.start_realtime_ns + 100 * S ||
		    !first->meta.start_realtime_ns);
	assert_string_equal(profile_thread_name(child->profile, child->pid, child->pid), "worker-1");
	sum = session_summary(child);
	assert_true(sum.totals.samples == 3 && sum.totals.weight == 30 * MS);
	named_profile_free(first);
	named_profile_free(second);
	named_profile_free(none);
	close_child();
}

/* A step without samples takes no profile, and is no part of the next one. New names, and those of threads
 * that have ended, are left behind in the end. */
static void test_nothing_is_taken(void **state)
{
	struct named_profile *np;
	uint64_t before_ns;

	(void)state;
	open_child(false);
	assert_true(session_take_nothing(child));
	before_ns = child->taken.ns;
	usleep(2000);
	assert_true(session_take_nothing(child));
	assert_true(child->taken.ns >= before_ns + 2 * MS);
	before_ns = clock_realtime_ns();
	assert_true(session_take_nothing(child));
	sample(10 * MS);
	assert_false(session_take_nothing(child));
	assert_int_equal(session_take(child, &np, NULL), 0);
	assert_int_equal(samples_of(np), 1);
	assert_true(np->meta.start_realtime_ns >= before_ns && np->meta.duration_ns < 50 * S);
	named_profile_free(np);
	assert_true(session_take_nothing(child));
	profile_set_thread_name(child->profile, child->pid, child->pid + 1, "worker-2");
	assert_false(session_take_nothing(child));
	assert_int_equal(session_take(child, &np, NULL), 0);
	named_profile_free(np);
	assert_null(profile_thread_name(child->profile, child->pid, child->pid + 1)); /* no such thread had a sample */
	assert_true(session_take_nothing(child));
	assert_non_null(profile_thread_name(child->profile, child->pid, child->pid));
	session_sink(child).thread_exit(child, child->pid, child->pid);
	assert_false(session_take_nothing(child));
	assert_int_equal(session_take(child, &np, NULL), 0);
	named_profile_free(np);
	assert_null(profile_thread_name(child->profile, child->pid, child->pid));
	assert_true(session_take_nothing(child));
	close_child();
}

/* As in a container. For good, so this test is the last one. */
static void refuse_perf(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

/* The process that stops threads keeps what it has. */
static int confine_nothing(int socket, struct err *err)
{
	(void)socket;
	(void)err;
	return 0;
}

/* Threads of children are not stopped: that is said, and their CPU time is not called missing. */
static void test_not_followed_where_perf_is_refused(void **state)
{
	const struct session_options o = {.engine_options = {.period = 10 * MS, .confine_tracer = confine_nothing},
					  .follow = true};
	struct err e = {0};
	struct session *s;
	pid_t pid;

	(void)state;
	refuse_perf();
	pid = start_busy();
	assert_int_equal(session_open(pid, &o, &s, &e), 0);
	assert_true(session_stops_threads(s));
	assert_false(session_summary(s).children.followed);
	session_close(s);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held_samples_are_given_at_the_end),
		cmocka_unit_test(test_time_without_samples),
		cmocka_unit_test(test_time_without_samples_of_a_process_that_is_gone),
		cmocka_unit_test(test_nothing_is_missing_where_that_is_not_known),
		cmocka_unit_test(test_taken_one_after_the_other),
		cmocka_unit_test(test_nothing_is_taken),
		cmocka_unit_test(test_a_number_is_given_again),
		cmocka_unit_test(test_not_followed_where_perf_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
