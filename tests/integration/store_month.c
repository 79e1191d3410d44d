/*
 * store_month DIR TARGETS DAYS SAMPLES PROFILE...: fills a store with what a host's JVMs would have left there up to now
 * (scripts/bench --store): TARGETS targets, each with SAMPLES samples a step of 10 s, drawn from one of the recordings. Days of all
 * steps, DAYS at most, as they are kept: 48 h of 10 s, 7 days of a minute, 30 of ten. All but the JDK's own methods are
 * different for each target. Prints for each step how long adding to it took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sampler/input/reader.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/store/compaction.h"
#include "sampler/store/day/day.h"
#include "sampler/store/day/day_add.h"
#include "sampler/store/stacks/dictionary.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

#define SECOND UINT64_C(1000000000)

enum { PERIOD_NS = 20408163 }; /* 49 Hz */

static const unsigned kept_days[STORE_STEPS] = {2, 7, 30};

struct program {
	struct named_profile *np;
	uint32_t *draw; /* each sample as often as it was counted */
	size_t n_draw;
	uint32_t *counts; /* by sample, of the bucket that is being made */
	char service[32];
};

static void die(const char *what, struct err *err)
{
	fprintf(stderr, "store_month: %s: %s\n", what, err ? err->msg : "no memory, or nothing in it");
	exit(1);
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die("memory", NULL);
	return p;
}

static uint64_t next_random(void)
{
	static uint64_t x = UINT64_C(0x9e3779b97f4a7c15);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

/* Other programs share the JDK with this one, and nothing else. */
static void make_different(struct named_profile *np, unsigned target)
{
	static const char *const shared[] = {"java/", "jdk/", "sun/", "[", "lib"};
	char name[512];

	for (uint32_t i = 1; i < np->n_functions; i++) {
		const char *old = named_string(np, np->functions[i].name);
		bool is_shared = !strchr(old, '/');

		np->functions[i].compile = (struct named_compile){0}; /* a step has that of its own methods only */
		for (size_t k = 0; k < sizeof(shared) / sizeof(*shared); k++)
			is_shared = is_shared || strncmp(old, shared[k], strlen(shared[k])) == 0;
		if (is_shared)
			continue;
		snprintf(name, sizeof(name), "t%u/%s", target, old);
		np->functions[i].name = strtab_add_z(np->strings, name);
	}
}

static void make_program(struct program *p, unsigned target, const char *path)
{
	struct err err = {0};
	struct reader_report report = {0};
	size_t n = 0;

	if (reader_open_profile(path, &p->np, &report, &err) < 0)
		die(path, &err);
	make_different(p->np, target);
	for (uint32_t i = 0; i < p->np->n_samples; i++)
		p->n_draw += p->np->samples[i].count;
	p->draw = get(p->n_draw, sizeof(*p->draw));
	p->counts = get(p->np->n_samples, sizeof(*p->counts));
	for (uint32_t i = 0; i < p->np->n_samples; i++)
		for (uint64_t k = 0; k < p->np->samples[i].count; k++)
			p->draw[n++] = i;
	if (!n)
		die(path, NULL);
	snprintf(p->service, sizeof(p->service), "service-%u", target);
}

/* A profile of n samples that shares everything else with the program's. */
static void draw(struct program *p, uint64_t n, uint64_t at, struct named_profile *ret)
{
	*ret = *p->np;
	for (uint64_t i = 0; i < n; i++)
		p->counts[p->draw[next_random() % p->n_draw]]++;
	ret->samples = get(p->np->n_samples, sizeof(*ret->samples));
	ret->n_samples = 0;
	for (uint32_t i = 0; i < p->np->n_samples; i++) {
		struct named_sample *s = &ret->samples[ret->n_samples];

		if (!p->counts[i])
			continue;
		*s = p->np->samples[i];
		s->count = p->counts[i];
		s->weight = s->count * PERIOD_NS;
		s->slice = 0;
		ret->n_samples++;
		p->counts[i] = 0;
	}
	ret->meta.period = PERIOD_NS;
	ret->meta.slice_ns = 0;
	ret->meta.start_realtime_ns = at * SECOND;
	ret->meta.complete = n;
}

static void add_step(struct day *d, struct program *programs, unsigned targets, uint64_t at, uint64_t samples)
{
	for (unsigned i = 0; i < targets; i++) {
		struct program *p = &programs[i];
		struct label labels[] = {{"service", p->service}, {"jdk", "17.0.15"}};
		struct store_target t = {
			.boot_id = "month", .pid = (pid_t)i + 1, .start_ticks = 1, .labels = labels, .n_labels = 2};
		struct named_profile np;
		struct err err = {0};

		draw(p, samples, at, &np);
		if (day_add_profile(d, &t, (int64_t)at, &np, &(bool){false}, &err) < 0)
			die("adding", &err);
		free(np.samples);
	}
}

static void compact(const char *dir, struct day_id id)
{
	struct compaction *c = NULL;
	struct err err = {0};
	int r = compaction_begin(dir, id, &c, &err) < 0 ? -1 : 1;

	while (c && r > 0)
		r = compaction_work(c, SECOND, &err);
	if (r < 0)
		die("a finished day", &err);
	compaction_end(c);
}

static void fill_day(const char *dir, struct day_id id, struct program *programs, unsigned targets, uint64_t until,
		     uint64_t samples)
{
	uint32_t step = day_steps[id.step].seconds, each = samples * step / day_steps[0].seconds;
	uint64_t at = (uint64_t)id.date * DAY_S, end = at + DAY_S < until ? at + DAY_S : until;
	struct day *d;
	struct err err = {0};

	if (day_open(dir, id, DAY_ADDS, &d, &err) < 0)
		die("a day", &err);
	if (!day_steps[id.step].remembered_s)
		dictionary_remember(d->dict); /* as adding up the finer step would (store_roll.h) */
	for (; at < end; at += step) { /* a commit each, after which nodes may be forgotten, as in the daemon */
		if (day_begin(d, &err) < 0)
			die("a transaction", &err);
		add_step(d, programs, targets, at, each);
		if (day_commit(d, &err) < 0)
			die("the end of a step", &err);
		if (!day_steps[id.step].remembered_s)
			dictionary_period(d->dict, (int64_t)(at + step) / day_steps[id.step].recurs_s,
					  (int64_t)(at + step) / day_steps[0].remembered_s);
	}
	day_close(d);
	if (id.step && end < until)
		compact(dir, id);
}

int main(int argc, char **argv)
{
	uint64_t now = (uint64_t)time(NULL);
	unsigned targets = argc > 5 ? (unsigned)atoi(argv[2]) : 0, days = argc > 5 ? (unsigned)atoi(argv[3]) : 0;
	uint64_t samples = argc > 5 ? strtoull(argv[4], NULL, 10) : 0;
	struct program *programs;

	if (!targets || !days || !samples) {
		fputs("usage: store_month DIR TARGETS DAYS SAMPLES PROFILE...\n", stderr);
		return 2;
	}
	log_set_level(LOG_LEVEL_QUIET);
	programs = get(targets, sizeof(*programs));
	for (unsigned i = 0; i < targets; i++)
		make_program(&programs[i], i, argv[5 + i % (unsigned)(argc - 5)]);
	for (unsigned step = 0; step < STORE_STEPS; step++) {
		unsigned n = kept_days[step] < days ? kept_days[step] : days;
		int64_t last = (int64_t)(now / DAY_S);
		uint64_t begin = clock_monotonic_ns();

		for (int64_t date = last - n; date <= last; date++)
			fill_day(argv[1], (struct day_id){date, step}, programs, targets, now, samples);
		printf("%s: %u days and today, %.1f s\n", day_steps[step].name, n,
		       (double)(clock_monotonic_ns() - begin) / (double)SECOND);
		fflush(stdout);
	}
	return 0;
}
