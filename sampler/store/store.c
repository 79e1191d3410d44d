#include "sampler/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/model/named_profile.h"
#include "sampler/store/compactor.h"
#include "sampler/store/day/day.h"
#include "sampler/store/day/day_add.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/store_files.h"
#include "sampler/store/store_roll.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/* Samples of a step may arrive this much after its end. */
enum { LATE_S = 20 };

/* A clock set back, or forward by more than this between two calls, counts as a jump. */
enum { JUMP_S = 3600 };

static const struct store_options defaults = {
	.keep_s = {48 * 3600, 7 * 86400, 30 * 86400},
	.max_bytes = UINT64_C(5) << 30,
	.free_percent = 5,
};

struct store {
	char dir[4000];
	struct store_options o;
	int lock; /* its file keeps these two for whoever opens the store next */
	uint64_t kept_until_ns, ended_ns; /* equal: whoever kept it ended in order */
	struct day *days[STORE_STEPS]; /* the open file of each step; NULL: none */
	struct compactor compactor;
	bool all_looked_at; /* no other file has steps waiting to be added up */
	uint64_t tended_s, calm_since_s; /* 0: not yet */
	bool full; /* the message has been printed */
	uint64_t names_left_out;
};

static void store_close_at_exit(struct store **s)
{
	store_close(*s);
}

static int make_directory(const char *dir, struct err *err)
{
	struct stat st;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot make '%.300s': %m", dir);
	if (lstat(dir, &st) < 0)
		return err_set(err, -errno, "'%.300s': %m", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "'%.300s' is not a directory", dir);
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, -EPERM,
			       "'%.300s' belongs to another user, or others may write to it: use chown and chmod go-w",
			       dir);
	return 0;
}

static int lock(struct store *s, struct err *err)
{
	uint64_t kept[2] = {0};
	char path[4096];

	snprintf(path, sizeof(path), "%s/lock", s->dir);
	s->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return err_set(err, -errno, "cannot open '%.300s': %m", path);
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "'%.300s' is in use by another daemon", s->dir);
	if (pread(s->lock, kept, sizeof(kept), 0) >= (ssize_t)sizeof(*kept)) {
		s->kept_until_ns = kept[0];
		s->ended_ns = kept[1];
	}
	return 0;
}

void store_set_limits(struct store *s, const struct store_options *o)
{
	for (int i = 0; i < STORE_STEPS; i++)
		s->o.keep_s[i] = o->keep_s[i] ? o->keep_s[i] : defaults.keep_s[i];
	s->o.max_bytes = o->max_bytes ? o->max_bytes : defaults.max_bytes;
	s->o.free_percent = o->free_percent ? o->free_percent : defaults.free_percent;
}

int store_open(const char *dir, const struct store_options *o, struct store **ret, struct err *err)
{
	CLEANUP(store_close_at_exit) struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->lock = -1;
	if (snprintf(s->dir, sizeof(s->dir), "%s", dir) >= (int)sizeof(s->dir))
		return err_set(err, -ENAMETOOLONG, "%.200s: the name is too long", dir);
	store_set_limits(s, o);
	r = make_directory(dir, err);
	if (r == 0)
		r = lock(s, err);
	if (r == 0)
		*ret = take_ptr(s);
	return r;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	compactor_end(&s->compactor);
	for (int i = 0; i < STORE_STEPS; i++)
		day_close(s->days[i]);
	if (s->lock >= 0)
		close(s->lock);
	free(s);
}

/* The dictionary in memory may no longer match the file. */
static void drop(struct store *s, unsigned step)
{
	day_close(take_ptr(s->days[step]));
}

static void set_aside(struct store *s, struct day_id id, const struct err *why)
{
	char name[DAY_NAME];
	int r = store_file_set_aside(s->dir, id);

	day_name(id, name);
	if (r < 0)
		log_error("cannot set '%s/%s' aside: %s", s->dir, name, strerror(-r));
	else
		log_warn("'%s/%s' is set aside as %s.aside: %s", s->dir, name, name, why->msg);
}

/* After a failure, uncommitted changes are lost. */
static int fail(struct store *s, struct day_id id, int r, const struct err *why)
{
	bool spoilt = s->days[id.step] && s->days[id.step]->spoilt;

	drop(s, id.step);
	if (spoilt)
		set_aside(s, id, why);
	return r;
}

static int open_file(struct store *s, struct day_id id, struct day **ret, struct err *err)
{
	compactor_leave(&s->compactor, id);
	return day_open(s->dir, id, DAY_ADDS, ret, err);
}

static int open_day(struct store *s, struct day_id id, struct err *err)
{
	struct err e = {0};
	int r = open_file(s, id, &s->days[id.step], &e);

	if (day_is_spoilt(r)) {
		set_aside(s, id, &e);
		r = open_file(s, id, &s->days[id.step], &e);
	}
	return r < 0 ? err_set(err, r, "%s", e.msg) : 0;
}

static int roll_day(struct store *s, struct day *from, uint64_t now_s, struct err *err);

/* Its last steps are added up while what they refer to is in memory. If that fails, it is done when it is found closed. */
static void finish(struct store *s, struct day *d)
{
	struct err ignored = {0};

	if (d->id.step + 1 < STORE_STEPS)
		(void)roll_day(s, d, (uint64_t)(d->id.date + 2) * DAY_S, &ignored);
}

/* *ret: the open file of that day, in a transaction. */
static int get_day(struct store *s, struct day_id id, struct day **ret, struct err *err)
{
	struct day **d = &s->days[id.step];
	int r = 0;

	if (*d && (*d)->id.date != id.date) {
		r = (*d)->begun ? day_commit(*d, err) : 0;
		if (r == 0)
			finish(s, *d);
		drop(s, id.step);
		s->all_looked_at &= id.step > 0;
	}
	if (r == 0 && !*d)
		r = open_day(s, id, err);
	if (r == 0)
		r = day_begin(*d, err);
	*ret = *d;
	return r;
}

static int64_t start_of(int64_t at, unsigned step)
{
	return at - at % day_steps[step].seconds;
}

/* Notes that the wider step containing `at` has to be added up. */
static int wait_for_wider(struct day *d, int64_t at, struct err *err)
{
	int64_t wider;

	if (d->id.step + 1 == STORE_STEPS)
		return 0;
	wider = start_of(at, d->id.step + 1);
	return day_step(d, day_statement(d, DAY_WAIT, &wider, 1), err);
}

static int note_left_out(struct store *s, const struct store_target *t, uint64_t at_ns, struct err *err)
{
	static const char text[] = "it has more names than there is room for in the history of one day: what is new to "
				   "it is " DICT_LEFT_OUT;

	log_warn("PID %d: %s", (int)t->pid, text);
	return store_note(s, t, at_ns, "names", text, err);
}

int store_add(struct store *s, const struct store_target *t, const struct named_profile *np, struct err *err)
{
	bool left_out = false;
	uint64_t before;
	int64_t at = start_of((int64_t)(np->meta.start_realtime_ns / 1000000000), 0);
	struct day_id id = day_of((uint64_t)at, 0);
	struct day *d = NULL;
	struct err e = {0};
	int r = get_day(s, id, &d, &e);

	before = r == 0 ? d->dict->left_out : 0;
	if (r == 0)
		r = day_add_profile(d, t, at, np, &left_out, &e);
	if (r == 0)
		s->names_left_out += d->dict->left_out - before;
	if (r == 0)
		r = wait_for_wider(d, at, &e);
	if (r < 0)
		return err_set(err, fail(s, id, r, &e), "%s", e.msg);
	return left_out ? note_left_out(s, t, np->meta.start_realtime_ns, err) : 0;
}

uint64_t store_names_left_out(const struct store *s)
{
	return s->names_left_out;
}

static int commit(struct store *s, unsigned step, struct err *err)
{
	struct day *d = s->days[step];
	struct err e = {0};
	int r = d && d->begun ? day_commit(d, &e) : 0;

	return r < 0 ? err_set(err, fail(s, d->id, r, &e), "%s", e.msg) : 0;
}

int store_flush(struct store *s, struct err *err)
{
	int r = commit(s, 0, err);

	return r < 0 ? r : commit(s, STORE_STEPS - 1, err);
}

void store_mark_kept(struct store *s, uint64_t now_ns, bool ended)
{
	const uint64_t kept[] = {now_ns, ended ? now_ns : 0};

	(void)!pwrite(s->lock, kept, sizeof(kept), 0);
}

uint64_t store_kept_until(const struct store *s, bool *ret_ended)
{
	*ret_ended = s->ended_ns == s->kept_until_ns;
	return s->kept_until_ns;
}

int store_note(struct store *s, const struct store_target *t, uint64_t at_ns, const char *kind, const char *text,
	       struct err *err)
{
	struct day_id id = day_of(at_ns / 1000000000, STORE_STEPS - 1);
	struct day *d = NULL;
	struct err e = {0};
	int r = get_day(s, id, &d, &e);

	if (r == 0)
		r = day_add_happening(d, t, at_ns, kind, text, &e);
	return r < 0 ? err_set(err, fail(s, id, r, &e), "%s", e.msg) : 0;
}

/* --- wider steps --- */

/* The first wider step that waits and is complete. 1; 0: none; or -errno. */
static int next_waiting(struct day *d, uint64_t now_s, int64_t *ret, struct err *err)
{
	int64_t last = (int64_t)now_s - LATE_S - day_steps[d->id.step + 1].seconds;
	sqlite3_stmt *s = day_statement(d, DAY_WAITING, (int64_t[]){0, last + 1}, 2);
	int r = day_step(d, s, err);

	if (r > 0) {
		*ret = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
	}
	return r;
}

/* The wider step is committed before it stops waiting: after a crash in between, it is added up again. */
static int roll_one(struct store *s, struct day *from, int64_t at, struct err *err)
{
	struct day_id id = day_of((uint64_t)at, from->id.step + 1);
	struct day *to = NULL;
	struct err e = {0};
	int r = get_day(s, id, &to, &e);

	if (r == 0)
		r = store_roll(from, to, at, &e);
	if (r == 0)
		r = wait_for_wider(to, at, &e);
	if (r == 0)
		r = day_commit(to, &e);
	if (r < 0)
		return err_set(err, fail(s, id, r, &e), "%s", e.msg);
	return day_step(from, day_statement(from, DAY_DONE_WAITING, &at, 1), err);
}

static int roll_day(struct store *s, struct day *from, uint64_t now_s, struct err *err)
{
	int64_t at;
	int r = day_begin(from, err);

	while (r == 0 && (r = next_waiting(from, now_s, &at, err)) > 0)
		r = roll_one(s, from, at, err);
	if (s->days[from->id.step + 1])
		dictionary_rest(s->days[from->id.step + 1]->dict); /* until the next step, mostly */
	return r < 0 ? r : day_commit(from, err);
}

static bool is_open(const struct store *s, const struct store_file *f)
{
	const struct day *d = s->days[f->id.step];

	return !f->aside && d && d->id.date == f->id.date;
}

/* Steps that began before midnight are complete some time after it. */
static bool may_wait(const struct store *s, const struct store_file *f, uint64_t now_s)
{
	if (f->aside || f->id.step + 1 == STORE_STEPS)
		return false;
	return is_open(s, f) || !s->all_looked_at ||
	       (now_s % DAY_S < 3600 && f->id.date == (int64_t)(now_s / DAY_S) - 1);
}

static int roll_file(struct store *s, const struct store_file *f, uint64_t now_s, struct err *err)
{
	struct err e = {0};
	struct day *from = is_open(s, f) ? s->days[f->id.step] : NULL;
	bool closed = !from, spoilt;
	int r = closed ? open_file(s, f->id, &from, &e) : 0;

	if (r == 0)
		r = roll_day(s, from, now_s, &e);
	spoilt = from ? from->spoilt : day_is_spoilt(r);
	if (closed)
		day_close(from);
	else if (r < 0)
		drop(s, f->id.step);
	if (spoilt)
		set_aside(s, f->id, &e);
	return spoilt ? 0 : r < 0 ? err_set(err, r, "%s", e.msg) : 0;
}

/* A file that is damaged or cannot be read must not block the others. */
static int roll_all(struct store *s, const store_file_list *files, uint64_t now_s, struct err *err)
{
	struct err e = {0};
	int r = 0;

	for (size_t i = 0; i < files->n; i++) {
		int one = may_wait(s, &files->v[i], now_s) ? roll_file(s, &files->v[i], now_s, &e) : 0;

		if (one < 0)
			r = err_set(err, one, "%s", e.msg);
	}
	s->all_looked_at = r == 0;
	return r;
}

/* --- expiring --- */

static bool is_old(const struct store *s, const struct store_file *f, uint64_t now_s)
{
	return (f->id.date + 1) * DAY_S + (int64_t)s->o.keep_s[f->id.step] <= (int64_t)now_s;
}

static uint64_t files_bytes(const store_file_list *files)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < files->n; i++)
		bytes += files->v[i].bytes;
	return bytes;
}

static bool is_too_much(const struct store *s, uint64_t bytes)
{
	return bytes > s->o.max_bytes || store_free_percent(s->dir) < s->o.free_percent;
}

/* Bytes that files may grow by before something is removed. */
static uint64_t room(const struct store *s, const store_file_list *files)
{
	uint64_t bytes = files_bytes(files), free = store_free_bytes(s->dir, s->o.free_percent);
	uint64_t left = bytes < s->o.max_bytes ? s->o.max_bytes - bytes : 0;

	return left < free ? left : free;
}

/* files: in the order of removal. */
static void forget(struct store *s, const store_file_list *files, uint64_t now_s, bool calm)
{
	uint64_t bytes = files_bytes(files);

	for (size_t i = 0; i < files->n; i++) {
		const struct store_file *f = &files->v[i];
		bool old = calm && is_old(s, f, now_s);

		if (!old && (is_open(s, f) || !is_too_much(s, bytes)))
			continue;
		if (is_open(s, f))
			drop(s, f->id.step);
		compactor_leave(&s->compactor, f->id);
		if (store_file_remove(s->dir, f) == 0)
			bytes -= f->bytes;
	}
	if (is_too_much(s, bytes) && !s->full)
		log_warn("'%s' exceeds its limit, or the file system is nearly full, with today's history alone",
			 s->dir);
	s->full = is_too_much(s, bytes);
}

/* A clock that is temporarily wrong must not delete the history. */
static bool is_calm(struct store *s, uint64_t now_s)
{
	if (!s->tended_s || now_s < s->tended_s || now_s > s->tended_s + JUMP_S)
		s->calm_since_s = now_s;
	s->tended_s = now_s;
	return now_s - s->calm_since_s >= JUMP_S;
}

int store_tend(struct store *s, uint64_t now_ns, struct err *err)
{
	uint64_t now_s = now_ns / 1000000000;
	bool calm = is_calm(s, now_s);
	store_file_list files = {0};
	int r = store_flush(s, err);

	if (r == 0)
		r = store_files(s->dir, &files);
	if (r == 0)
		r = roll_all(s, &files, now_s, err);
	forget(s, &files, now_s, calm);
	if (r == 0)
		compactor_choose(&s->compactor, s->dir, &files, s->days, room(s, &files), now_s);
	vec_done(&files);
	return r;
}

void store_compact(struct store *s)
{
	compactor_work(&s->compactor, s->dir);
}

uint64_t store_bytes(const char *dir)
{
	store_file_list files = {0};
	uint64_t bytes = store_files(dir, &files) == 0 ? files_bytes(&files) : 0;

	vec_done(&files);
	return bytes;
}
