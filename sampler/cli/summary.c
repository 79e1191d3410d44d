#include "sampler/cli/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "sampler/cli/outputs.h"
#include "sampler/model/named_profile.h"
#include "sampler/output/flat.h"
#include "sampler/session/session.h"
#include "symbolizer/attribution/exactness.h"
#include "symbolizer/base/text.h"

enum { HOTTEST = 10, NAME_WIDTH = 48 };

void summary_live_line(uint64_t elapsed_ns, uint64_t samples, uint64_t own_cpu_ns)
{
	double s = (double)elapsed_ns / 1e9;

	fprintf(stderr, "\r%6.1f s  %" PRIu64 " samples  own CPU %.1f %%   (Ctrl-C ends)\033[K", s,
		samples, s > 0 ? (double)own_cpu_ns / 1e7 / s : 0);
	fflush(stderr);
}

void summary_live_line_clear(void)
{
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_samples(const struct session_summary *s)
{
	const struct profile_totals *t = &s->totals;
	uint64_t incomplete = t->samples - t->complete - t->resynchronised - t->frozen;

	fprintf(stderr, "%" PRIu64 " samples in %.1f s, lost %" PRIu64, t->samples,
		(double)s->elapsed_ns / 1e9, s->engine.lost);
	fprintf(stderr, "; complete stacks %.2f %%", percent(t->complete, t->samples));
	if (t->resynchronised)
		fprintf(stderr, ", resynchronised %" PRIu64, t->resynchronised);
	if (t->frozen)
		fprintf(stderr, ", frozen %" PRIu64, t->frozen);
	if (incomplete)
		fprintf(stderr, ", incomplete %" PRIu64, incomplete);
	fputc('\n', stderr);
}

static void print_notes(const struct session_summary *s)
{
	const struct profile_totals *t = &s->totals;

	if (t->storage_limit)
		fprintf(stderr, "--max-memory reached: %" PRIu64 " samples under [storage limit]\n",
			t->storage_limit);
	if (t->truncated)
		fprintf(stderr, "--depth reached: %" PRIu64 " samples under [truncated]\n",
			t->truncated);
	if (s->engine.max_sample_rate)
		fprintf(stderr, "the kernel cut the rate (kernel.perf_event_max_sample_rate %" PRIu64
			"): fewer samples than asked for\n", s->engine.max_sample_rate);
	if (s->engine.no_kernel)
		fprintf(stderr, "kernel frames are not permitted (kernel.perf_event_paranoid)\n");
	if (s->target_ended)
		fprintf(stderr, "the target ended\n");
	if (!t->samples)
		fprintf(stderr, "no samples: the target used no CPU time\n");
}

static void print_kinds(const struct flat *f)
{
	const char *sep = "time by kind: ";

	for (int pass = 0; pass < NAMED_KINDS; pass++) {
		if (!f->self_by_kind[pass])
			continue;
		fprintf(stderr, "%s%s %.1f %%", sep, flat_kind_name((enum named_kind)pass),
			percent(f->self_by_kind[pass], f->samples));
		sep = ", ";
	}
	if (f->samples)
		fputc('\n', stderr);
}

static void print_exactness(const struct named_meta *m)
{
	uint64_t all = 0;

	for (int i = 0; i < EXACTNESS_COUNT; i++)
		all += m->exactness[i];
	if (!all)
		return;
	fprintf(stderr, "names in compiled code: exact %.1f %%, by flow %.1f %%, inferred %.1f %%, "
		"approximate %.1f %%\n",
		percent(m->exactness[EXACT], all), percent(m->exactness[EXACT_FLOW], all),
		percent(m->exactness[EXACT_INFERRED], all),
		percent(m->exactness[EXACT_APPROXIMATE], all));
}

/* "C2 61 %, inlined 39 %": how the method's own time was spent. */
static void tier_split(const struct flat_row *row, char *dst, size_t size)
{
	size_t n = 0;

	dst[0] = '\0';
	for (int k = 0; k < NAMED_KINDS && n < size; k++) {
		double p = percent(row->self_by_kind[k], row->self);

		if (p < 0.5)
			continue;
		n += (size_t)snprintf(dst + n, size - n, "%s%s %.0f", n ? ", " : "",
				      flat_kind_name((enum named_kind)k), p);
	}
}

/* Long names keep their end: that is where class and method stand. */
static void fit_name(const char *name, char *dst, size_t size)
{
	size_t len = strlen(name);

	if (len > NAME_WIDTH)
		snprintf(dst, size, "..%s", name + len - (NAME_WIDTH - 2));
	else
		snprintf(dst, size, "%s", name);
}

static void print_hottest(const struct named_profile *np, const struct flat *f)
{
	char name[NAME_WIDTH + 8], clean[4 * NAME_WIDTH], split[96];

	if (f->n && f->rows[0].self)
		fprintf(stderr, "   self  total  hottest methods (self by kind in %%)\n");
	for (size_t i = 0; i < f->n && i < HOTTEST && f->rows[i].self; i++) {
		const char *full = named_string(np, f->rows[i].name);

		fit_name(full, name, sizeof(name));
		text_sanitise(clean, sizeof(clean), name, strlen(name));
		tier_split(&f->rows[i], split, sizeof(split));
		fprintf(stderr, "%5.1f %% %5.1f %%  %s  (%s)\n", percent(f->rows[i].self, f->samples),
			percent(f->rows[i].total, f->samples), clean, split);
	}
}

static void print_files(const struct outputs *outs)
{
	for (size_t i = 0; i < outs->n; i++)
		if (strcmp(outs->list[i].path, "-") != 0)
			fprintf(stderr, "written: %s\n", outs->list[i].path);
}

/* One fact a line, for people with -v and for scripts/bench. */
static void print_details(const struct session_summary *s)
{
	const struct profile_totals *t = &s->totals;
	struct rusage ru = {0};

	getrusage(RUSAGE_SELF, &ru);
	fprintf(stderr,
		"jsampler: samples %" PRIu64 ", lost %" PRIu64 ", complete %" PRIu64
		", resynchronised %" PRIu64 ", frozen %" PRIu64 "\n",
		t->samples, s->engine.lost, t->complete, t->resynchronised, t->frozen);
	fprintf(stderr, "jsampler: samples with Java frames %" PRIu64 ", complete %" PRIu64 "\n", t->java,
		t->java_complete);
	fprintf(stderr, "jsampler: own CPU %.3f s (%.1f us/sample), peak memory %.1f MB\n",
		(double)s->own_cpu_ns / 1e9,
		t->samples ? (double)s->own_cpu_ns / 1e3 / (double)t->samples : 0,
		(double)ru.ru_maxrss / 1024);
	fprintf(stderr, "jsampler: CPU time of the target %.3f s, samples x period %.3f s\n",
		(double)s->cpu_ns / 1e9, (double)t->weight / 1e9);
	fprintf(stderr, "jsampler: first stack after %.0f ms\n", (double)s->first_stack_ns / 1e6);
	fprintf(stderr, "jsampler: %zu distinct stacks of %zu frames, %.1f MB\n", t->stacks, t->frames,
		(double)t->bytes / 1e6);
	fprintf(stderr, "jsampler: engine perf, %s, stack copy %u bytes, threads %u, throttled %" PRIu64
		"\n", s->engine.attachment ? s->engine.attachment : "?", s->engine.stack_bytes,
		s->engine.threads, s->engine.throttled);
	for (int i = 0; i < WALK_ENDS; i++)
		if (t->ends[i])
			fprintf(stderr, "jsampler: walks that ended at %s: %" PRIu64 "\n",
				walk_end_name((enum walk_end)i), t->ends[i]);
}

void summary_print(const struct session_summary *s, const struct named_profile *np,
		   const struct outputs *outs, int verbose)
{
	struct flat f;

	print_samples(s);
	print_notes(s);
	if (flat_build(np, &f) == 0) {
		print_kinds(&f);
		print_exactness(&np->meta);
		print_hottest(np, &f);
		flat_done(&f);
	}
	if (verbose)
		print_details(s);
	print_files(outs);
}
