#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/flat.h"
#include "sampler/output/share.h"
#include "sampler/output/writer.h"
#include "symbolizer/attribution/exactness.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/text.h"

/* 23 columns of numbers come before the name, and the split after it. */
enum { WIDTH = 80, SPLIT_WIDTH = 18, NAME_WIDTH = WIDTH - 23 - 2 - SPLIT_WIDTH };

/* Methods whose self and total shares are below this are summed up in one line at the end. */
static const double LEAST_PERCENT = 0.05;

/* "12.30 s" or "123456 cycles". */
static void put_amount(const struct named_meta *m, uint64_t weight, FILE *out)
{
	if (named_is_time(m))
		fprintf(out, "%.2f s", (double)weight / 1e9);
	else
		fprintf(out, "%" PRIu64 " %.40s", weight, m->event ? m->event : "");
}

/* Prints a field that may be long, wrapped to the width of the page after its label. */
static void put_field(FILE *out, const char *label, const char *s)
{
	enum { INDENT = 11 };
	char line[WIDTH];
	size_t left = s ? strlen(s) : 0, step = WIDTH - INDENT;

	for (bool first = true; left; first = false) {
		size_t n = left < step ? left : step;

		while (n > 1 && n < left && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--; /* do not cut within a character */
		text_sanitise(line, sizeof(line), s, n);
		fprintf(out, "%-*s%s\n", INDENT, first ? label : "", line);
		s += n;
		left -= n;
	}
}

static void put_time(const struct named_meta *m, FILE *out)
{
	char text[32];
	time_t start = (time_t)(m->start_realtime_ns / 1000000000);
	struct tm tm;

	fprintf(out, "%-11s%.1f s", "recorded", (double)m->duration_ns / 1e9);
	if (start && localtime_r(&start, &tm) && strftime(text, sizeof(text), "%F %T %z", &tm))
		fprintf(out, ", from %s", text);
	fputc('\n', out);
}

static void put_totals(const struct named_meta *m, const struct flat *f, FILE *out)
{
	fprintf(out, "%-11s%" PRIu64 ", ", "samples", f->samples);
	put_amount(m, f->weight, out);
	fprintf(out, "; lost %" PRIu64 "\n", m->lost);
	fprintf(out, "%-11s%.40s", "event", m->event ? m->event : "");
	if (m->period && named_is_time(m))
		fprintf(out, ", every %g ms", (double)m->period / 1e6);
	else if (m->period)
		fprintf(out, ", every %" PRIu64, m->period);
	fputc('\n', out);
	fprintf(out, "%-11scomplete %.2f %%", "stacks", share_percent(m->complete, f->samples));
	if (m->incomplete)
		fprintf(out, ", incomplete %" PRIu64, m->incomplete);
	if (m->resynchronised)
		fprintf(out, ", resynchronised %" PRIu64, m->resynchronised);
	if (m->frozen)
		fprintf(out, ", frozen %" PRIu64, m->frozen);
	fputc('\n', out);
}

static void put_kinds(const struct named_meta *m, const struct flat *f, FILE *out)
{
	fprintf(out, "\nself %%  %s by kind\n", named_is_time(m) ? "time" : "events");
	for (int k = 0; k < NAMED_KINDS; k++)
		if (f->self_by_kind[k])
			fprintf(out, "%6.2f  %s\n", share_percent(f->self_by_kind[k], f->samples),
				flat_kind_name((enum named_kind)k));
}

enum { MAX_STATES = 16 }; /* twice as many as exist; another tool's file may have any number */

struct state_row {
	uint32_t state; /* string id */
	uint64_t count;
};

/* For -e wall: what the threads were doing. */
static size_t count_states(const struct named_profile *np, struct state_row rows[MAX_STATES])
{
	size_t n = 0, i;

	for (uint32_t s = 0; s < np->n_samples; s++) {
		uint32_t state = np->samples[s].state;

		for (i = 0; i < n && rows[i].state != state; i++)
			;
		if (!state || i == MAX_STATES)
			continue;
		if (i == n)
			rows[n++] = (struct state_row){.state = state};
		rows[i].count += np->samples[s].count;
	}
	return n;
}

static int by_count(const void *a, const void *b)
{
	const struct state_row *x = a, *y = b;

	return descending(x->count, y->count) ?: ascending(x->state, y->state);
}

static void put_states(const struct named_profile *np, const struct flat *f, FILE *out)
{
	struct state_row rows[MAX_STATES];
	size_t n = count_states(np, rows);

	if (!n)
		return;
	qsort(rows, n, sizeof(rows[0]), by_count);
	fputs("\n     %  threads by state\n", out);
	for (size_t i = 0; i < n; i++) {
		const char *name = named_string(np, rows[i].state);
		char shown[WIDTH / 2 + 1];

		text_sanitise(shown, sizeof(shown), name, strlen(name));
		fprintf(out, "%6.2f  %s\n", share_percent(rows[i].count, f->samples), shown);
	}
}

static void put_exactness(const struct named_meta *m, FILE *out)
{
	uint64_t sure = m->exactness[EXACT] + m->exactness[EXACT_FLOW];
	uint64_t likely = m->exactness[EXACT_INFERRED] + m->exactness[EXACT_APPROXIMATE];

	if (!sure && !likely)
		return;
	fputs("\n     %  names in compiled code\n", out);
	fprintf(out, "%6.2f  sure\n%6.2f  likely\n", share_percent(sure, sure + likely),
		share_percent(likely, sure + likely));
}

/* "C2 61, inlined 39": how the method's own time was spent, largest first, as far as it fits. */
static void split_text(const struct flat_row *row, char *dst, size_t size)
{
	bool done[NAMED_KINDS] = {false};
	size_t len = 0;

	dst[0] = '\0';
	for (int pass = 0; pass < NAMED_KINDS; pass++) {
		char part[48];
		int best = -1, n;

		for (int k = 0; k < NAMED_KINDS; k++)
			if (!done[k] && row->self_by_kind[k] &&
			    (best < 0 || row->self_by_kind[k] > row->self_by_kind[best]))
				best = k;
		if (best < 0 || share_percent(row->self_by_kind[best], row->self) < 0.5)
			return;
		done[best] = true;
		n = snprintf(part, sizeof(part), "%s%s %.0f", len ? ", " : "", flat_kind_name((enum named_kind)best),
			     share_percent(row->self_by_kind[best], row->self));
		if (len + (size_t)n >= size)
			return;
		memcpy(dst + len, part, (size_t)n + 1);
		len += (size_t)n;
	}
}

/*
 * The name in at most NAME_WIDTH columns: a longer one is cut at its start, marked by "..", since
 * class and method are at its end. The text is in *b until that is reused; *ret: its width.
 */
static const char *fit_name(struct buf *b, const char *name, size_t *ret)
{
	size_t from = 2;

	buf_reset(b);
	buf_add_z(b, ".."); /* before the part that is dropped */
	buf_add_z(b, *name ? name : "[unknown]");
	if (b->failed) {
		*ret = 1;
		return "?";
	}
	b->len = 2 + text_sanitise(b->data + 2, b->len - 1, b->data + 2, b->len - 2);
	*ret = text_characters(b->data + 2, b->len - 2);
	if (*ret <= NAME_WIDTH)
		return b->data + 2;
	for (; *ret > NAME_WIDTH - 2; --*ret)
		do
			from++;
		while (((unsigned char)b->data[from] & 0xc0) == 0x80);
	*ret += 2;
	return memcpy(b->data + from - 2, "..", 2);
}

static void put_row(const struct named_profile *np, const struct flat_row *row, uint64_t samples, struct buf *b,
		    FILE *out)
{
	char split[SPLIT_WIDTH + 1];
	size_t columns;
	const char *name = fit_name(b, named_string(np, row->name), &columns);

	split_text(row, split, sizeof(split));
	fprintf(out, "%6.2f ±%5.2f %7.2f  %s", share_percent(row->self, samples), share_error(row->self, samples),
		share_percent(row->total, samples), name);
	if (*split)
		fprintf(out, "%*s  %s", (int)(NAME_WIDTH - columns), "", split);
	fputc('\n', out);
}

static void put_rows(const struct named_profile *np, const struct flat *f, FILE *out)
{
	struct buf b = {0};
	uint64_t rest = 0;
	size_t n_rest = 0;

	fprintf(out, "\nself %%  ±95%% total %%  %-*s  %s\n", NAME_WIDTH, "method", "self by kind in %");
	for (size_t i = 0; i < f->n; i++) {
		const struct flat_row *r = &f->rows[i];

		if (share_percent(r->self, f->samples) >= LEAST_PERCENT ||
		    share_percent(r->total, f->samples) >= LEAST_PERCENT) {
			put_row(np, r, f->samples, &b, out);
			continue;
		}
		rest += r->self;
		n_rest++;
	}
	buf_done(&b);
	if (n_rest)
		fprintf(out, "%6.2f ±%5.2f          (%zu methods under %.2f %%)\n", share_percent(rest, f->samples),
			share_error(rest, f->samples), n_rest, LEAST_PERCENT);
}

static void put_all(const struct named_profile *np, const struct flat *f, FILE *out)
{
	const struct named_meta *m = &np->meta;

	put_field(out, "command", m->command);
	put_field(out, "jdk", m->jdk);
	put_time(m, out);
	put_totals(m, f, out);
	if (!f->samples)
		return;
	put_states(np, f, out);
	put_kinds(m, f, out);
	put_exactness(m, out);
	put_rows(np, f, out);
}

static int text_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	struct flat f;
	int r = flat_build(np, &f);

	(void)o;
	if (r)
		return err_set(err, r, "out of memory");
	errno = 0;
	put_all(np, &f, out);
	flat_done(&f);
	return writer_end(out, 0, err);
}

const struct writer writer_text = {
	.name = "text",
	.endings = ".txt .text",
	.write = text_write,
};
