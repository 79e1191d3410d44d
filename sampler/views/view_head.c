#include "sampler/views/view_head.h"

#include <inttypes.h>
#include <string.h>

#include "symbolizer/base/json.h"

bool view_is_time(const struct named_meta *m)
{
	return m->unit && strcmp(m->unit, "nanoseconds") == 0;
}

double view_amount(const struct named_meta *m, uint64_t weight)
{
	return view_is_time(m) ? (double)weight / 1e9 : (double)weight;
}

struct view_sum view_sum(const struct named_profile *np)
{
	struct view_sum sum = {0};

	for (uint32_t i = 0; i < np->n_samples; i++) {
		sum.samples += np->samples[i].count;
		sum.weight += np->samples[i].weight;
	}
	return sum;
}

static void put_json_text(FILE *out, const char *key, const char *s)
{
	fprintf(out, "\"%s\":", key);
	json_put_text(out, s ? s : "", s ? strlen(s) : 0);
	fputc(',', out);
}

/* Bytes of allocations, say, of which nothing tells how many samples they are. */
static bool measured_alone(const struct named_meta *m, const struct view_sum *sum)
{
	static const char *const counts[] = {"", "count", "samples"};

	if (!m->unit || !m->event || view_is_time(m) || sum->weight != sum->samples)
		return false;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (strcmp(m->unit, counts[i]) == 0)
			return false;
	return strcmp(m->unit, m->event) != 0;
}

static void put_text(const struct named_meta *m, const struct view_sum *sum, FILE *out)
{
	struct buf b = {0};

	if (measured_alone(m, sum)) {
		fprintf(out, "%" PRIu64 " ", sum->weight);
		table_put_clean(out, &b, m->unit);
		fputs(" of ", out);
		table_put_clean(out, &b, m->event);
	} else {
		fprintf(out, "%" PRIu64 " sample%s", sum->samples, sum->samples == 1 ? "" : "s");
	}
	if (view_is_time(m)) {
		fprintf(out, ", %.2f s", (double)sum->weight / 1e9);
	} else if (sum->weight != sum->samples) {
		fprintf(out, ", %" PRIu64 " ", sum->weight);
		table_put_clean(out, &b, m->event ? m->event : "");
	}
	fputs("\n\n", out);
	buf_done(&b);
}

void view_head(const struct named_profile *np, const char *view, enum table_format format, FILE *out)
{
	struct view_sum sum = view_sum(np);

	if (format == TABLE_TEXT)
		put_text(&np->meta, &sum, out);
	if (format != TABLE_JSON)
		return;
	fputc('{', out);
	put_json_text(out, "view", view);
	put_json_text(out, "event", np->meta.event);
	put_json_text(out, "unit", np->meta.unit);
	fprintf(out, "\"samples\":%" PRIu64 ",\"weight\":%" PRIu64 ",\n", sum.samples, sum.weight);
}

void view_foot(enum table_format format, FILE *out)
{
	if (format == TABLE_JSON)
		fputs("}\n", out);
}

void view_more(FILE *out, enum table_format format, uint64_t n, double percent)
{
	if (n && format == TABLE_TEXT)
		fprintf(out, "and %" PRIu64 " more with %.2f %% of the samples (-n 0 shows all)\n", n,
			percent);
}
