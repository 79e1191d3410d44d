#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sampler/output/flat.h"
#include "sampler/output/share.h"
#include "sampler/views/frames.h"
#include "sampler/views/tiers.h"
#include "sampler/views/view.h"
#include "sampler/views/view_head.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* Profiles without levels use the column for C1 without a level. */
enum { FIRST_TIER = 4, C1_COLUMN = FIRST_TIER + TIER_C1, AMOUNTS_END = FIRST_TIER + TIERS + 1 };

static const struct table_column columns[] = {
	{NULL, "self", 9, 2},
	{"self_percent", "self %", 7, 2},
	{"self", NULL, 0, 0},
	{"self_weight", NULL, 0, 0},
	{"interpreted", "interp", 8, 2},
	{"c1", NULL, 8, 2},
	{"c1_level_1", "C1:1", 8, 2},
	{"c1_level_2", "C1:2", 8, 2},
	{"c1_level_3", "C1:3", 8, 2},
	{"c2", "C2", 8, 2},
	{"inlined", "inlined", 8, 2},
	{"osr", "of it OSR", 9, 2},
	{"first_c1_ms", NULL, 0, 0},
	{"first_c2_ms", NULL, 0, 0},
	{"not_entrant", NULL, 0, 0},
	{"why_interpreted", NULL, 0, 0},
	{"method", " method", 0, 0},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

struct printing {
	const struct named_profile *np;
	const struct tiers *tiers;
	struct table_column columns[COLUMNS];
	struct table t;
	struct buf scratch;
};

/* Times in text, samples elsewhere; "-" for none is easier to skip. */
static void put_amount(struct printing *p, uint64_t samples, uint64_t weight)
{
	if (p->t.format != TABLE_TEXT)
		table_count(&p->t, samples);
	else if (weight)
		table_number(&p->t, view_amount(&p->np->meta, weight));
	else
		table_null(&p->t);
}

static void put_row(struct printing *p, const struct tier_row *r)
{
	put_amount(p, r->self, r->self_weight);
	table_number(&p->t, share_percent(r->self, p->tiers->samples));
	table_count(&p->t, r->self);
	table_count(&p->t, r->self_weight);
	for (int k = 0; k < TIERS; k++)
		put_amount(p, r->samples[k], r->weight[k]);
	put_amount(p, r->osr, r->osr_weight);
	table_count(&p->t, r->compile.c1_ms);
	table_count(&p->t, r->compile.c2_ms);
	table_count(&p->t, r->compile.not_entrant);
	table_text(&p->t, named_string(p->np, r->compile.why_interpreted));
	table_text(&p->t, frame_name_text(p->np, r->name));
}

/* Printed below a row of text: why the method is interpreted, and which code was discarded. */
static void put_notes(struct printing *p, const struct tier_row *r)
{
	const char *why = named_string(p->np, r->compile.why_interpreted);

	buf_reset(&p->scratch);
	buf_printf(&p->scratch, "interpreted: %s", why);
	if (*why && r->samples[TIER_INTERPRETED] && !p->scratch.failed)
		table_note(&p->t, p->scratch.data);
	buf_reset(&p->scratch);
	buf_printf(&p->scratch, "compiled code made not entrant: %" PRIu32, r->compile.not_entrant);
	if (r->compile.not_entrant && !p->scratch.failed)
		table_note(&p->t, p->scratch.data);
}

static void put_json_totals(const struct printing *p, struct json *json)
{
	json_line(json);
	json_member_open(json, "totals", '{');
	json_member_open(json, "java", '{');
	for (int k = 0; k < TIERS; k++)
		json_member_uint(json, columns[FIRST_TIER + k].key, p->tiers->all.samples[k]);
	json_member_uint(json, "osr", p->tiers->all.osr);
	json_close(json, '}');
	json_member_open(json, "other", '{');
	for (int k = 0; k < NAMED_KINDS; k++)
		if (p->tiers->other[k])
			json_member_uint(json, flat_kind_name((enum named_kind)k), p->tiers->other[k]);
	json_close(json, '}');
	json_close(json, '}');
}

static void put_total_line(const struct printing *p, const char *what, uint64_t samples, uint64_t weight)
{
	const struct named_meta *m = &p->np->meta;

	if (samples)
		fprintf(p->t.out, "%9.*f %7.2f  %s\n", named_is_time(m) ? 2 : 0, view_amount(m, weight),
			share_percent(samples, p->tiers->samples), what);
}

static void put_text_totals(const struct printing *p)
{
	const struct tiers *t = p->tiers;

	fprintf(p->t.out, "%9s %7s  the program\n", named_is_time(&p->np->meta) ? "seconds" : "amount", "%");
	for (int k = 0; k < TIERS; k++)
		put_total_line(p, tier_name((enum tier)k), t->all.samples[k], t->all.weight[k]);
	for (int k = 0; k < NAMED_KINDS; k++)
		put_total_line(p, flat_kind_name((enum named_kind)k), t->other[k], t->other_weight[k]);
	put_total_line(p, "(of all, entered in the middle of a loop: OSR)", t->all.osr, t->all.osr_weight);
	fputc('\n', p->t.out);
}

static void begin(struct printing *p, const struct view_options *o, struct json *json)
{
	memcpy(p->columns, columns, sizeof(columns));
	if (p->tiers->all.samples[TIER_C1])
		p->columns[C1_COLUMN].title = "C1";
	for (int i = FIRST_TIER; i < AMOUNTS_END; i++)
		p->columns[i].decimals = named_is_time(&p->np->meta) ? 2 : 0;
	p->columns[0].decimals = p->columns[FIRST_TIER].decimals;
	p->t = (struct table){.out = json->out, .format = o->format};
	view_head(p->np, "tiers", o->format, json);
	if (o->format == TABLE_JSON)
		put_json_totals(p, json);
	if (o->format == TABLE_TEXT)
		put_text_totals(p);
	table_begin(&p->t, json, o->format, o->width, p->columns, COLUMNS);
}

int view_tiers(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err)
{
	CLEANUP(tiers_done) struct tiers tiers = {0};
	struct printing p = {.np = np, .tiers = &tiers};
	struct json json = {.out = out};
	uint64_t rest = 0;
	size_t n;

	if (tiers_build(np, &tiers) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	n = o->rows && o->rows < tiers.n ? o->rows : tiers.n;
	begin(&p, o, &json);
	for (size_t i = 0; i < n; i++) {
		put_row(&p, &tiers.rows[i]);
		put_notes(&p, &tiers.rows[i]);
	}
	table_end(&p.t);
	for (size_t i = n; i < tiers.n; i++)
		rest += tiers.rows[i].self;
	view_more(out, o->format, tiers.n - n, share_percent(rest, tiers.samples));
	view_foot(o->format, &json);
	buf_done(&p.scratch);
	return 0;
}
