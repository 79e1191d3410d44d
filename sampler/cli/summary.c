#include "sampler/cli/summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/cli/outputs.h"
#include "sampler/model/named_profile.h"
#include "sampler/output/columns.h"
#include "sampler/output/flat.h"
#include "sampler/session/session.h"
#include "sampler/views/view_head.h"
#include "symbolizer/attribution/exactness.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/text.h"

/* SHARES: width of the two percentages before a method's name. */
#define LEAST_MISSING_NS UINT64_C(30000000) /* the CPU time of ended processes is counted in ticks */
#define LEAST_LIVE_NS                                                                                                  \
	UINT64_C(100000000) /* opening the events is not in it, but in the CPU time that is divided by it */
enum { HOTTEST = 10, SHARES = 18, SPLIT_COLUMNS = 22, LEAST_NAME = 24, HANG = 2 };

/* Prints one line of the summary, wrapped to the width of a terminal. */
static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	char line[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	columns_wrap(stderr, line, 0, HANG, columns_of_terminal(STDERR_FILENO));
}

void summary_live_line(uint64_t elapsed_ns, const struct session_live *l, uint64_t own_cpu_ns)
{
	double s = (double)elapsed_ns / 1e9;
	size_t width = columns_of_terminal(STDERR_FILENO);
	char line[160];

	if (elapsed_ns < LEAST_LIVE_NS)
		return;
	snprintf(line, sizeof(line),
		 "%6.1f s  %" PRIu64 " samples  lost %" PRIu64 "  threads %" PRIu64 "  own CPU %.1f %%  (Ctrl-C ends)",
		 s, l->samples, l->lost, l->threads, (double)own_cpu_ns / 1e7 / s);
	fprintf(stderr, "\r%.*s\033[K", width ? (int)width - 1 : 79, line);
	fflush(stderr);
	log_set_live_line(true);
}

void summary_live_line_clear(void)
{
	log_set_live_line(false);
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
	struct buf b = {0};

	buf_printf(&b, "%" PRIu64 " sample%s in %.1f s, lost %" PRIu64, t->samples, t->samples == 1 ? "" : "s",
		   (double)s->elapsed_ns / 1e9, s->engine.lost);
	if (t->samples)
		buf_printf(&b, "; complete stacks %.2f %%", percent(t->complete, t->samples));
	if (t->resynchronised)
		buf_printf(&b, ", resynchronised %" PRIu64, t->resynchronised);
	if (t->frozen)
		buf_printf(&b, ", frozen %" PRIu64, t->frozen);
	if (incomplete)
		buf_printf(&b, ", incomplete %" PRIu64, incomplete);
	say("%s", b.data ? b.data : "");
	buf_done(&b);
}

static bool is_time(const struct session_summary *s)
{
	return !s->engine.unit || strcmp(s->engine.unit, "ns") == 0;
}

/* "its child java used 1.20 s and was not followed", as far as known; "": no children. */
static void children_text(const struct session_summary *s, char *dst, size_t size)
{
	const struct session_children *c = &s->children;
	bool many = c->processes > 1, suspends = strcmp(s->engine_name, "suspend") == 0;
	char names[4 + sizeof(c->names)], clean[1 + sizeof(c->names)], used[40];

	dst[0] = '\0';
	if (c->followed || !(c->processes || c->cpu_ns))
		return;
	text_sanitise(clean, sizeof(clean), c->names, strlen(c->names));
	snprintf(names, sizeof(names), "%s%s", clean[0] ? " " : "", clean);
	snprintf(used, sizeof(used), " used %.2f s and", (double)c->cpu_ns / 1e9);
	snprintf(dst, size, "its child%s%s%s %s not followed (%s)", many ? "ren" : "", names, c->cpu_ns ? used : "",
		 many ? "were" : "was", suspends ? "--engine suspend follows none" : "--children does that");
}

/* CPU time that the kernel accounted to all processes and that nothing above explains; 0: chance explains it. */
static uint64_t unexplained_ns(const struct session_summary *s)
{
	const struct profile_totals *t = &s->totals;
	uint64_t known = t->weight + t->unsampled_short + t->unsampled_kernel + s->engine.lost_weight +
			 s->children.unread_weight;
	uint64_t period = t->samples ? t->weight / t->samples : 0, missing = s->cpu_ns > known ? s->cpu_ns - known : 0;
	double deviations = 4; /* standard deviations of the number of samples */

	return missing > s->cpu_ns / 20 && missing > LEAST_MISSING_NS &&
			       (double)missing * (double)missing >
				       deviations * deviations * (double)s->cpu_ns * (double)period ?
		       missing :
		       0;
}

static void print_no_samples(const struct session_summary *s)
{
	char children[200], comm[sizeof(s->comm)];
	uint64_t followed = s->children.followed ? s->children.cpu_ns : 0;

	children_text(s, children, sizeof(children));
	if (s->children.followed && s->children.processes)
		snprintf(children, sizeof(children), "the %" PRIu64 " process%s that it started used %.0f ms",
			 s->children.processes, s->children.processes == 1 ? "" : "es",
			 (double)s->children.cpu_ns / 1e6);
	text_sanitise(comm, sizeof(comm), s->comm, strlen(s->comm));
	if (s->engine.lost)
		say("no samples: all samples taken were lost; on a busy machine, a lower rate (-F) or a longer "
		    "interval (-i) helps");
	else if (is_time(s) && (s->cpu_ns || children[0]))
		say("no samples: %s used %.0f ms%s%s", comm[0] ? comm : "the target",
		    (double)(s->cpu_ns - followed) / 1e6, children[0] ? "; " : "", children);
	else if (is_time(s))
		say("no samples: the target used no CPU time");
	else
		say("no samples: the target had fewer %s than -c asks for, or none at all", s->engine.unit);
}

/* Known missing CPU time, and why. */
static void print_unsampled(const struct session_summary *s)
{
	const struct profile_totals *t = &s->totals;
	uint64_t all = t->weight + t->unsampled_short + t->unsampled_kernel;

	if (t->unsampled_short)
		say("not sampled: %.2f s (%.1f %% of the CPU time) of threads that ended, or still ran at the end, "
		    "before a sample was due",
		    (double)t->unsampled_short / 1e9, percent(t->unsampled_short, all));
	if (t->unsampled_kernel)
		say("not sampled: %.2f s (%.1f %% of the CPU time) in the kernel", (double)t->unsampled_kernel / 1e9,
		    percent(t->unsampled_kernel, all));
}

/* CPU time of child processes without samples, and why. */
static void print_children(const struct session_summary *s)
{
	const struct session_children *c = &s->children;
	char text[200];

	if (c->sampled)
		say("processes: the target, and %" PRIu64 " that it started, of which %" PRIu64 " %s samples",
		    c->processes, c->sampled, c->sampled == 1 ? "has" : "have");
	if (c->unread)
		say("not sampled: %" PRIu64 " sample%s of child processes (%.1f %% of all), which ended before "
		    "they could be read or may not be read",
		    c->unread, c->unread == 1 ? "" : "s", percent(c->unread, s->totals.samples + c->unread));
	if (c->followed && is_time(s) && c->cpu_ns && unexplained_ns(s))
		say("%.2f s (%.1f %%) of the CPU time has no samples: it was used by child processes that "
		    "ended at once or may not be sampled%s",
		    (double)unexplained_ns(s) / 1e9, percent(unexplained_ns(s), s->cpu_ns),
		    s->engine.skips_kernel ? ", or in the kernel as they started and ended" : "");
	if (c->refused)
		say("%" PRIu64 " child process%s not followed: there were too many at the same time", c->refused,
		    c->refused == 1 ? " was" : "es were");
	children_text(s, text, sizeof(text));
	if (s->totals.samples && text[0] && c->cpu_ns > s->cpu_ns / 100)
		say("%s", text);
}

static void print_notes(const struct session_summary *s)
{
	const struct profile_totals *t = &s->totals;

	if (t->storage_limit)
		say("--max-memory reached: %" PRIu64 " samples under [storage limit]", t->storage_limit);
	if (t->truncated)
		say("--depth reached: %" PRIu64 " samples under [truncated]", t->truncated);
	if (s->engine.max_sample_rate)
		say("the kernel lowered the rate (kernel.perf_event_max_sample_rate %" PRIu64
		    "): there are fewer samples than requested",
		    s->engine.max_sample_rate);
	if (s->engine.suspend.stops)
		say("threads were stopped %" PRIu64 " times: half of the pauses took up to %.0f us, 99 %% up to "
		    "%.0f us, the longest %.0f us",
		    s->engine.suspend.stops, (double)s->engine.suspend.pause.p50_ns / 1e3,
		    (double)s->engine.suspend.pause.p99_ns / 1e3, (double)s->engine.suspend.pause.max_ns / 1e3);
	if (s->engine.suspend.skipped)
		say("%" PRIu64 " of %" PRIu64 " ticks were skipped: the target is left alone for at least as "
		    "long as a tick takes; weights compensate for that",
		    s->engine.suspend.skipped, s->engine.suspend.ticks + s->engine.suspend.skipped);
	for (unsigned i = 0; s->files && i < s->files->n_notes; i++)
		say("not read, to limit the cost of the target's files: %s", s->files->note[i]);
	if (s->files && s->files->refused > s->files->n_notes)
		say("not read, to limit the cost of the target's files: %" PRIu64 " items in all", s->files->refused);
	if (s->unread)
		say("%" PRIu64 " sample%s (%.1f %%) are of a program that the target executed and that cannot be "
		    "read: their stacks are incomplete",
		    s->unread, s->unread == 1 ? "" : "s", percent(s->unread, t->samples));
	if (s->engine.no_kernel)
		say("kernel frames are not permitted; run as root with CAP_PERFMON, or first: "
		    "sysctl -w kernel.perf_event_paranoid=1");
	if (s->target_ended)
		say("the target ended");
	if (!t->samples)
		print_no_samples(s);
}

static void print_kinds(const struct flat *f)
{
	const char *sep = "time by kind: ";
	struct buf b = {0};

	for (int k = 0; k < NAMED_KINDS; k++) {
		if (!f->self_by_kind[k])
			continue;
		buf_printf(&b, "%s%s %.1f %%", sep, flat_kind_name((enum named_kind)k),
			   percent(f->self_by_kind[k], f->samples));
		sep = ", ";
	}
	if (b.data)
		say("%s", b.data);
	buf_done(&b);
}

/* The error of "likely" frames: docs/measurements.md, agreement per sample. */
static void print_exactness(const struct named_meta *m)
{
	uint64_t sure = m->exactness[EXACT] + m->exactness[EXACT_FLOW];
	uint64_t likely = m->exactness[EXACT_INFERRED] + m->exactness[EXACT_APPROXIMATE];

	if (!sure && !likely)
		return;
	say("compiled code: the method is sure in %.0f %% of the samples, likely in %.0f %%%s",
	    percent(sure, sure + likely), percent(likely, sure + likely),
	    likely ? " (of the likely ones, 1 in 10 to 1 in 4 belong to a caller or callee inlined there)" : "");
}

static void print_exactness_details(const struct named_meta *m)
{
	uint64_t all = 0;

	for (int i = 0; i < EXACTNESS_COUNT; i++)
		all += m->exactness[i];
	if (!all)
		return;
	say("jsampler: compiled code: sure by the JVM's record of the instruction %.1f %%, sure by the code around it "
	    "%.1f %%, likely as the only callee that fits %.1f %%, likely by the nearest record %.1f %%",
	    percent(m->exactness[EXACT], all), percent(m->exactness[EXACT_FLOW], all),
	    percent(m->exactness[EXACT_INFERRED], all), percent(m->exactness[EXACT_APPROXIMATE], all));
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
		n += (size_t)snprintf(dst + n, size - n, "%s%s %.0f", n ? ", " : "", flat_kind_name((enum named_kind)k),
				      p);
	}
}

/* Long names are cut at the front, because class and method are at the end. */
static void print_method(const struct named_profile *np, const struct flat *f, const struct flat_row *row)
{
	size_t width = columns_of_terminal(STDERR_FILENO), room;
	const char *full = named_string(np, row->name);
	char clean[512], name[512], all[96], split[96];

	tier_split(row, all, sizeof(all));
	columns_fit(split, sizeof(split), all, SPLIT_COLUMNS, false);
	room = (width ? width : COLUMNS) - SHARES - 4 - columns_of(split);
	/* The end of a long name is shown, so skip what text_sanitise() would cut off otherwise. */
	full += strlen(full) > sizeof(clean) - 1 ? strlen(full) - (sizeof(clean) - 1) : 0;
	text_sanitise(clean, sizeof(clean), full, strlen(full));
	columns_fit(name, sizeof(name), clean, room > LEAST_NAME ? room : LEAST_NAME, true);
	fprintf(stderr, "%5.1f %% %5.1f %%  %s  (%s)\n", percent(row->self, f->samples),
		percent(row->total, f->samples), name, split);
}

static void print_hottest(const struct named_profile *np, const struct flat *f)
{
	if (f->n && f->rows[0].self)
		fprintf(stderr, "   self   total  hottest methods (self by kind in %%)\n");
	for (size_t i = 0; i < f->n && i < HOTTEST && f->rows[i].self; i++)
		print_method(np, f, &f->rows[i]);
}

static void print_files(const struct outputs *outs)
{
	for (size_t i = 0; i < outs->n; i++) {
		const char *path = outs->list[i].path;
		char clean[sizeof(outs->list[i].path)];

		text_sanitise(clean, sizeof(clean), path, strlen(path));
		if (strcmp(path, "-") != 0 && !outs->list[i].file) /* a file that is still open was left out */
			fprintf(stderr, "written: %s\n", clean);
	}
}

static void print_times(const char *what, const struct suspend_quantiles *q)
{
	if (q->n)
		say("jsampler: %s: p50 %.0f us, p99 %.0f us, max %.0f us of %" PRIu64, what, (double)q->p50_ns / 1e3,
		    (double)q->p99_ns / 1e3, (double)q->max_ns / 1e3, q->n);
}

static void print_suspend(const struct suspend_stats *s)
{
	say("jsampler: ticks %" PRIu64 " of %.3f ms, late %" PRIu64 ", skipped %" PRIu64, s->ticks,
	    (double)s->period_ns / 1e6, s->late, s->skipped);
	say("jsampler: threads stopped %" PRIu64 ", looked at without stopping %" PRIu64 ", not run since %" PRIu64
	    ", had another tracer %" PRIu64,
	    s->stops, s->looks, s->again, s->refused);
	say("jsampler: has run by registers %" PRIu64 ", by account only %" PRIu64, s->by_registers, s->by_account);
	print_times("pause of a thread", &s->pause);
	print_times("from asking to the stop", &s->stop);
	print_times("copy of registers and stack", &s->copy);
	print_times("first stop to last of a tick", &s->spread);
	say("jsampler: stopped late %" PRIu64 ", let go with a part of the stack %" PRIu64
	    "; calls made again in place of EINTR %" PRIu64 ", of these with a timeout begun anew %" PRIu64
	    "; EINTR left %" PRIu64,
	    s->late_stops, s->cut, s->rewound, s->lengthened, s->interrupted);
}

/* One fact per line, for -v and for scripts/bench. */
static void print_details(const struct session_summary *s)
{
	const struct profile_totals *t = &s->totals;
	struct rusage ru = {0};

	getrusage(RUSAGE_SELF, &ru);
	say("jsampler: samples %" PRIu64 ", lost %" PRIu64 ", complete %" PRIu64 ", resynchronised %" PRIu64
	    ", frozen %" PRIu64,
	    t->samples, s->engine.lost, t->complete, t->resynchronised, t->frozen);
	say("jsampler: samples with Java frames %" PRIu64 ", complete %" PRIu64, t->java, t->java_complete);
	say("jsampler: own CPU %.3f s (%.1f us/sample), peak memory %.1f MB", (double)s->own_cpu_ns / 1e9,
	    t->samples ? (double)s->own_cpu_ns / 1e3 / (double)t->samples : 0, (double)ru.ru_maxrss / 1024);
	say("jsampler: CPU time of the target %.3f s, samples x period %.3f s", (double)s->cpu_ns / 1e9,
	    (double)t->weight / 1e9);
	if (s->first_stack_ns)
		say("jsampler: first stack after %.0f ms", (double)s->first_stack_ns / 1e6);
	say("jsampler: %zu distinct stacks of %zu frames, %.1f MB", t->stacks, t->frames, (double)t->bytes / 1e6);
	say("jsampler: engine %s, %s, stack copy %u bytes, threads %u, throttled %" PRIu64, s->engine_name,
	    s->engine.attachment ? s->engine.attachment : "?", s->engine.stack_bytes, s->engine.threads,
	    s->engine.throttled);
	if (s->engine.suspend.ticks)
		print_suspend(&s->engine.suspend);
	for (int i = 0; i < WALK_ENDS; i++)
		if (t->ends[i])
			say("jsampler: walks that ended at %s: %" PRIu64, walk_end_name((enum walk_end)i), t->ends[i]);
}

void summary_print(const struct session_summary *s, const struct named_profile *np, const struct outputs *outs,
		   bool unfiltered, int verbose)
{
	struct flat f;

	print_samples(s);
	print_unsampled(s);
	print_children(s);
	print_notes(s);
	if (unfiltered)
		say("the target's data was parsed without a filter of system calls: none was accepted here");
	if (flat_build(np, &f) == 0) {
		print_kinds(&f);
		if (f.samples) /* filters may have dropped them all */
			print_exactness(&np->meta);
		print_hottest(np, &f);
		flat_done(&f);
	}
	if (verbose) {
		if (np->meta.period && named_is_time(&np->meta))
			say("jsampler: period %.6g ms", (double)np->meta.period / 1e6);
		print_exactness_details(&np->meta);
		print_details(s);
	}
	print_files(outs);
}
