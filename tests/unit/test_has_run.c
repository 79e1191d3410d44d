#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/suspend/has_run.h"

/*
 * Register sets of real threads (tests/java/suspend/Blocked.java, has_run_probe record): looked at while they were
 * blocked, stopped, which interrupts their call, looked at after the kernel or we made it again, stopped.
 */
enum { SETS = 512 };

struct set {
	char name[16];
	bool stopped;
	struct has_run_set set;
	int64_t result;
	struct has_run_account account;
};

struct sets {
	struct set v[SETS];
	size_t n;
};

static const char *const files[] = {FIXTURES "/has_run/17.regs", FIXTURES "/has_run/25.regs"};

static void read_set(char *line, struct set *s)
{
	char *p = line;

	snprintf(s->name, sizeof(s->name), "%s", strsep(&p, " "));
	s->stopped = strcmp(strsep(&p, " "), "stop") == 0;
	s->set.call = strtoll(p, &p, 10);
	s->result = strtoll(p, &p, 10);
	strtol(p, &p, 10);
	s->account.cpu_ns = strtoull(p, &p, 10);
	s->account.wait_ns = strtoull(p, &p, 10);
	s->account.slices = strtoull(p, &p, 10);
	s->set.regs.known = strtoull(p, &p, 16);
	for (unsigned i = 0; i < X86_REGS; i++)
		s->set.regs.r[i] = strtoull(p, &p, 16);
	assert_int_equal(*p, '\n');
}

static struct sets *read_sets(const char *path)
{
	struct sets *s = calloc(1, sizeof(*s));
	FILE *f = fopen(path, "r");
	char line[1024];

	assert_non_null(f);
	assert_non_null(s);
	while (s->n < SETS && fgets(line, sizeof(line), f))
		read_set(line, &s->v[s->n++]);
	fclose(f);
	assert_in_range(s->n, 100, SETS - 1);
	return s;
}

static uint64_t sum(const struct set *s)
{
	return has_run_host()->checksum(&s->set);
}

/* The first set of a thread; its others follow. */
static const struct set *find(const struct sets *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].name, name) == 0)
			return &s->v[i];
	fail_msg("no thread %s", name);
	return NULL;
}

static enum has_run_verdict judged(const struct set *before, const struct set *now)
{
	const struct has_run_look a = {sum(before), before->account, true};
	const struct has_run_look b = {sum(now), now->account, now->stopped};

	return has_run_judge(&a, &b);
}

static const char *const blocked[] = {
	"VM_Thread",   "Reference_Handl", "Signal_Dispatch", "holds",    "monitor",    "waits",
	"waits-timed", "parks",           "parks-timed",     "sleeps",   "selects",    "selects-timed",
	"accepts",     "accepts-timed",   "accepts-nio",     "receives", "reads-pipe", "waits-process",
};

static void test_blocked(void **state)
{
	unsigned judgements = 0, right = 0;

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		struct sets *s = read_sets(files[f]);

		for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++) {
			const struct set *of = find(s, blocked[i]);

			assert_true(!of[0].stopped && of[1].stopped && !of[2].stopped && of[3].stopped);
			for (unsigned k = 1; k < 4; k++) {
				assert_string_equal(of[k].name, blocked[i]);
				assert_int_equal(sum(&of[k]), sum(&of[0]));
				/* Stopped and let go, it used CPU time: that is no running. */
				assert_true(of[k].account.cpu_ns > of[k - 1].account.cpu_ns);
				judgements++;
				right += judged(&of[k - 1], &of[k]) == HAS_NOT_RUN;
			}
		}
		free(s);
	}
	/* On a machine that others use a stop costs more than HAS_RUN_STOP_NS now and then. */
	assert_in_range(right, judgements * 9 / 10, judgements - 1);
}

/* What the normalising is for: these differ from one set to the next, though the thread does nothing. */
static void test_differ(void **state)
{
	unsigned restarted = 0, again = 0, plain = 0;

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		struct sets *s = read_sets(files[f]);

		for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++) {
			const struct set *of = find(s, blocked[i]);

			restarted += of[0].set.call != of[2].set.call;
			again += of[1].result == -4;
			plain += of[1].result == -512;
			assert_true(of[0].set.regs.known != of[1].set.regs.known);
		}
		free(s);
	}
	assert_true(restarted >= 10 && again >= 4 && plain >= 10);
}

static void test_running(void **state)
{
	(void)state;
	for (size_t f = 0; f < 2; f++) {
		struct sets *s = read_sets(files[f]);
		const struct set *of = find(s, "computes");

		assert_true(of[0].stopped && of[1].stopped && of[0].set.call < 0);
		assert_int_not_equal(sum(&of[0]), sum(&of[1]));
		assert_int_equal(judged(&of[0], &of[1]), HAS_RUN_REGISTERS);
		free(s);
	}
}

/* No two threads are alike. */
static void test_apart(void **state)
{
	(void)state;
	for (size_t f = 0; f < 2; f++) {
		struct sets *s = read_sets(files[f]);

		for (size_t i = 0; i < s->n; i++)
			for (size_t k = 0; k < i; k++)
				if (strcmp(s->v[i].name, s->v[k].name) != 0)
					assert_int_not_equal(sum(&s->v[i]), sum(&s->v[k]));
		free(s);
	}
}

/* One argument of the call, or the place, is another one: it has run. */
static void test_each_counts(void **state)
{
	static const unsigned counts[] = {X86_RIP, X86_RSP, X86_RDI, X86_RSI, X86_RDX, X86_R10, X86_R8, X86_R9};
	struct sets *s = read_sets(files[0]);
	struct set of = *find(s, "parks");
	uint64_t was = sum(&of);

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		of.set.regs.r[counts[i]] += 8;
		assert_int_not_equal(sum(&of), was);
		of.set.regs.r[counts[i]] -= 8;
	}
	assert_int_equal(sum(&of), was);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocked), cmocka_unit_test(test_differ),      cmocka_unit_test(test_running),
		cmocka_unit_test(test_apart),   cmocka_unit_test(test_each_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
