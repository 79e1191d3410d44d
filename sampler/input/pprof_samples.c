#include <inttypes.h>
#include <string.h>

#include "sampler/input/pprof_parse.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"

/* Sample types and samples. */

enum pprof_label pprof_label_of(const char *text, size_t len)
{
	static const char *const keys[] = {
		[LABEL_PID] = "pid",     [LABEL_TID] = "tid",     [LABEL_THREAD] = "thread",
		[LABEL_STATE] = "state", [LABEL_SLICE] = "slice",
	};

	for (int k = LABEL_PID; k <= LABEL_SLICE; k++)
		if (strlen(keys[k]) == len && !memcmp(keys[k], text, len))
			return k;
	return LABEL_OTHER;
}

static bool text_is(const struct pprof_run *r, int64_t index, const char *text)
{
	const struct pprof_text *t;

	if (index < 0 || (uint64_t)index >= r->texts.n)
		return false;
	t = &r->texts.v[index];
	return t->len == strlen(text) && !memcmp(t->s, text, t->len);
}

static bool counts(const struct pprof_run *r, size_t type)
{
	int64_t unit = r->types.v[2 * type + 1];

	return text_is(r, unit, "count") || text_is(r, unit, "samples");
}

static void choose_types(struct pprof_run *r)
{
	r->weight_at = r->n_types - 1;
	for (size_t i = 0; i < r->n_types && r->default_type > 0; i++)
		if (r->types.v[2 * i] == r->default_type)
			r->weight_at = i;
	r->count_at = r->weight_at;
	if (counts(r, r->weight_at))
		return;
	for (size_t i = r->weight_at; i-- > 0;) {
		if (!counts(r, i))
			continue;
		r->count_at = i;
		break;
	}
}

int pprof_set_types(struct pprof_run *r)
{
	struct named_meta *m = named_builder_meta(r->b);
	uint32_t event, unit;

	r->what = "sample type";
	r->number = r->n_types;
	m->event = named_builder_keep(r->b, "samples");
	m->unit = named_builder_keep(r->b, "count");
	m->period = r->period > 0 ? (uint64_t)r->period : 0;
	if (!r->n_types)
		return 0;
	choose_types(r);
	event = pprof_string(r, r->types.v[2 * r->weight_at]);
	if (event == UINT32_MAX)
		return r->err->code;
	unit = pprof_string(r, r->types.v[2 * r->weight_at + 1]);
	if (unit == UINT32_MAX)
		return r->err->code;
	m->event = named_builder_text(r->b, event);
	m->unit = named_builder_text(r->b, unit);
	return 0;
}

static int take_label(struct pprof_run *r, const Pprof__Label *l, struct named_sample *s)
{
	uint32_t text = 0;

	if (l->key < 0 || (uint64_t)l->key >= r->texts.n)
		return pprof_bad(r, "text %" PRId64 " of %zu", l->key, r->texts.n);
	if (l->str && (text = pprof_string(r, l->str)) == UINT32_MAX)
		return r->err->code;
	switch (r->texts.v[l->key].label) {
	case LABEL_PID: s->pid = l->num > 0 && l->num <= INT32_MAX ? l->num : 0; break;
	case LABEL_TID: s->tid = l->num > 0 && l->num <= INT32_MAX ? l->num : 0; break;
	case LABEL_THREAD: s->thread = text; break;
	case LABEL_STATE: s->state = text; break;
	case LABEL_SLICE: s->slice = l->num > 0 && l->num < UINT32_MAX ? l->num : 0; break;
	}
	return 0;
}

static int take_values(struct pprof_run *r, const Pprof__Sample *s, struct named_sample *ret)
{
	int64_t count, weight;

	if (s->n_value != r->n_types || !r->n_types)
		return pprof_bad(r, "%zu values for %zu sample types", s->n_value, r->n_types);
	count = s->value[r->count_at];
	weight = s->value[r->weight_at];
	if (count < 0 || weight < 0)
		return pprof_bad(r, "a negative value; is this a difference of profiles?");
	if (r->count_at == r->weight_at && r->period > 1 && !counts(r, r->weight_at) && weight) {
		count = weight / r->period + (weight % r->period >= (r->period + 1) / 2);
		count = count ? count : 1;
	}
	r->count += count;
	r->weight += weight;
	if (r->count > INT64_MAX || r->weight > INT64_MAX)
		return pprof_bad(r, "the values add up to more than 2^63");
	ret->count = count;
	ret->weight = weight;
	return 0;
}

static int take_stack(struct pprof_run *r, const Pprof__Sample *s, struct named_sample *ret)
{
	r->stack.n = 0;
	for (size_t i = 0; i < s->n_location_id; i++) {
		const uint32_t *at = pprof_ids_find(&r->location_ids, s->location_id[i]);

		if (!at)
			return pprof_bad(r, "there is no location %" PRIu64, s->location_id[i]);
		if (!vec_push(&r->stack, *at))
			return pprof_no_memory(r);
	}
	/* Every sample gets a frame, so that all views show it. */
	if (!r->stack.n) {
		uint32_t unknown;
		int rc = pprof_unknown_location(r, &unknown);

		if (rc || !vec_push(&r->stack, unknown))
			return rc ? rc : pprof_no_memory(r);
	}
	ret->stack = named_builder_stack(r->b, r->stack.v, r->stack.n);
	return ret->stack == UINT32_MAX ? pprof_no_memory(r) : 0;
}

int pprof_add_sample(struct pprof_run *r, const Pprof__Sample *s)
{
	struct named_sample to = {0};
	int rc = take_values(r, s, &to);

	if (rc || (!to.count && !to.weight))
		return rc;
	if ((rc = take_stack(r, s, &to)))
		return rc;
	for (size_t i = 0; i < s->n_label && !rc; i++)
		rc = take_label(r, s->label[i], &to);
	if (rc)
		return rc;
	return named_builder_sample(r->b, &to) == UINT32_MAX ? pprof_no_memory(r) : 0;
}
