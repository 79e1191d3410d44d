#include "sampler/store/day/day_add.h"

#include <ctype.h>
#include <errno.h>

#include "sampler/model/named_profile.h"
#include "sampler/store/day/day.h"
#include "sampler/store/day/day_names.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/stacks_in.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

struct adding {
	struct day *day;
	struct stacks_in in;
};

static void adding_done(struct adding *a)
{
	stacks_in_done(&a->in);
}

/* "http-nio-8080-exec-12" -> "http-nio-#-exec-#": threads of a pool are counted together. */
static void pool_name(const char *thread, char *dst, size_t size)
{
	size_t n = 0;

	for (const char *p = thread; *p && n + 1 < size; p++)
		if (!isdigit((unsigned char)*p))
			dst[n++] = *p;
		else if (!n || dst[n - 1] != '#')
			dst[n++] = '#';
	dst[n] = '\0';
}

static uint32_t label_id(struct adding *a, const struct named_sample *s)
{
	char pool[256];
	uint32_t row[2];

	pool_name(named_string(a->in.np, s->thread), pool, sizeof(pool));
	row[0] = dictionary_string(a->day->dict, pool);
	row[1] = stacks_in_text(&a->in, s->state);
	if (row[0] == UINT32_MAX || row[1] == UINT32_MAX)
		return UINT32_MAX;
	return dictionary_id(a->day->dict, DICT_LABELS, row);
}

static int count_samples(struct adding *a, struct bucket *b)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < a->in.np->n_samples; i++) {
		const struct named_sample *s = &a->in.np->samples[i];
		uint32_t node = stacks_in_node(&a->in, s->stack), label = label_id(a, s);

		r = node == UINT32_MAX || label == UINT32_MAX ? -ENOMEM :
								bucket_count(b, node, label, s->count, s->weight);
	}
	return r;
}

static void add_sums(const struct named_meta *m, struct bucket *b)
{
	b->sums[SUM_LOST] += m->lost;
	b->sums[SUM_COMPLETE] += m->complete;
	b->sums[SUM_RESYNCHRONISED] += m->resynchronised;
	b->sums[SUM_INCOMPLETE] += m->incomplete;
	b->sums[SUM_FROZEN] += m->frozen;
	b->sums[SUM_NO_RECORD] += m->no_record;
	for (int i = 0; i < 4; i++)
		b->sums[SUM_EXACTNESS + i] += m->exactness[i];
}

/* Times in a profile count from the start of sampling, those in the file from 1970. */
static int64_t since_epoch(uint64_t since_ns, uint32_t ms)
{
	return ms ? (int64_t)(since_ns / 1000000 + ms) : 0;
}

static int add_notes(struct adding *a, const struct store_target *t, int64_t target, struct err *err)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < a->in.np->n_functions; i++) {
		const struct named_compile *c = &a->in.np->functions[i].compile;
		int64_t why = stacks_in_text(&a->in, c->why_interpreted), function;

		if (!c->why_interpreted && !c->c1_ms && !c->c2_ms && !c->not_entrant)
			continue;
		function = stacks_in_function(&a->in, i);
		if (function == UINT32_MAX || why == UINT32_MAX)
			return err_set(err, -ENOMEM, "out of memory");
		if (dictionary_is_left_out(a->day->dict, (uint32_t)function))
			continue;
		r = day_step(a->day,
			     day_statement(a->day, DAY_NOTE,
					   (int64_t[]){target, function, why, since_epoch(t->since_ns, c->c1_ms),
						       since_epoch(t->since_ns, c->c2_ms), c->not_entrant},
					   6),
			     err);
	}
	return r;
}

static int add(struct day *d, const struct store_target *t, int64_t target, int64_t at, const struct named_profile *np,
	       struct err *err)
{
	CLEANUP(bucket_done) struct bucket b = {0};
	CLEANUP(adding_done)
	struct adding a = {.day = d};
	int64_t event;
	int r;

	if (stacks_in_begin(&a.in, d->dict, np) < 0 || (event = stacks_in_event(&a.in)) == UINT32_MAX)
		return err_set(err, -ENOMEM, "out of memory");
	r = day_get_bucket(d, at, target, event, &b, err);
	if (r < 0)
		return r;
	bucket_period(&b, np->meta.period);
	add_sums(&np->meta, &b);
	if (count_samples(&a, &b) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = day_put_bucket(d, at, target, event, &b, err);
	return r < 0 ? r : add_notes(&a, t, target, err);
}

int day_add_profile(struct day *d, const struct store_target *t, int64_t at, const struct named_profile *np,
		    bool *ret_left_out, struct err *err)
{
	int64_t target = 0;
	int r = day_target(d, t, &target, err);

	if (r < 0)
		return r;
	day_period(d, at);
	r = day_names_begin(d, target, err);
	if (r < 0)
		return r;
	r = add(d, t, target, at, np, err);
	*ret_left_out = day_names_end(d, target);
	return r;
}

int day_add_happening(struct day *d, const struct store_target *t, uint64_t at_ns, const char *kind, const char *text,
		      struct err *err)
{
	int64_t target = 0;
	int r = t ? day_target(d, t, &target, err) : 0;
	sqlite3_stmt *s;

	if (r < 0)
		return r;
	s = day_statement(d, DAY_ADD_HAPPENING, (int64_t[]){(int64_t)at_ns, target}, 2);
	if (!s || sqlite3_bind_text(s, 3, kind, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_bind_text(s, 4, text, -1, SQLITE_STATIC) != SQLITE_OK)
		return day_failed(d, err);
	return day_step(d, s, err);
}
