/*
 * Writes profiles made by hand, for the page's test in a browser.
 *
 * usage: page_profile mixed|hostile|large|deep|slices|empty FORMAT:FILE...
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"

enum { MAX_DEPTH = 8192 };

struct maker {
	struct named_builder *b;
	uint32_t at[MAX_DEPTH]; /* root first */
	uint32_t n;
	uint32_t slice; /* of what is taken; 0: none */
	uint64_t seed;
};

static uint32_t random_below(struct maker *m, uint32_t n)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(m->seed >> 33) % n;
}

static void push(struct maker *m, const char *name, enum named_kind kind, int exactness)
{
	struct named_line l = {
		.function = named_builder_function(m->b, name, "", ""), .kind = kind, .exactness = exactness};

	if (m->n < MAX_DEPTH)
		m->at[m->n++] = named_builder_location(m->b, 0, 0, &l, 1);
}

/* The stack that was pushed, seen `count` times; `keep` of its frames stay for the next one. */
static void take(struct maker *m, uint64_t count, int tid, const char *state, uint32_t keep)
{
	uint32_t leaf_first[MAX_DEPTH];
	char thread[32];
	struct named_sample s = {.count = count, .weight = count * 1000000, .pid = 4711, .tid = tid, .slice = m->slice};

	snprintf(thread, sizeof(thread), "worker-%d", tid);
	for (uint32_t i = 0; i < m->n; i++)
		leaf_first[i] = m->at[m->n - 1 - i];
	s.stack = named_builder_stack(m->b, leaf_first, m->n);
	s.thread = named_builder_string(m->b, tid ? thread : "");
	s.state = named_builder_string(m->b, state);
	named_builder_sample(m->b, &s);
	m->n = keep;
}

static void push_thread(struct maker *m, int tid)
{
	char name[32];

	m->n = 0;
	snprintf(name, sizeof(name), "[worker-%d tid=%d]", tid, tid);
	push(m, name, NAMED_THREAD, 0);
}

/* Two threads; a method in three tiers; recursion; kernel, native, stub frames. */
static void make_mixed(struct maker *m)
{
	for (int tid = 1; tid <= 2; tid++) {
		push_thread(m, tid);
		push(m, "start_thread", NAMED_NATIVE, 0);
		push(m, "java/lang/Thread.run", NAMED_INTERPRETED, 0);
		push(m, "app/Main.work", NAMED_C2, 0);
		push(m, "app/Store.put", NAMED_INLINED, 1);
		take(m, 300, tid, "", 3);
		push(m, "app/Main.work", NAMED_C1, 0);
		push(m, "app/Store.put", NAMED_C1, 3);
		take(m, 100, tid, "", 4);
		push(m, "app/Store.get", NAMED_C1, 0);
		push(m, "app/Store.get", NAMED_C1, 0);
		push(m, "app/Store.get", NAMED_C1, 2);
		take(m, 60, tid, "", 3);
		push(m, "app/Io.read", NAMED_JAVA_NATIVE, 0);
		take(m, 10, tid, "", 4);
		push(m, "read", NAMED_NATIVE, 0);
		push(m, "do_syscall_64", NAMED_KERNEL, 0);
		take(m, 30, tid, "", 3);
	}
	push(m, "vtable stub", NAMED_STUB, 0);
	take(m, 40, 2, "", 0);
	push_thread(m, 3);
	push(m, "GC::mark", NAMED_NATIVE, 0);
	take(m, 160, 3, "", 0);
}

static void make_hostile(struct maker *m)
{
	static const char *const names[] = {
		"</script><script>document.title='owned'</script>",
		"<img src=x onerror=\"document.title='owned'\">",
		"<!--<script>",
		"\"quotes' and \\ back`ticks ${1}",
		"\033]0;title\007\033[31mred",
		"user\u202egnirts\u2066",
		"line\u2028separator\u2029",
		"javascript:alert(1)",
		"constructor",
		"__proto__",
		"\xf0\x9f\x94\xa5 fire \xe4\xb8\xad\xe6\x96\x87",
		"a;b 100",
		"bad\xfe\xff",
		"",
	};
	char *name = malloc(65537);

	push(m, "root", NAMED_NATIVE, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		push(m, names[i], NAMED_C2, 0);
		take(m, 20 + i, (int)i, "", 1);
	}
	if (name) {
		memset(name, '<', 65536);
		name[65536] = '\0';
		push(m, name, NAMED_C1, 0);
		take(m, 50, 99, names[0], 1);
	}
	free(name);
	named_builder_meta(m->b)->command = named_builder_keep(m->b, names[0]);
	named_builder_meta(m->b)->jdk = named_builder_keep(m->b, names[1]);
}

/* About 100,000 frames (bars) in stacks of 20 to 100. */
static void make_large(struct maker *m)
{
	char name[64];

	for (uint32_t i = 0; i < 7700; i++) {
		uint32_t depth = 20 + random_below(m, 80);

		/* Stacks part in the middle: the root's side is shared, the leaf's is not. */
		m->n = m->n < 8 ? m->n : random_below(m, 2) ? m->n * 9 / 10 : 4 + random_below(m, m->n - 4);
		while (m->n < depth && random_below(m, 24)) {
			snprintf(name, sizeof(name), "com/example/p%u/Class%u.method%u", random_below(m, 20),
				 random_below(m, 50), random_below(m, 8));
			push(m, name, (enum named_kind)(NAMED_INTERPRETED + random_below(m, 4)),
			     (int)random_below(m, 4));
		}
		take(m, 1 + random_below(m, 4), 0, "", m->n);
	}
}

/* Taller than any canvas: 19 pixels a frame. */
static void make_deep(struct maker *m)
{
	for (uint32_t i = 0; i < 6000; i++)
		push(m, i & 1 ? "deep/Down.odd" : "deep/Down.even", NAMED_C2, 0);
	push(m, "deep/Bottom.leaf", NAMED_KERNEL, 0);
	take(m, 100, 0, "", 3000);
	push(m, "deep/Middle.leaf", NAMED_KERNEL, 0);
	take(m, 50, 0, "", 0);
}

/*
 * Ten slices of 500 ms, 100 samples each: app/Hot.run is interpreted less and less, then C2 code;
 * app/Load.read ends after the fourth, app/Cache.hit begins with the seventh. One sample has no slice.
 */
static void make_slices(struct maker *m)
{
	push(m, "app/Main.run", NAMED_INTERPRETED, 0);
	for (m->slice = 1; m->slice <= 10; m->slice++) {
		push(m, "app/Hot.run", m->slice <= 5 ? NAMED_INTERPRETED : NAMED_C2, 0);
		take(m, 60, 1, "", 1);
		push(m, "app/Same.run", NAMED_C2, 0);
		take(m, 20, 1, "", 1);
		push(m, m->slice <= 4 ? "app/Load.read" : m->slice >= 7 ? "app/Cache.hit" : "app/Hot.run", NAMED_C1, 0);
		take(m, 20, 2, "", 1);
	}
	m->slice = 0;
	push(m, "app/Late.none", NAMED_C1, 0);
	take(m, 1, 1, "", 0);
	named_builder_meta(m->b)->slice_ns = 500000000;
}

static int make(struct maker *m, const char *what)
{
	struct named_meta *meta = named_builder_meta(m->b);

	meta->event = named_builder_keep(m->b, "cpu");
	meta->unit = named_builder_keep(m->b, "nanoseconds");
	meta->period = 1000000;
	meta->duration_ns = 2000000000;
	meta->start_realtime_ns = 1800000000000000000;
	meta->command = named_builder_keep(m->b, "/usr/bin/java -cp x:y app.Main 1 2");
	meta->jdk = named_builder_keep(m->b, "17.0.15");
	if (!strcmp(what, "mixed"))
		make_mixed(m);
	else if (!strcmp(what, "hostile"))
		make_hostile(m);
	else if (!strcmp(what, "large"))
		make_large(m);
	else if (!strcmp(what, "deep"))
		make_deep(m);
	else if (!strcmp(what, "slices"))
		make_slices(m);
	else if (strcmp(what, "empty") != 0)
		return -EINVAL;
	return 0;
}

static int write_one(const struct named_profile *np, const char *output)
{
	const char *colon = strchr(output, ':');
	char format[32];
	struct err err = {0};
	const struct writer *w;
	FILE *f;
	int r = 0;

	snprintf(format, sizeof(format), "%.*s", colon ? (int)(colon - output) : 0, output);
	w = writer_find(format);
	f = w ? fopen(colon + 1, "w") : NULL;
	if (!f)
		return -EINVAL;
	r = w->write(np, &(struct writer_options){0}, f, &err);
	if (fclose(f) || r)
		fprintf(stderr, "%s: %s\n", output, err.msg);
	return r;
}

int main(int argc, char **argv)
{
	static struct maker m;
	struct named_profile *np;
	int r;

	m.b = named_builder_new();
	m.seed = 42;
	if (argc < 3 || !m.b || make(&m, argv[1])) {
		fprintf(stderr, "usage: page_profile mixed|hostile|large|deep|slices|empty FORMAT:FILE...\n");
		return 2;
	}
	np = named_builder_take(m.b);
	r = np ? 0 : -ENOMEM;
	for (int i = 2; i < argc && !r; i++)
		r = write_one(np, argv[i]);
	named_profile_free(np);
	return r ? 1 : 0;
}
