/* Room for names in a file of the store, and who gets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_add.h"
#include "sampler/store/day/day_names.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/store_roll.h"
#include "tests/support/store_each.h"

enum { ROOM = 16000 }; /* of a file: some 200 functions */

static struct day *open_day(unsigned step)
{
	struct day *d = NULL;

	assert_int_equal(day_open(dir, day_of(MIDNIGHT, step), DAY_ADDS, &d, NULL), 0);
	assert_int_equal(day_begin(d, NULL), 0);
	assert_int_equal(day_names_begin(d, 0, NULL), 0);
	d->names->max = d->dict->names + ROOM;
	day_names_end(d, 0);
	return d;
}

static void close_day(struct day *d)
{
	assert_int_equal(day_commit(d, NULL), 0);
	day_close(d);
}

/* Names that are added up are in memory once, however many files have them, and stay when the finer file is closed. */
static void names_are_shared(void **state)
{
	uint32_t *ids[DICT_TABLES] = {0}, name, there;
	struct day *fine = open_day(0), *wide = open_day(1);
	const char *text;

	(void)state;
	name = dictionary_string(fine->dict, "a name that both files have");
	for (int t = 0; t < DICT_TABLES; t++)
		ids[t] = calloc(100, sizeof(*ids[t]));
	there = dictionary_translate(fine->dict, DICT_STRINGS, name, wide->dict, ids);
	text = strtab_get(wide->dict->strings, there);
	assert_ptr_equal(text, strtab_get(fine->dict->strings, name));
	close_day(fine);
	assert_string_equal(text, "a name that both files have");
	assert_int_equal(dictionary_string(wide->dict, "a name that both files have"), there);
	close_day(wide);
	for (int t = 0; t < DICT_TABLES; t++)
		free(ids[t]);
}

/* A sample of a function with that number. Was it left out? */
static bool add(struct day *d, pid_t pid, const char *user, uint32_t which, bool *ret_news)
{
	const struct label labels[] = {{"service", user}, {"user", user}};
	struct named_profile *np = store_test_profile(MIDNIGHT, which, 1);
	struct store_target t = store_test_target(pid);
	uint64_t before = d->dict->left_out;

	t.labels = labels;
	t.n_labels = 2;
	assert_int_equal(day_add_profile(d, &t, (int64_t)MIDNIGHT, np, ret_news, NULL), 0);
	named_profile_free(np);
	return d->dict->left_out > before;
}

/* New names until one is left out. Returns how many had room. */
static uint32_t flood(struct day *d, pid_t pid, const char *user)
{
	uint32_t n = 0;
	bool news = false;

	while (!add(d, pid, user, (uint32_t)pid * 1000 + n, &news))
		n++;
	assert_true(news);
	assert_true(add(d, pid, user, (uint32_t)pid * 1000 + n + 1, &news) && !news); /* told once */
	assert_true(!n || !add(d, pid, user, (uint32_t)pid * 1000, &news)); /* what is there already is found */
	return n;
}

static uint64_t count(const struct named_profile *np, const char *name)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < np->n_samples; i++) {
		const struct named_stack *st = &np->stacks[np->samples[i].stack];
		const struct named_location *l = &np->locations[np->stack_locations[st->first]];
		const struct named_function *f = &np->functions[np->lines[l->first_line].function];

		n += strcmp(named_string(np, f->name), name) == 0 ? np->samples[i].count : 0;
	}
	return n;
}

/* One target takes a fifth of the room, one user half of it, and one that comes then has what it needs. */
static void room_is_shared(void **state)
{
	struct day *d = open_day(0);
	uint32_t n[21];
	uint64_t before = d->dict->names;
	bool news;

	(void)state;
	for (pid_t pid = 1; pid <= 10; pid++)
		n[pid] = flood(d, pid, "eve");
	assert_in_range(n[1], 25, 40);
	assert_in_range(n[2], n[1] / 2, n[1]);
	assert_int_equal(n[10], 0);
	assert_in_range(d->dict->names - before, ROOM / 3, ROOM / 2);
	for (pid_t pid = 11; pid <= 20; pid++)
		n[pid] = flood(d, pid, "mallory");
	assert_in_range(n[11], n[1] / 3, n[1]);
	assert_false(add(d, 99, "alice", 99000, &news));
	assert_false(news);
	assert_true(d->dict->names < d->names->max);
	close_day(d);
}

static void samples_without_names_are_kept(void **state)
{
	struct day *d = open_day(0);
	struct named_profile *np = NULL;
	uint32_t n = flood(d, 2, "bank");
	bool news;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_true(add(d, 2, "bank", 50000 + i, &news));
	assert_false(add(d, 1, "shop", 7, &news));
	close_day(d);
	assert_int_equal(store_test_read(dir, MIDNIGHT, MIDNIGHT + 10, "bank", &np), 0);
	assert_int_equal(count(np, DICT_LEFT_OUT), 1000 + 2);
	assert_int_equal(count(np, "c/C.m2000"), 2);
	assert_int_equal(np->stacks[0].n, 2);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 10, "bank"), n + 1003);
	named_profile_free(np);
	assert_int_equal(store_test_read(dir, MIDNIGHT, MIDNIGHT + 10, "shop", &np), 0);
	assert_int_equal(count(np, "c/C.m7"), 1);
	named_profile_free(np);
}

/* A file that has names which were left out can be opened again, and added to. */
static void goes_on_later(void **state)
{
	struct day *d = open_day(0);
	uint64_t names;
	bool news;

	(void)state;
	flood(d, 1, "shop");
	names = d->dict->names;
	close_day(d);
	d = open_day(0);
	assert_int_equal(d->dict->names, names);
	d->names->max = names; /* nothing is left */
	assert_true(add(d, 1, "shop", 77, &news) && news);
	assert_false(add(d, 1, "shop", 1000, &news));
	assert_int_equal(d->dict->names, names);
	close_day(d);
}

/* The wider step has a limit of its own. */
static void adding_up_is_limited_too(void **state)
{
	struct day *from = open_day(0), *to;
	bool news;

	(void)state;
	from->names->max = UINT32_MAX;
	for (uint32_t i = 0; i < 500; i++)
		assert_false(add(from, 1, "shop", i, &news));
	assert_false(add(from, 2, "bank", 77777, &news));
	to = open_day(1);
	assert_int_equal(store_roll(from, to, (int64_t)MIDNIGHT, NULL), 0);
	assert_true(to->dict->left_out > 0 && to->dict->names < to->names->max);
	close_day(from);
	close_day(to);
}

/* A stack of the file has a frame that is not there. */
static void unknown_frames_are_found(void **state)
{
	struct day *from = open_day(0), *to = open_day(1);
	struct bucket b = {0};
	bool news;
	uint32_t node;

	(void)state;
	assert_false(add(from, 1, "shop", 1, &news));
	node = dictionary_id(from->dict, DICT_NODES, (uint32_t[]){0, 12345, 1});
	assert_int_equal(bucket_count(&b, node, 1, 1, 1), 0);
	assert_int_equal(day_put_bucket(from, (int64_t)MIDNIGHT, 1, 1, &b, NULL), 0);
	bucket_done(&b);
	close_day(from);
	from = open_day(0); /* it does not have the node in memory */
	assert_int_equal(store_roll(from, to, (int64_t)MIDNIGHT, NULL), -EBADMSG);
	close_day(from);
	day_close(to);
}

/* Frames that are left out are one in a row, and are no other frame's. */
static void frames_are_one(void **state)
{
	struct dictionary *d = dictionary_new();
	uint32_t known[] = {dictionary_string(d, "known"), 0, 0}, node[3], frame[3], at, left;

	(void)state;
	known[0] = dictionary_id(d, DICT_FUNCTIONS, known);
	known[1] = 0;
	known[0] = dictionary_id(d, DICT_FRAMES, known);
	d->names_max = d->names;
	frame[0] = dictionary_id(d, DICT_FUNCTIONS, (uint32_t[]){dictionary_string(d, "a"), 0, 0});
	assert_int_equal(dictionary_id(d, DICT_FUNCTIONS, (uint32_t[]){dictionary_string(d, "b"), 0, 0}), frame[0]);
	assert_int_equal(dictionary_id(d, DICT_MAPPINGS, (uint32_t[]){dictionary_string(d, "file"), 0}), 0);
	frame[1] = 0;
	frame[2] = 5;
	left = dictionary_id(d, DICT_FRAMES, frame);
	frame[2] = 6;
	assert_int_equal(dictionary_id(d, DICT_FRAMES, frame), left);
	assert_int_not_equal(left, known[0]);
	node[0] = dictionary_id(d, DICT_NODES, (uint32_t[]){0, known[0], 1});
	at = dictionary_id(d, DICT_NODES, (uint32_t[]){node[0], left, 2});
	assert_int_not_equal(at, node[0]);
	assert_int_equal(dictionary_id(d, DICT_NODES, (uint32_t[]){at, left, 3}), at);
	assert_int_equal(dictionary_id(d, DICT_NODES, (uint32_t[]){node[0], left, 4}), at);
	assert_int_not_equal(dictionary_id(d, DICT_NODES, (uint32_t[]){at, known[0], 4}), at);
	assert_true(dictionary_is_left_out(d, frame[0]));
	assert_string_equal(strtab_get(d->strings, dictionary_string(d, "c")), DICT_LEFT_OUT);
	dictionary_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(room_is_shared, set_up, tear_down),
		cmocka_unit_test_setup_teardown(samples_without_names_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(goes_on_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(adding_up_is_limited_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_frames_are_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_are_shared, set_up, tear_down),
		cmocka_unit_test(frames_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
