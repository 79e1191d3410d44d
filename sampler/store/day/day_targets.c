#include "sampler/store/day/day_targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/day/day.h"
#include "sampler/store/stacks/samples.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/patterns/glob.h"

enum { LABELS_MAX = 64 };

/* Counts each label of the query once, as a target has one value per key. */
static size_t label_matches(const struct store_query *q, const char *key, const char *value)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n_labels; i++)
		n += strcmp(q->labels[i].key, key) == 0 && glob_matches(q->labels[i].value, value);
	return n;
}

bool store_query_takes(const struct store_query *q, const struct store_target *t)
{
	size_t matches = 0;

	for (size_t i = 0; i < t->n_labels; i++)
		matches += label_matches(q, t->labels[i].key, t->labels[i].value);
	if (q->pid && (q->pid != t->pid || q->start_ticks != t->start_ticks || strcmp(q->boot_id, t->boot_id) != 0))
		return false;
	return matches >= q->n_labels;
}

struct found_labels {
	size_t matches;
	struct target_texts of;
};

static int read_labels(struct day *d, const struct store_query *q, int64_t target, struct found_labels *f,
		       struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_LABELS, &target, 1);
	int r;

	while ((r = day_step(d, s, err)) > 0) {
		const char *key = (const char *)sqlite3_column_text(s, 0);
		const char *value = (const char *)sqlite3_column_text(s, 1);

		if (!key || !value)
			continue;
		f->matches += label_matches(q, key, value);
		if (strcmp(key, "jdk") == 0)
			snprintf(f->of.jdk, sizeof(f->of.jdk), "%s", value);
		if (strcmp(key, "main") == 0)
			snprintf(f->of.command, sizeof(f->of.command), "%s", value);
	}
	return r;
}

/* 1 or 0, or -errno. */
static int is_the_one(struct day *d, const struct store_query *q, int64_t target, struct err *err)
{
	sqlite3_stmt *s;
	const char *boot;
	int r;

	if (!q->pid)
		return 1;
	s = day_statement(d, DAY_TARGET, &target, 1);
	r = day_step(d, s, err);
	if (r <= 0)
		return r;
	boot = (const char *)sqlite3_column_text(s, 0);
	r = boot && strcmp(boot, q->boot_id) == 0 && sqlite3_column_int64(s, 1) == q->pid &&
	    (uint64_t)sqlite3_column_int64(s, 2) == q->start_ticks;
	sqlite3_reset(s);
	return r;
}

int day_choose_targets(struct day *d, const struct store_query *q, day_numbers *ret, struct target_texts *of,
		       struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_TARGETS, NULL, 0);
	int r;

	while ((r = day_step(d, s, err)) > 0) {
		struct found_labels f = {.of.targets = 1};
		int64_t id = sqlite3_column_int64(s, 0);

		r = read_labels(d, q, id, &f, err);
		if (r < 0)
			break;
		if (f.matches < q->n_labels || (r = is_the_one(d, q, id, err)) == 0)
			continue;
		if (r < 0)
			break;
		if (!vec_push(ret, id))
			return err_set(err, -ENOMEM, "out of memory");
		target_texts_add(of, &f.of);
	}
	return r;
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return ascending(x, y);
}

bool day_find_target(const day_numbers *targets, int64_t target, size_t *ret)
{
	const int64_t *found =
		targets->n ? bsearch(&target, targets->v, targets->n, sizeof(target), compare_numbers) : NULL;

	if (found)
		*ret = (size_t)(found - targets->v);
	return found != NULL;
}

/* --- one target --- */

static const char *copy_column(sqlite3_stmt *s, int column, struct arena *texts)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return arena_strndup(texts, text ? text : "", text ? strlen(text) : 0);
}

static int copy_labels(struct day *d, int64_t target, struct arena *texts, struct store_target *ret, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_LABELS, &target, 1);
	struct label *labels = arena_alloc(texts, LABELS_MAX * sizeof(*labels));
	size_t n = 0;
	int r = labels ? 1 : err_set(err, -ENOMEM, "out of memory");

	while (r > 0 && n < LABELS_MAX && (r = day_step(d, s, err)) > 0) {
		labels[n].key = copy_column(s, 0, texts);
		labels[n].value = copy_column(s, 1, texts);
		if (!labels[n].key || !labels[n].value)
			r = err_set(err, -ENOMEM, "out of memory");
		n++;
	}
	sqlite3_reset(s);
	ret->labels = labels;
	ret->n_labels = n;
	return r < 0 ? r : 0;
}

/* The statement stays at its row, so that what is borrowed from it lives. */
int day_read_process(struct day *d, int64_t target, struct store_target *ret, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_TARGET, &target, 1);
	int r = day_step(d, s, err);

	if (r <= 0)
		return r < 0 ? r : day_damaged(d, "a target is missing", err);
	ret->boot_id = (const char *)sqlite3_column_text(s, 0);
	ret->pid = sqlite3_column_int(s, 1);
	ret->start_ticks = (uint64_t)sqlite3_column_int64(s, 2);
	ret->since_ns = (uint64_t)sqlite3_column_int64(s, 3);
	return ret->boot_id ? 0 : day_damaged(d, "a target has no boot id", err);
}

int day_read_target(struct day *d, int64_t target, struct arena *texts, struct store_target *ret, struct err *err)
{
	int r = day_read_process(d, target, ret, err);

	if (r < 0)
		return r;
	ret->boot_id = arena_strndup(texts, ret->boot_id, strlen(ret->boot_id));
	sqlite3_reset(d->statements[DAY_TARGET]);
	if (!ret->boot_id)
		return err_set(err, -ENOMEM, "out of memory");
	return copy_labels(d, target, texts, ret, err);
}
