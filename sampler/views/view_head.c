#include "sampler/views/view_head.h"

#include <inttypes.h>
#include <string.h>

double view_amount(const struct named_meta *m, uint64_t weight)
{
	return named_is_time(m) ? (double)weight / 1e9 : (double)weight;
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

/* Weights such as allocated bytes do not tell the number of samples. */
static bool measured_alone(const struct named_meta *m, const struct view_sum *sum)
{
	static const char *const counts[] = {"", "count", "samples"};

	if (!m->unit || !m->event || named_is_time(m) || sum->weight != sum->samples)
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
	if (named_is_time(m)) {
		fprintf(out, ", %.2f s", (double)sum->weight / 1e9);
	} else if (sum->weight != sum->samples) {
		fprintf(out, ", %" PRIu64 " ", sum->weight);
		table_put_clean(out, &b, m->event ? m->event : "");
	}
	fputs("\n\n", out);
	buf_done(&b);
}

void view_head(const struct named_profile *np, const char *view, enum table_format format, struct json *json)
{
	struct view_sum sum = view_sum(np);

	if (format == TABLE_TEXT)
		put_text(&np->meta, &sum, json->out);
	if (format != TABLE_JSON)
		return;
	json_open(json, '{');
	json_member_text(json, "view", view);
	json_member_text(json, "event", np->meta.event);
	json_member_text(json, "unit", np->meta.unit);
	json_member_uint(json, "samples", sum.samples);
	json_member_uint(json, "weight", sum.weight);
}

void view_foot(enum table_format format, struct json *json)
{
	if (format != TABLE_JSON)
		return;
	json_close(json, '}');
	fputc('\n', json->out);
}

void view_more(FILE *out, enum table_format format, uint64_t n, double percent)
{
	if (n && format == TABLE_TEXT)
		fprintf(out, "and %" PRIu64 " more with %.2f %% of the samples (-n 0 shows all)\n", n, percent);
}
