#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/prctl.h>
#include <unistd.h>

#include "sampler/profile/profile.h"
#include "sampler/session/parts/threads.h"
#include "symbolizer/target/proc.h"

/* This process: its only thread is named, and sampled. */
struct fixture {
	struct proc *proc;
	struct threads *threads;
	struct profile *profile;
	uint64_t now_ns;
};

static void begin(struct fixture *f)
{
	*f = (struct fixture){.now_ns = 1};
	assert_int_equal(proc_open(getpid(), &f->proc, NULL), 0);
	f->threads = threads_new(f->proc, getpid());
	f->profile = profile_new((struct profile_options){.threads = true});
	assert_true(f->threads && f->profile);
}

/* The kernel tells of each new name. */
static void begin_told(struct fixture *f)
{
	begin(f);
	threads_told(f->threads);
}

static void end(struct fixture *f)
{
	threads_part.close(f->threads);
	profile_free(f->profile);
	proc_close(f->proc);
}

static void name_is(struct fixture *f, const char *own, const char *known)
{
	prctl(PR_SET_NAME, own);
	assert_int_equal(threads_seen(f->threads, gettid(), f->now_ns++, NULL, f->profile), gettid());
	assert_string_equal(profile_thread_name(f->profile, getpid(), gettid()), known);
}

/* Its new name, or that of another thread that has its TID now, was in a record that was lost. */
static void a_name_is_read_again(void **state)
{
	struct fixture f;

	(void)state;
	begin_told(&f);
	name_is(&f, "first", "first");
	name_is(&f, "second", "first"); /* it is not time yet */
	threads_forget(f.threads);
	name_is(&f, "second", "second");
	name_is(&f, "third", "second");
	end(&f);
}

/* What the kernel tells is as good as what it would say. */
static void a_name_is_read_only_once(void **state)
{
	struct fixture f;

	(void)state;
	begin_told(&f);
	name_is(&f, "first", "first");
	f.now_ns += UINT64_C(3600000000000);
	name_is(&f, "second", "first");
	threads_comm(f.threads, gettid(), "third", NULL, f.profile);
	f.now_ns += UINT64_C(3600000000000);
	name_is(&f, "fourth", "third");
	threads_rename_all(f.threads); /* a JVM was found, which has names for them */
	name_is(&f, "fifth", "fifth");
	end(&f);
}

#define SECOND UINT64_C(1000000000)

/* Of a thread that is no Java thread: to learn that, the JVM's list of threads is read, however rarely it is sampled. */
static void looks_become_rarer(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	name_is(&f, "at 0 s", "at 0 s");
	f.now_ns = 20 * SECOND;
	name_is(&f, "at 20 s", "at 20 s");
	f.now_ns = 39 * SECOND;
	name_is(&f, "at 39 s", "at 20 s");
	f.now_ns = 41 * SECOND;
	name_is(&f, "at 41 s", "at 41 s");
	f.now_ns = 1000 * SECOND;
	name_is(&f, "at 1000 s", "at 1000 s");
	f.now_ns = 1059 * SECOND;
	name_is(&f, "at 1059 s", "at 1000 s");
	f.now_ns = 1061 * SECOND;
	name_is(&f, "at 1061 s", "at 1061 s");
	end(&f);
}

/* Samples of two CPUs come in another order. */
static void an_earlier_sample_comes_later(void **state)
{
	const uint64_t ms = SECOND / 1000;
	struct fixture f;

	(void)state;
	begin(&f);
	f.now_ns = 5 * ms;
	name_is(&f, "at 5 ms", "at 5 ms");
	f.now_ns = 3 * ms;
	name_is(&f, "at 3 ms", "at 3 ms");
	f.now_ns = 14 * ms;
	name_is(&f, "at 14 ms", "at 14 ms");
	end(&f);
}

/* It has ended, as it seems. */
static void who_is_not_sampled_is_forgotten(void **state)
{
	struct fixture f;

	(void)state;
	begin_told(&f);
	name_is(&f, "first", "first");
	for (int i = 0; i < 3; i++)
		threads_forget(f.threads);
	name_is(&f, "second", "second");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_read_again),
		cmocka_unit_test(a_name_is_read_only_once),
		cmocka_unit_test(looks_become_rarer),
		cmocka_unit_test(an_earlier_sample_comes_later),
		cmocka_unit_test(who_is_not_sampled_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
