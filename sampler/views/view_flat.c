#include <errno.h>

#include "sampler/output/flat.h"
#include "sampler/output/share.h"
#include "sampler/views/frames.h"
#include "sampler/views/view.h"
#include "sampler/views/view_head.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

static const struct table_column columns[] = {
	{"self", "self", 10, 0},     {"self_percent", "self %", 7, 2},   {"error_percent", "±95%", 6, 2},
	{"total", "total", 10, 0},   {"total_percent", "total %", 7, 2}, {"total_error_percent", NULL, 0, 0},
	{"self_weight", NULL, 0, 0}, {"total_weight", NULL, 0, 0},       {"kind", " kind", -12, 0},
	{"method", "method", 0, 0},
};

/* How most of the method's own samples ran. */
static const char *main_kind(const struct flat_row *r)
{
	int best = 0;

	for (int k = 1; k < NAMED_KINDS; k++)
		if (r->self_by_kind[k] > r->self_by_kind[best])
			best = k;
	return r->self ? flat_kind_name((enum named_kind)best) : "";
}

static void put_row(struct table *t, const struct named_profile *np, const struct flat *f, const struct flat_row *r)
{
	table_count(t, r->self);
	table_number(t, share_percent(r->self, f->samples));
	table_number(t, share_error(r->self, f->samples));
	table_count(t, r->total);
	table_number(t, share_percent(r->total, f->samples));
	table_number(t, share_error(r->total, f->samples));
	table_count(t, r->self_weight);
	table_count(t, r->total_weight);
	table_text(t, main_kind(r));
	table_text(t, frame_name_text(np, r->name));
}

int view_flat(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err)
{
	CLEANUP(flat_done) struct flat f = {0};
	struct json json = {.out = out};
	struct table t;
	uint64_t rest = 0;
	size_t n;

	if (flat_build(np, &f) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	n = o->rows && o->rows < f.n ? o->rows : f.n;
	view_head(np, "flat", o->format, &json);
	table_begin(&t, &json, o->format, o->width, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < n; i++)
		put_row(&t, np, &f, &f.rows[i]);
	table_end(&t);
	for (size_t i = n; i < f.n; i++)
		rest += f.rows[i].self;
	view_more(out, o->format, f.n - n, share_percent(rest, f.samples));
	view_foot(o->format, &json);
	return 0;
}
