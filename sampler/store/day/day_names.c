#include "sampler/store/day/day_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/day/day.h"
#include "sampler/store/stacks/dictionary.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"

static size_t share_of(int64_t target)
{
	return (uint64_t)target % DAY_NAMES_SHARES;
}

static int find_user(struct day *d, int64_t target, uint16_t *ret, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_LABELS, &target, 1);
	int r;

	*ret = 1;
	while ((r = day_step(d, s, err)) > 0) {
		const char *key = (const char *)sqlite3_column_text(s, 0),
			   *value = (const char *)sqlite3_column_text(s, 1);

		if (key && value && strcmp(key, "user") == 0)
			*ret = (uint16_t)(hash_bytes_secret(value, strlen(value)) % DAY_NAMES_USERS + 1);
	}
	return r;
}

/* The most x with: taken_by_target + x <= (room - x) / 4, and taken_by_user + x <= room - x. */
static uint64_t allowed(uint64_t room, uint64_t taken_by_target, uint64_t taken_by_user)
{
	uint64_t target = taken_by_target < room / 4 ? (room - 4 * taken_by_target) / 5 : 0,
		 user = taken_by_user < room ? (room - taken_by_user) / 2 : 0;

	return target < user ? target : user;
}

static int make(struct day *d, struct err *err)
{
	if (d->names)
		return 0;
	d->names = calloc(1, sizeof(*d->names));
	if (!d->names)
		return err_set(err, -ENOMEM, "out of memory");
	d->names->max = DAY_NAMES_MAX;
	return 0;
}

int day_names_begin(struct day *d, int64_t target, struct err *err)
{
	size_t i = share_of(target);
	struct day_names *n;
	uint64_t room;
	int r = make(d, err);

	if (r == 0 && !d->names->shares[i].user)
		r = find_user(d, target, &d->names->shares[i].user, err);
	if (r < 0)
		return r;
	n = d->names;
	n->before = d->dict->names;
	n->left_before = d->dict->left_out;
	room = n->max > n->before ? n->max - n->before : 0;
	d->dict->names_max = n->before + allowed(room, n->shares[i].taken, n->taken_by_user[n->shares[i].user - 1]);
	return 0;
}

bool day_names_end(struct day *d, int64_t target)
{
	struct day_names *n = d->names;
	size_t i = share_of(target);
	bool news = d->dict->left_out > n->left_before && !n->shares[i].told;
	uint64_t taken = d->dict->names - n->before;

	n->shares[i].taken += taken;
	n->taken_by_user[n->shares[i].user - 1] += taken;
	n->shares[i].told |= news;
	d->dict->names_max = UINT64_MAX;
	return news;
}
