#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/named_builder.h"
#include "sampler/store/day/day.h"
#include "sampler/store/day/day_list.h"
#include "sampler/store/day/day_read.h"
#include "sampler/store/day/series.h"
#include "sampler/store/stacks/samples.h"
#include "sampler/store/store.h"
#include "sampler/store/store_files.h"
#include "sampler/store/store_series.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

struct view_day {
	struct day *day;
	VEC(int64_t) waiting; /* start times of the next wider step that are not in its file yet */
};

struct store_view {
	struct store_query q;
	VEC(struct view_day) days;
	bool any; /* some file exists, of whatever time */
	bool threads; /* a second one may read half of the files */
	/* Where samples go: one of these. */
	struct samples *samples;
	struct store_list *list;
	struct series *series;
};

static void store_view_close_at_exit(struct store_view **v)
{
	store_view_close(*v);
}

void store_view_close(struct store_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->days.n; i++) {
		day_close(v->days.v[i].day);
		vec_done(&v->days.v[i].waiting);
	}
	vec_done(&v->days);
	free(v);
}

static int64_t seconds(uint64_t ns)
{
	return (int64_t)(ns / 1000000000);
}

static int read_waiting(struct view_day *d, struct err *err)
{
	sqlite3_stmt *s = day_statement(d->day, DAY_WAITING, (int64_t[]){0, INT64_MAX}, 2);
	int r;

	while ((r = day_step(d->day, s, err)) > 0)
		if (!vec_push(&d->waiting, sqlite3_column_int64(s, 0)))
			return err_set(err, -ENOMEM, "out of memory");
	return r;
}

static int add_day(struct store_view *v, const char *dir, struct day_id id, struct err *err)
{
	struct view_day d = {0};
	struct err e = {0};
	int r = day_open(dir, id, DAY_READS, &d.day, &e);

	if (r == 0)
		r = read_waiting(&d, &e);
	if (r == 0 && vec_push(&v->days, d))
		return 0;
	day_close(d.day);
	vec_done(&d.waiting);
	if (r == 0 || r == -ENOMEM)
		return err_set(err, -ENOMEM, "out of memory");
	if (r != -ENOENT) /* removed since, or just made */
		log_warn("'%s': %s; left out", dir, e.msg);
	return 0;
}

static bool is_in_range(const struct store_query *q, const struct store_file *f)
{
	return !f->aside && f->id.date >= seconds(q->from_ns) / DAY_S && q->to_ns &&
	       f->id.date <= seconds(q->to_ns - 1) / DAY_S;
}

int store_view_open(const char *dir, const struct store_query *q, struct store_view **ret, struct err *err)
{
	CLEANUP(store_view_close_at_exit) struct store_view *v = calloc(1, sizeof(*v));
	store_file_list files = {0};
	int r = v ? store_files(dir, &files) : -ENOMEM;

	if (r < 0) {
		vec_done(&files);
		return err_set(err, r, "cannot read the history in '%.300s': %s", dir, strerror(-r));
	}
	v->q = *q;
	v->any = files.n;
	for (size_t i = 0; r == 0 && i < files.n; i++)
		if (is_in_range(q, &files.v[i]))
			r = add_day(v, dir, files.v[i].id, err);
	vec_done(&files);
	if (r == 0)
		*ret = take_ptr(v);
	return r;
}

static struct view_day *find_day(struct store_view *v, struct day_id id)
{
	for (size_t i = 0; i < v->days.n; i++) {
		struct day *d = v->days.v[i].day;

		if (d->id.date == id.date && d->id.step == id.step)
			return &v->days.v[i];
	}
	return NULL;
}

/* Has the data of that step in [from, to) not been added up from the finer steps yet? */
static bool waits(struct store_view *v, struct day_id id, int64_t from, int64_t to)
{
	for (unsigned step = 0; step < id.step; step++) {
		const struct view_day *d = find_day(v, (struct day_id){id.date, step});

		for (size_t i = 0; d && i < d->waiting.n; i++)
			if (d->waiting.v[i] >= from && d->waiting.v[i] < to)
				return true;
	}
	return false;
}

static int read_day(struct store_view *v, struct view_day *d, int64_t from, int64_t to, struct err *err)
{
	struct err e = {0};
	int r = v->series ? series_add_day(v->series, d->day, from, to, &e) :
		v->list   ? day_list(d->day, &v->q, from, to, v->list, &e) :
			    day_read(d->day, &v->q, from, to, v->samples, &e);

	if (r == -ETIME)
		return err_set(err, r, "%s", e.msg);
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (r < 0)
		log_warn("%s; what it has from then on is left out", e.msg);
	return 0;
}

static int read_span(struct store_view *v, struct day_id id, int64_t from, int64_t to, struct err *err);

static bool has_bucket(struct store_view *v, struct day_id id, int64_t at)
{
	const struct view_day *d = find_day(v, id);
	struct err ignored = {0};
	sqlite3_stmt *s;
	bool has;

	if (!d)
		return false;
	s = day_statement(d->day, DAY_FIND_BUCKETS, (int64_t[]){at, at + day_steps[id.step].seconds}, 2);
	has = day_step(d->day, s, &ignored) > 0;
	sqlite3_reset(s);
	return has;
}

enum { SHORT_S = 7200 };

/*
 * For a short range, finer steps are read though there are more of them: the nodes of their stacks are closer together in
 * the file, as no stack is remembered for longer (day_steps[].remembered_s), and reading nodes takes most of the time. But a
 * finer file may have been lost, and begun anew later; then it has nothing of when the wider step began.
 */
static bool prefers_finer(struct store_view *v, struct day_id id, int64_t at)
{
	int64_t range = seconds(v->q.to_ns - v->q.from_ns);

	while (id.step-- > 0 && range <= SHORT_S)
		if (has_bucket(v, id, at))
			return true;
	return false;
}

/* [from, to) lies within one step of id: should the bucket of the whole step be read? */
static bool takes_whole(struct store_view *v, struct day_id id, int64_t at, int64_t from, int64_t to)
{
	int64_t end = at + day_steps[id.step].seconds;
	bool finer = false;

	for (unsigned step = 0; step < id.step; step++)
		finer |= find_day(v, (struct day_id){id.date, step}) != NULL;
	if (!find_day(v, id) || (finer && v->series && day_steps[id.step].seconds > v->series->q->step_s))
		return false;
	if (prefers_finer(v, id, at))
		return false;
	return !id.step || !finer || (from == at && to == end && !waits(v, id, at, end));
}

static int read_part(struct store_view *v, struct day_id id, bool whole, int64_t from, int64_t to, struct err *err)
{
	int64_t width = day_steps[id.step].seconds;

	if (whole)
		return read_day(v, find_day(v, id), from - from % width, to, err);
	return id.step ? read_span(v, (struct day_id){id.date, id.step - 1}, from, to, err) : 0;
}

/*
 * Reads part of one day: from this step's buckets where they are complete and inside the range, or where there is no
 * finer step; elsewhere from the finer steps. So each moment is counted once.
 */
static int read_span(struct store_view *v, struct day_id id, int64_t from, int64_t to, struct err *err)
{
	int64_t width = day_steps[id.step].seconds, begin = from;
	bool whole = false;
	int r = 0;

	for (int64_t at = from; r == 0 && at < to;) {
		int64_t end = at - at % width + width;
		bool now;

		end = end < to ? end : to;
		now = takes_whole(v, id, at - at % width, at, end);
		if (at > begin && now != whole) {
			r = read_part(v, id, whole, begin, at, err);
			begin = at;
		}
		whole = now;
		at = end;
	}
	return r < 0 || begin >= to ? r : read_part(v, id, whole, begin, to, err);
}

static int read_date(struct store_view *v, int64_t date, struct err *err)
{
	int64_t from = seconds(v->q.from_ns), to = seconds(v->q.to_ns + 999999999);
	int64_t begin = date * DAY_S, end = begin + DAY_S;

	return read_span(v, (struct day_id){date, STORE_STEPS - 1}, from > begin ? from : begin, to < end ? to : end,
			 err);
}

static int say_nothing(const struct store_view *v, struct err *err)
{
	if (!v->any)
		return err_set(err, -ENODATA, "there is no history yet");
	if (!v->days.n)
		return err_set(err, -ENODATA, "there is no history of that time");
	if (!v->samples->of.targets)
		return err_set(err, -ENODATA, "no sampled program matches these labels");
	return err_set(err, -ENODATA, "there are no samples of that time");
}

/* The first date after `done`; INT64_MAX: there is none. */
static int64_t next_date(const struct store_view *v, int64_t done)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < v->days.n; i++) {
		int64_t date = v->days.v[i].day->id.date;

		if (date > done && date < next)
			next = date;
	}
	return next;
}

/* Dates after `done`, before `end`: of the files, since a range may be of any length. */
static int read_dates(struct store_view *v, int64_t done, int64_t end, struct err *err)
{
	int r = 0;

	while (r == 0 && (done = next_date(v, done)) < end)
		r = read_date(v, done, err);
	return r;
}

static int read_all(struct store_view *v, struct err *err)
{
	return read_dates(v, INT64_MIN, INT64_MAX, err);
}

int store_view_targets(struct store_view *v, size_t max, store_row_fn *row, void *ctx, struct err *err)
{
	struct store_list list = {.max = max};
	int r;

	v->list = &list;
	r = read_all(v, err);
	v->list = NULL;
	for (size_t i = 0; r == 0 && i < list.rows.n; i++)
		r = row(ctx, &list.rows.v[i]);
	store_list_done(&list);
	return r;
}

int store_view_series(struct store_view *v, const struct store_series_query *q, struct store_series **ret,
		      struct err *err)
{
	struct series *s = NULL;
	int r = series_begin(&v->q, q, &s, err);

	if (r < 0)
		return r;
	v->series = s;
	r = read_all(v, err);
	v->series = NULL;
	if (r < 0) {
		store_series_free(&s->pub);
		return r;
	}
	series_end(s);
	*ret = &s->pub;
	return 0;
}

int store_view_happenings(struct store_view *v, store_happening_fn *happening, void *ctx, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->days.n; i++)
		if (v->days.v[i].day->id.step == STORE_STEPS - 1)
			r = day_list_happenings(v->days.v[i].day, &v->q, happening, ctx, err);
	return r;
}

static int name_samples(struct store_view *v, struct samples *s, struct named_profile **ret, struct err *err)
{
	struct named_builder *b = named_builder_new();
	int r = b ? samples_name(s, b) : -ENOMEM;

	if (s->left_out)
		log_warn("%" PRIu64 " samples are left out and count as lost: the stacks of that time have more than "
			 "%d frames; choose a shorter time, or fewer labels",
			 s->left_out, SAMPLES_FRAMES_MAX);
	if (r == 0) {
		named_builder_meta(b)->event = named_builder_keep(b, v->q.event);
		*ret = named_builder_take(take_ptr(b));
	}
	named_builder_free(b);
	return r == 0 && *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* --- in two threads --- */

/* Files before a date, which nothing else reads meanwhile. */
struct half {
	struct store_view v; /* a copy, with its own samples */
	int64_t end;
	struct samples samples;
	struct err err;
	int r;
};

static void *read_half(void *ctx)
{
	struct half *h = ctx;

	h->r = read_dates(&h->v, INT64_MIN, h->end, &h->err);
	return NULL;
}

/* The date in the middle; INT64_MIN: there are few. */
static int64_t middle_date(const struct store_view *v)
{
	enum { FEW = 4 };
	int64_t date = INT64_MIN;
	size_t n = 0;

	while ((date = next_date(v, date)) != INT64_MAX)
		n++;
	for (size_t i = 0; n >= FEW && i <= n / 2; i++)
		date = next_date(v, i ? date : INT64_MIN);
	return n >= FEW ? date : INT64_MIN;
}

/* Both halves take about the same time, and what they have in common is little to add up. */
static int read_halves(struct store_view *v, struct err *err)
{
	struct half h = {.v = *v, .end = middle_date(v)};
	pthread_t thread;
	int r = 0;

	if (!v->threads || h.end == INT64_MIN)
		return read_all(v, err);
	h.v.samples = &h.samples;
	if (samples_begin(&h.samples, v->samples->base_s) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (pthread_create(&thread, NULL, read_half, &h) == 0) {
		r = read_dates(v, h.end - 1, INT64_MAX, err);
		pthread_join(thread, NULL);
	} else {
		r = read_all(v, err);
	}
	if (r == 0 && h.r < 0)
		r = err_set(err, h.r, "%s", h.err.msg);
	if (r == 0 && samples_merge(v->samples, &h.samples) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	samples_done(&h.samples);
	return r;
}

void store_view_use_threads(struct store_view *v)
{
	v->threads = true;
}

int store_view_read(struct store_view *v, struct named_profile **ret, struct err *err)
{
	CLEANUP(samples_done) struct samples s;
	int64_t first = next_date(v, INT64_MIN);
	int r;

	if (samples_begin(&s, first == INT64_MAX ? 0 : first * DAY_S) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	v->samples = &s;
	r = read_halves(v, err);
	if (r == 0 && !s.buckets)
		r = say_nothing(v, err);
	v->samples = NULL;
	return r < 0 ? r : name_samples(v, &s, ret, err);
}
