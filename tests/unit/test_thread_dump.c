#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sampler/doctor/thread_dump.h"

static const char jdk17[] =
	"2026-11-21 12:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n"
	"\tat stray.Frame.before(Any.java:1)\n"
	"\"main\" #1 prio=5 os_prio=0 cpu=53.94ms elapsed=4.76s tid=0x00007ff6e0017ed0 nid=0x7646 runnable  [0x7ff6]\n"
	"   java.lang.Thread.State: RUNNABLE\n"
	"\tat java.io.FileInputStream.readBytes(java.base@17.0.15/Native Method)\n"
	"\t- locked <0x000000069ec05848> (a java.io.BufferedInputStream)\n"
	"\tat Busy$$Lambda$3/0x00007ff664002c00.run(Unknown Source)\n\n"
	"\"a \"quoted\" nid=0x1 name\" #9 tid=0x1 nid=0x2a waiting on condition\n"
	"\tat p.C.<init>(C.java)\n\n"
	"\"VM Thread\" os_prio=0 nid=0x7650 runnable\n";

static const char jdk25[] = "\"main\" #3 [4053] prio=5 os_prio=0 tid=0x00007f nid=4053 waiting on condition [0x7f]\n"
			    "\tat jdk.internal.misc.Unsafe.park(java.base@25.0.3/Native Method)\n"
			    "\"ForkJoinPool-1-worker-1\" #30 [4060] daemon nid=4060 [0x7f]\n"
			    "   Carrying virtual thread #29\n"
			    "\tat java.lang.VirtualThread.run(java.base@25/VirtualThread.java:1)\n";

static struct thread_dump parse(const char *text, char **copy)
{
	struct thread_dump d;

	*copy = strdup(text);
	assert_int_equal(thread_dump_parse(*copy, &d), 0);
	return d;
}

static void old_form(void **state)
{
	char *copy;
	struct thread_dump d = parse(jdk17, &copy);
	const struct dump_thread *t = thread_dump_find(&d, 0x7646);

	(void)state;
	assert_int_equal(d.n_threads, 3);
	assert_non_null(t);
	assert_string_equal(t->name, "main");
	assert_int_equal(t->n, 2);
	assert_string_equal(d.frames[t->first], "java.io.FileInputStream.readBytes");
	assert_string_equal(d.frames[t->first + 1], "Busy$$Lambda$3.run");
	t = thread_dump_find(&d, 42);
	assert_non_null(t);
	assert_string_equal(d.frames[t->first], "p.C.<init>");
	assert_null(thread_dump_find(&d, 1));
	assert_null(thread_dump_find(&d, 0));
	assert_int_equal(thread_dump_find(&d, 0x7650)->n, 0);
	thread_dump_done(&d);
	free(copy);
}

static void new_form(void **state)
{
	char *copy;
	struct thread_dump d = parse(jdk25, &copy);

	(void)state;
	assert_non_null(thread_dump_find(&d, 4053));
	assert_false(thread_dump_find(&d, 4053)->mounts);
	assert_true(thread_dump_find(&d, 4060)->mounts);
	thread_dump_done(&d);
	free(copy);
}

static void names(void **state)
{
	/* clang-format off */
	static const char *const cases[][2] = {
		{"Busy$$Lambda$3+0x00007ff664002c00.run", "Busy$$Lambda$3.run"},
		{"java/lang/invoke/LambdaForm$DMH/0x00007f.invoke", "java.lang.invoke.LambdaForm$DMH.invoke"},
		{"p/0x.f", "p.0x.f"}, {"", ""}, {"+0x", "+0x"}, {"/0xg", ".0xg"},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[100];

		strcpy(name, cases[i][0]);
		thread_dump_plain_name(name);
		assert_string_equal(name, cases[i][1]);
	}
}

/* Anything may come over the socket: every prefix, and every byte turned. */
static void garbage(void **state)
{
	size_t len = sizeof(jdk17) - 1;

	(void)state;
	for (size_t i = 0; i <= len; i++) {
		char *copy = strndup(jdk17, i), *turned = strdup(jdk17);
		struct thread_dump d;

		assert_int_equal(thread_dump_parse(copy, &d), 0);
		thread_dump_done(&d);
		if (i < len)
			turned[i] ^= 0x2a;
		assert_int_equal(thread_dump_parse(turned, &d), 0);
		for (size_t t = 0; t < d.n_threads; t++)
			assert_true(d.threads[t].first + d.threads[t].n <= d.n_frames);
		thread_dump_done(&d);
		free(copy);
		free(turned);
	}
}

/* An answer that has nothing but threads costs no more than its own length. */
static void many_threads(void **state)
{
	const size_t lines = 4 << 20;
	char *text = malloc(2 * lines + 1);
	struct thread_dump d;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < lines; i++)
		memcpy(text + 2 * i, "\"\n", 2);
	text[2 * lines] = '\0';
	assert_int_equal(thread_dump_parse(text, &d), 0);
	assert_true(d.n_threads > 0 && d.threads_cap * sizeof(*d.threads) < 2 * lines);
	thread_dump_done(&d);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_form), cmocka_unit_test(new_form),     cmocka_unit_test(names),
		cmocka_unit_test(garbage),  cmocka_unit_test(many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
