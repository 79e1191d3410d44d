#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>

#include "sampler/input/reader.h"
#include "sampler/output/writer.h"
#include "sampler/store/day/day.h"
#include "sampler/store/day/day_add.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/recent.h"
#include "sampler/store/store_roll.h"
#include "symbolizer/base/buf.h"
#include "tests/support/folded_files.h"
#include "tests/support/folded_text.h"
#include "tests/support/store_each.h"

static struct store *open_store(void)
{
	struct store *s = NULL;

	assert_int_equal(store_open(dir, &(struct store_options){0}, &s, NULL), 0);
	return s;
}

static void add(struct store *s, pid_t pid, uint64_t at_s, uint32_t which, uint64_t count)
{
	assert_int_equal(store_test_add(s, pid, at_s, which, count), 0);
}

/* Everything but what the store does not keep. */
static void one_profile_comes_back(void **state)
{
	struct store *s = open_store();
	struct store_target t = store_test_target(7);
	struct named_profile *np = store_test_profile(MIDNIGHT + 3607, 1, 5), *back = NULL;
	const struct named_location *l;
	const struct named_line *line;

	(void)state;
	np->samples[0].weight += 17; /* what was left over of a thread's time */
	np->functions[1].compile = (struct named_compile){.c1_ms = 3600500, .not_entrant = 3};
	assert_int_equal(store_add(s, &t, np, NULL), 0);
	assert_int_equal(store_flush(s, NULL), 0);
	assert_int_equal(store_test_read(dir, MIDNIGHT, MIDNIGHT + 86400, NULL, &back), 0);
	assert_int_equal(back->n_samples, 1);
	assert_int_equal(back->samples[0].count, 5);
	assert_int_equal(back->samples[0].weight, 5 * STORE_TEST_PERIOD + 17);
	assert_string_equal(named_string(back, back->samples[0].thread), "http-nio-#-exec-#");
	assert_int_equal(back->stacks[back->samples[0].stack].n, 2);
	l = &back->locations[back->stack_locations[back->stacks[back->samples[0].stack].first + 1]];
	assert_int_equal(l->n_lines, 2);
	line = &back->lines[l->first_line];
	assert_int_equal(line[0].kind, NAMED_INLINED);
	assert_int_equal(line[0].exactness, 2);
	assert_int_equal(line[0].line, 12);
	assert_int_equal(line[1].tier, 4);
	assert_true(line[1].osr);
	assert_string_equal(named_string(back, back->functions[line[1].function].system_name), "run()V");
	assert_string_equal(named_string(back, back->functions[line[1].function].file), "A.java");
	assert_string_equal(named_string(back, back->mappings[l->mapping].file), "[jit]");
	assert_string_equal(back->meta.unit, "nanoseconds");
	assert_int_equal(back->meta.period, STORE_TEST_PERIOD);
	assert_int_equal(back->meta.complete, 5);
	assert_string_equal(back->meta.jdk, "25.0.3");
	assert_string_equal(back->meta.command, "com.acme.Shop");
	assert_int_equal(back->meta.start_realtime_ns, (MIDNIGHT + 3600) * SECOND);
	assert_int_equal(back->meta.duration_ns, 10 * SECOND);
	line = &back->lines[back->locations[back->stack_locations[back->stacks[0].first]].first_line];
	assert_int_equal(back->functions[line->function].compile.c1_ms, 500);
	assert_int_equal(back->functions[line->function].compile.not_entrant, 3);
	named_profile_free(np);
	named_profile_free(back);
	store_close(s);
}

/* Recorded profiles, with all their lines and kinds, one after the other through the same files. */
static void recorded_comes_back(const char *text, size_t len)
{
	static uint64_t at = MIDNIGHT;
	struct store *s = open_store();
	struct store_target t = store_test_target(7);
	struct named_profile *np = NULL, *back = NULL;
	char *before, *after;

	at += STORE_STEP_S;
	assert_int_equal(reader_parse_profile(text, len, "x.folded", &np, NULL, NULL), 0);
	np->meta.event = "cpu";
	np->meta.start_realtime_ns = at * SECOND;
	assert_int_equal(store_add(s, &t, np, NULL), 0);
	assert_int_equal(store_flush(s, NULL), 0);
	store_close(s);
	assert_int_equal(store_test_read(dir, at, at + 1, "sh?p", &back), 0);
	before = folded_text(np, true);
	after = folded_text(back, true);
	assert_string_equal(before, after);
	free(before);
	free(after);
	named_profile_free(np);
	named_profile_free(back);
}

static void recorded_profiles_come_back(void **state)
{
	(void)state;
	each_folded_file(recorded_comes_back);
}

static void targets_are_chosen_by_label(void **state)
{
	struct store *s = open_store();
	struct named_profile *np = NULL;

	(void)state;
	add(s, 1, MIDNIGHT, 1, 3);
	add(s, 2, MIDNIGHT, 1, 5);
	add(s, 3, MIDNIGHT, 2, 7);
	assert_int_equal(store_flush(s, NULL), 0);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 10, NULL), 15);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 10, "shop"), 10);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 10, "b*"), 5);
	assert_int_equal(store_test_read(dir, MIDNIGHT, MIDNIGHT + 10, "ban", &np), -ENODATA);
	assert_int_equal(store_test_read(dir, MIDNIGHT - 90000, MIDNIGHT - 86400, NULL, &np), -ENODATA);
	assert_int_equal(store_test_read(dir, MIDNIGHT + 10, MIDNIGHT, NULL, &np), -ENODATA);
	assert_int_equal(store_test_read("/nowhere", MIDNIGHT, MIDNIGHT + 10, NULL, &np), -ENOENT);
	store_close(s);
}

/* PIDs do not ascend in the order in which programs are first seen. */
static void targets_come_in_any_order(void **state)
{
	static const pid_t pids[] = {51, 11, 31, 21, 41, 1};
	struct store *s = open_store();

	(void)state;
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++)
		add(s, pids[i], MIDNIGHT, 1, (uint64_t)pids[i]);
	assert_int_equal(store_tend(s, (MIDNIGHT + 7200) * SECOND, NULL), 0);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 10, NULL), 156);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 600, "shop"), 156);
	store_close(s);
}

/* What another daemon, or the clock set back, adds to the same step counts too. */
static void steps_are_added_to(void **state)
{
	struct store *s = open_store();

	(void)state;
	add(s, 1, MIDNIGHT, 1, 3);
	add(s, 1, MIDNIGHT + 9, 1, 4);
	add(s, 1, MIDNIGHT + 10, 1, 100);
	assert_int_equal(store_flush(s, NULL), 0);
	add(s, 1, MIDNIGHT + 1, 2, 5);
	assert_int_equal(store_flush(s, NULL), 0);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 10, NULL), 12);
	store_close(s);
}

enum { HOURS = 25 };

/* One sample a step, of one of five methods. */
static void fill(struct store *s, uint64_t from_s, uint64_t to_s)
{
	for (uint64_t at = from_s; at < to_s; at += STORE_STEP_S) {
		add(s, 1, at, at / 10 % 5, 1);
		if (at % 60 == 50)
			assert_int_equal(store_tend(s, at * SECOND, NULL), 0);
	}
	assert_int_equal(store_tend(s, (to_s + 700) * SECOND, NULL), 0);
}

static void run_sql(const char *day, const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/%s", dir, day);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void remove_day(const char *day)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, day);
	assert_int_equal(unlink(path), 0);
}

/* Any range has each moment once, whatever has been added up and whatever is left. */
static void check_ranges(uint64_t least_s)
{
	static const uint64_t ends[] = {0, 10, 50, 60, 600, 610, 1830, 3600, 86390, 86400, 87000, 89990, HOURS * 3600};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		for (size_t j = i + 1; j < sizeof(ends) / sizeof(ends[0]); j++) {
			uint64_t from = ends[i] - ends[i] % least_s;
			uint64_t to = (ends[j] + least_s - 1) / least_s * least_s;

			assert_int_equal(store_test_count(dir, MIDNIGHT + ends[i], MIDNIGHT + ends[j], NULL),
					 ((to < HOURS * 3600 ? to : HOURS * 3600) - from) / STORE_STEP_S);
		}
}

static void wider_steps_are_the_sum(void **state)
{
	struct store *s = open_store();
	struct named_profile *wide = NULL;

	(void)state;
	fill(s, MIDNIGHT, MIDNIGHT + HOURS * 3600);
	check_ranges(10);
	/* As after a crash before the last commit: it is done again. */
	store_close(s);
	run_sql("2026-11-24-10s.db", "insert into waiting select at / 60 * 60 from bucket group by 1");
	run_sql("2026-11-24-1m.db",
		"insert or ignore into waiting select at / 600 * 600 from bucket; delete from bucket");
	run_sql("2026-11-24-10m.db", "delete from bucket");
	check_ranges(10);
	s = open_store();
	assert_int_equal(store_tend(s, (MIDNIGHT + 2 * 86400) * SECOND, NULL), 0);
	store_close(s);
	check_ranges(10);
	remove_day("2026-11-24-10s.db");
	remove_day("2026-11-25-10s.db");
	check_ranges(60);
	remove_day("2026-11-24-1m.db");
	remove_day("2026-11-25-1m.db");
	check_ranges(600);
	assert_int_equal(store_test_read(dir, MIDNIGHT, MIDNIGHT + 600, NULL, &wide), 0);
	assert_int_equal(wide->n_samples, 5);
	assert_int_equal(wide->meta.complete, 60);
	assert_int_equal(wide->meta.period, STORE_TEST_PERIOD);
	assert_int_equal(wide->meta.duration_ns, 600 * SECOND);
	named_profile_free(wide);
}

/* --- what a writer forgets --- */

enum { WIDE_STACKS = DICT_NODES_MAX / 2000 + 2, WIDE_FRAMES = 2000 };

/* More stacks than a writer remembers; others for each `which`. */
static void add_wide(struct store *s, uint64_t at_s, uint32_t which)
{
	struct named_builder *b = named_builder_new();
	struct store_target t = store_test_target(1);
	struct named_sample one = {.count = 1, .weight = STORE_TEST_PERIOD};
	uint32_t function = named_builder_function(b, "c/C.m", "m()V", "C.java"), at[WIDE_FRAMES];
	struct named_line line = {.function = function, .bci = -1, .kind = NAMED_INTERPRETED};
	struct named_profile *np;

	for (uint32_t i = 0; i < WIDE_STACKS; i++) {
		for (uint32_t k = 0; k < WIDE_FRAMES; k++) {
			line.line = (int32_t)((which * WIDE_STACKS + i) * WIDE_FRAMES + k);
			at[k] = named_builder_location(b, 0, 0, &line, 1);
		}
		one.stack = named_builder_stack(b, at, WIDE_FRAMES);
		named_builder_sample(b, &one);
	}
	named_builder_meta(b)->event = named_builder_keep(b, "cpu");
	named_builder_meta(b)->unit = named_builder_keep(b, "nanoseconds");
	named_builder_meta(b)->period = STORE_TEST_PERIOD;
	named_builder_meta(b)->start_realtime_ns = at_s * SECOND;
	np = named_builder_take(b);
	assert_non_null(np);
	assert_int_equal(store_add(s, &t, np, NULL), 0);
	assert_int_equal(store_flush(s, NULL), 0);
	named_profile_free(np);
}

static void assert_wide(uint64_t from_s, uint64_t to_s, uint32_t stacks, uint64_t count)
{
	struct named_profile *np = NULL;
	uint64_t n = 0;

	assert_int_equal(store_test_read(dir, from_s, to_s, NULL, &np), 0);
	assert_int_equal(np->n_samples, stacks);
	for (uint32_t i = 0; i < np->n_samples; i++) {
		const struct named_stack *st = &np->stacks[np->samples[i].stack];
		const uint32_t *at = &np->stack_locations[st->first];

		assert_int_equal(st->n, WIDE_FRAMES);
		for (uint32_t k = 1; k < st->n; k++)
			assert_int_equal(np->lines[np->locations[at[k]].first_line].line,
					 np->lines[np->locations[at[0]].first_line].line + k);
		n += np->samples[i].count;
	}
	assert_int_equal(n, count);
	named_profile_free(np);
}

/* The first ones are no longer in memory when they are added up, and have other numbers when they come again. */
static void forgotten_stacks_are_read_and_added_up(void **state)
{
	struct store *s = open_store();

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		add_wide(s, MIDNIGHT + i * STORE_STEP_S, i);
	add_wide(s, MIDNIGHT + 3 * STORE_STEP_S, 0);
	assert_wide(MIDNIGHT, MIDNIGHT + 40, 3 * WIDE_STACKS, 4 * WIDE_STACKS);
	assert_wide(MIDNIGHT + 30, MIDNIGHT + 40, WIDE_STACKS, WIDE_STACKS);
	for (int i = 0; i < 2; i++) /* one wider step each */
		assert_int_equal(store_tend(s, (MIDNIGHT + 7200) * SECOND, NULL), 0);
	store_close(s);
	remove_day("2026-11-24-10s.db");
	assert_wide(MIDNIGHT, MIDNIGHT + 60, 3 * WIDE_STACKS, 4 * WIDE_STACKS);
	remove_day("2026-11-24-1m.db");
	assert_wide(MIDNIGHT, MIDNIGHT + 600, 3 * WIDE_STACKS, 4 * WIDE_STACKS);
}

enum { NODES = 5 * DICT_NODES_MAX, NODES_A_STEP = 10000, WRITER_BYTES = 8 << 20 };

/* What was saved last may come again, with more. */
struct last_segment {
	uint32_t first;
	struct buf bytes;
};

static void load_last(struct dictionary *to, struct last_segment *last)
{
	assert_int_equal(dictionary_load(to, DICT_NODES, last->first, last->bytes.data, last->bytes.len), 0);
	buf_done(&last->bytes);
}

static void save_nodes(struct dictionary *from, struct dictionary *to, struct last_segment *last)
{
	struct last_segment s = {0};

	while (dictionary_save(from, DICT_NODES, &s.first, &s.bytes)) {
		if (last->bytes.len && last->first != s.first)
			load_last(to, last);
		buf_done(&last->bytes);
		*last = s;
		s = (struct last_segment){0};
	}
}

static void the_memory_of_a_writer_is_bounded(void **state)
{
	struct dictionary *d = dictionary_new(), *all = dictionary_new();
	struct last_segment last = {0};

	(void)state;
	for (uint32_t i = 1; i <= NODES; i++) {
		assert_int_equal(dictionary_id(d, DICT_NODES, (uint32_t[]){0, 0, i}), i);
		assert_int_equal(dictionary_id(d, DICT_NODES, (uint32_t[]){0, 0, i}), i);
		if (i % NODES_A_STEP == 0) {
			save_nodes(d, all, &last);
			dictionary_forget(d);
			assert_true(dictionary_bytes(d) < WRITER_BYTES);
		}
	}
	assert_true(dictionary_has_node(d, 0) && !dictionary_has_node(d, 1));
	assert_true(dictionary_has_node(d, NODES) && !dictionary_has_node(d, NODES + 1));
	for (uint32_t i = NODES; dictionary_has_node(d, i); i--)
		assert_int_equal(dictionary_row(d, DICT_NODES, i)[2], i);
	load_last(all, &last);
	assert_int_equal(dictionary_count(all, DICT_NODES), NODES - NODES % NODES_A_STEP + 1);
	for (uint32_t i = 1; i < dictionary_count(all, DICT_NODES); i++)
		assert_int_equal(dictionary_row(all, DICT_NODES, i)[2], i);
	assert_int_equal(dictionary_id(d, DICT_NODES, (uint32_t[]){0, 0, 1}), NODES + 1);
	dictionary_free(d);
	dictionary_free(all);
}

/* More nodes than a writer keeps, all saved. */
static void forget_nodes(struct dictionary *d)
{
	static uint32_t line = 1000000;
	struct buf bytes = {0};
	uint32_t first;

	for (uint32_t i = 0; i <= DICT_NODES_MAX; i++)
		dictionary_id(d, DICT_NODES, (uint32_t[]){0, 0, line++});
	while (dictionary_save(d, DICT_NODES, &first, &bytes))
		buf_reset(&bytes);
	buf_done(&bytes);
	dictionary_forget(d);
}

static void stacks_keep_their_nodes_for_a_while(void **state)
{
	const struct dictionary_frame stack[] = {{0, 1}, {0, 2}, {0, 3}}, other[] = {{0, 1}, {0, 3}, {0, 2}};
	struct dictionary *d = dictionary_new(), *plain = dictionary_new();
	uint32_t node, next;

	(void)state;
	dictionary_remember(d);
	dictionary_period(d, 1, 1);
	assert_int_equal(dictionary_stack(d, stack, 0), 0);
	node = dictionary_stack(d, stack, 3);
	assert_int_equal(dictionary_row(d, DICT_NODES, node)[2], 3);
	assert_int_not_equal(dictionary_stack(d, other, 3), node);
	assert_int_not_equal(dictionary_stack(d, stack, 2), node);
	forget_nodes(d);
	assert_false(dictionary_has_node(d, node));
	assert_int_equal(dictionary_stack(d, stack, 3), node);
	dictionary_period(d, 2, 1);
	assert_int_equal(dictionary_stack(d, stack, 3), node);
	dictionary_period(d, 100, 2);
	assert_int_equal(dictionary_stack(d, stack, 3), node);
	dictionary_period(d, 100, 3);
	next = dictionary_stack(d, stack, 3);
	assert_true(next > node && dictionary_has_node(d, next));
	assert_int_equal(dictionary_stack(d, stack, 3), next);
	forget_nodes(d);
	dictionary_period(d, 101, 3);
	dictionary_period(d, 102, 3);
	assert_true(dictionary_stack(d, stack, 3) > next);
	node = dictionary_stack(plain, stack, 3);
	forget_nodes(plain);
	assert_int_not_equal(dictionary_stack(plain, stack, 3), node);
	dictionary_free(d);
	dictionary_free(plain);
}

/* Nodes that are wanted again are kept, however often the writer commits meanwhile. */
static void nodes_are_forgotten_once_for_what_was_added(void **state)
{
	enum { WANTED = DICT_NODES_MAX + DICT_NODES_MAX / 2 };
	struct dictionary *d = dictionary_new();
	struct buf bytes = {0};
	uint32_t first;
	size_t resting;

	(void)state;
	for (int times = 0; times < 2; times++)
		for (uint32_t i = 0; i < WANTED; i++)
			dictionary_id(d, DICT_NODES, (uint32_t[]){0, 0, 2 * i});
	while (dictionary_save(d, DICT_NODES, &first, &bytes))
		buf_reset(&bytes);
	buf_done(&bytes);
	dictionary_forget(d);
	dictionary_rest(d);
	resting = dictionary_bytes(d);
	for (int i = 0; i < 5; i++)
		dictionary_forget(d);
	assert_int_equal(dictionary_bytes(d), resting);
	assert_true(dictionary_has_node(d, 1));
	dictionary_free(d);
}

static void dictionaries_rest(void **state)
{
	const struct dictionary_frame stack[] = {{0, 1}, {0, 2}, {0, 3}}, longer[] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}};
	struct dictionary *d = dictionary_new();
	uint32_t name = dictionary_string(d, "a name"), row[] = {name, name, name};
	uint32_t function = dictionary_id(d, DICT_FUNCTIONS, row), node = dictionary_stack(d, stack, 3);
	size_t bytes = dictionary_bytes(d);

	(void)state;
	dictionary_rest(d);
	assert_true(dictionary_bytes(d) < bytes);
	assert_int_equal(dictionary_row(d, DICT_FUNCTIONS, function)[1], name);
	assert_int_equal(dictionary_string(d, "a name"), name);
	assert_int_equal(dictionary_id(d, DICT_FUNCTIONS, row), function);
	assert_int_equal(dictionary_stack(d, stack, 3), node);
	dictionary_rest(d);
	assert_int_equal(dictionary_string(d, "another"), name + 1);
	assert_int_equal(dictionary_stack(d, longer, 4), node + 1);
	dictionary_rest(d);
	forget_nodes(d);
	dictionary_rest(d);
	assert_true(dictionary_stack(d, longer, 4) > node + 1);
	dictionary_free(d);
}

/* Another stack with these frames is likely, until none has come for a while. */
static void what_stacks_have_in_common_is_kept(void **state)
{
	struct dictionary_frame stack[] = {{0, 1}, {0, 2}, {0, 3}};
	struct dictionary *d = dictionary_new();
	uint32_t first = dictionary_stack(d, stack, 3), common = first - 1, node, before;

	(void)state;
	for (stack[2].line = 4; stack[2].line < 8; stack[2].line++) {
		node = dictionary_stack(d, stack, 3);
		forget_nodes(d);
		assert_true(dictionary_has_node(d, common) && dictionary_has_node(d, common - 1));
		assert_false(dictionary_has_node(d, node) || dictionary_has_node(d, first));
		assert_int_equal(dictionary_row(d, DICT_NODES, common)[2], 2);
		assert_int_equal(dictionary_depth(d, common), 2);
		before = dictionary_count(d, DICT_NODES);
		assert_int_equal(dictionary_stack(d, stack, 2), common);
		assert_int_equal(dictionary_count(d, DICT_NODES), before);
	}
	for (int i = 0; i < 3; i++)
		forget_nodes(d);
	assert_false(dictionary_has_node(d, common));
	assert_true(dictionary_stack(d, stack, 2) > common);
	dictionary_free(d);
}

static void what_is_remembered_is_bounded(void **state)
{
	struct recent r = {.max = 1000};

	(void)state;
	for (uint32_t i = 1; i <= 100000; i++) {
		assert_int_equal(recent_get(&r, i), 0);
		recent_put(&r, i, i);
		for (uint32_t k = 0; k < 1000 && k < i; k += 333)
			assert_int_equal(recent_get(&r, i - k), i - k);
	}
	assert_int_equal(recent_get(&r, 100000 - 2000), 0);
	assert_true(recent_bytes(&r) <= 2 * 2048 * sizeof(struct u64map_slot));
	recent_done(&r);
}

static void a_clock_that_is_set_back_is_a_new_period(void **state)
{
	struct recent r = {.max = 1000};

	(void)state;
	recent_period(&r, 100);
	recent_put(&r, 1, 1);
	recent_period(&r, 99); /* of what comes late */
	recent_period(&r, 100);
	assert_int_equal(r.young.n, 1);
	recent_period(&r, 50);
	assert_int_equal(r.old.n, 1);
	recent_period(&r, 51);
	assert_int_equal(recent_get(&r, 1), 0);
	recent_done(&r);
}

/* Each period has 1000 new ones, and one that all have. */
static void what_recurs_is_remembered_for_longer(void **state)
{
	enum { NEW = 1000, ALWAYS = 1 };
	struct recurring r = {0};
	uint32_t key = 100;

	(void)state;
	recurring_limit(&r, 100 * NEW);
	for (int64_t period = 1; period <= 100; period++) {
		recurring_period(&r, period, 1);
		assert_int_equal(recurring_use(&r, ALWAYS), period == 1 ? 0 : 7);
		if (period == 1)
			recurring_put(&r, ALWAYS, 7);
		for (int i = 0; i < NEW; i++)
			recurring_put(&r, key++, 8);
		assert_int_equal(recurring_get(&r, key - 1), 8); /* in the same period, so it does not recur */
		assert_int_equal(recurring_get(&r, key - 2 * NEW - 1), 0);
		assert_true(recurring_bytes(&r) <= (2 * 2048 + 64) * sizeof(struct u64map_slot));
	}
	recurring_period(&r, 1000, 1);
	recurring_period(&r, 1001, 1);
	assert_int_equal(recurring_get(&r, key - 1), 0);
	assert_int_equal(recurring_get(&r, ALWAYS), 7);
	recurring_period(&r, 1001, 2);
	recurring_period(&r, 1001, 3);
	assert_int_equal(recurring_get(&r, ALWAYS), 0);
	recurring_done(&r);
}

/* A writer that begins has none of a file's nodes in memory, and numbers its own on from these. */
static void a_writer_goes_on_where_another_ended(void **state)
{
	struct store *s = open_store();

	(void)state;
	add_wide(s, MIDNIGHT, 0);
	store_close(s);
	s = open_store();
	add_wide(s, MIDNIGHT + 10, 1);
	add_wide(s, MIDNIGHT + 20, 0);
	store_close(s);
	assert_wide(MIDNIGHT, MIDNIGHT + 30, 2 * WIDE_STACKS, 3 * WIDE_STACKS);
	s = open_store();
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_tend(s, (MIDNIGHT + 7200) * SECOND, NULL), 0);
	store_close(s);
	remove_day("2026-11-24-10s.db");
	assert_wide(MIDNIGHT, MIDNIGHT + 60, 2 * WIDE_STACKS, 3 * WIDE_STACKS);
}

static void assert_top(uint64_t from_s, uint64_t to_s, uint32_t which, uint64_t count)
{
	struct named_profile *np = NULL;
	const struct named_location *l;
	char name[32];

	assert_int_equal(store_test_read(dir, from_s, to_s, NULL, &np), 0);
	assert_int_equal(np->n_samples, 1);
	assert_int_equal(np->samples[0].count, count);
	l = &np->locations[np->stack_locations[np->stacks[np->samples[0].stack].first]];
	snprintf(name, sizeof(name), "c/C.m%u", which);
	assert_string_equal(named_string(np, np->functions[np->lines[l->first_line].function].name), name);
	named_profile_free(np);
}

static struct day *open_day(unsigned step)
{
	struct day *d = NULL;

	assert_int_equal(day_open(dir, day_of(MIDNIGHT, step), DAY_ADDS, &d, NULL), 0);
	assert_int_equal(day_begin(d, NULL), 0);
	return d;
}

/* The numbers that a file had are not believed when there is another one in its place. */
static void numbers_of_another_file_are_not_used(void **state)
{
	struct store *s = open_store();
	struct day *from, *to;

	(void)state;
	add(s, 1, MIDNIGHT, 1, 3);
	add(s, 1, MIDNIGHT + 60, 2, 5);
	assert_int_equal(store_flush(s, NULL), 0);
	store_close(s);
	from = open_day(0);
	to = open_day(1);
	assert_int_equal(store_roll(from, to, MIDNIGHT, NULL), 0);
	assert_int_equal(store_roll(from, to, MIDNIGHT + 60, NULL), 0);
	day_close(to); /* what it had is lost */
	to = open_day(1);
	assert_int_equal(store_roll(from, to, MIDNIGHT + 60, NULL), 0);
	assert_int_equal(store_roll(from, to, MIDNIGHT, NULL), 0);
	assert_int_equal(day_commit(to, NULL), 0);
	day_close(to);
	day_close(from);
	remove_day("2026-11-24-10s.db");
	assert_top(MIDNIGHT, MIDNIGHT + 60, 1, 3);
	assert_top(MIDNIGHT + 60, MIDNIGHT + 120, 2, 5);
}

/* A short range is read from the finest step, unless this has nothing of that time. */
static void a_short_range_is_read_from_what_there_is(void **state)
{
	struct store *s = open_store();

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		add(s, 1, MIDNIGHT + i * STORE_STEP_S, 1, 10);
	assert_int_equal(store_tend(s, (MIDNIGHT + 300) * SECOND, NULL), 0);
	store_close(s);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 120, NULL), 120);
	assert_int_equal(store_test_count(dir, MIDNIGHT + 50, MIDNIGHT + 120, NULL), 70);
	run_sql("2026-11-24-10s.db", "delete from bucket where at % 86400 < 60");
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 120, NULL), 120);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 60, NULL), 60);
	run_sql("2026-11-24-1m.db", "delete from bucket where at % 86400 >= 60");
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 120, NULL), 120);
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 8000, NULL), 60); /* a longer one, from 1m */
}

/* The last steps of a day are added up before its file is closed. */
static void a_day_is_finished_at_midnight(void **state)
{
	struct store *s = open_store();

	(void)state;
	for (uint32_t i = 1; i <= 7; i++)
		add(s, 1, MIDNIGHT - i * STORE_STEP_S, 1, 10);
	add(s, 1, MIDNIGHT, 1, 10);
	assert_int_equal(store_flush(s, NULL), 0);
	store_close(s);
	remove_day("2026-11-23-10s.db");
	assert_int_equal(store_test_count(dir, MIDNIGHT - 60, MIDNIGHT, NULL), 60);
	assert_int_equal(store_test_count(dir, MIDNIGHT - 120, MIDNIGHT, NULL), 70);
}

static void stacks_are_remembered_for_a_time(void **state)
{
	static const struct {
		int64_t at;
		uint64_t stack;
		size_t once[2], lasting[2]; /* young and old ones, afterwards */
	} steps[] = {
		{0, 0, {1, 0}, {0, 0}},   {10, 1, {2, 0}, {0, 0}},   {20, 0, {2, 0}, {0, 0}},
		{300, 2, {1, 2}, {0, 0}}, {290, 3, {2, 2}, {0, 0}},  {310, 0, {2, 2}, {1, 0}},
		{600, 4, {1, 2}, {1, 0}}, {7200, 0, {0, 1}, {0, 1}}, {14400, 0, {1, 0}, {0, 0}},
	};
	struct store_target t = store_test_target(1);
	struct day *d = open_day(0);
	const struct recurring *stacks = &d->dict->stacks;

	(void)state;
	for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct named_profile *np = store_test_profile(MIDNIGHT + (uint64_t)steps[i].at, steps[i].stack, 1);

		assert_int_equal(day_begin(d, NULL), 0);
		assert_int_equal(day_add_profile(d, &t, MIDNIGHT + steps[i].at, np, &(bool){false}, NULL), 0);
		assert_int_equal(day_commit(d, NULL), 0);
		assert_int_equal(stacks->once.young.n, steps[i].once[0]);
		assert_int_equal(stacks->once.old.n, steps[i].once[1]);
		assert_int_equal(stacks->lasting.young.n, steps[i].lasting[0]);
		assert_int_equal(stacks->lasting.old.n, steps[i].lasting[1]);
		named_profile_free(np);
	}
	day_close(d);
}

/* The file of minutes does not: its stacks are those of the nodes that are added up. */
static void adding_up_remembers_stacks(void **state)
{
	struct store_target t = store_test_target(1);
	struct day *from = open_day(0), *to = open_day(1);
	uint32_t nodes = 0;

	(void)state;
	assert_int_equal(day_steps[0].recurs_s, day_steps[1].recurs_s); /* both forget the same */
	for (uint32_t i = 0; i < 3; i++) {
		int64_t at = (int64_t)MIDNIGHT + 60 * i;
		struct named_profile *np = store_test_profile((uint64_t)at, 1, 1);

		assert_int_equal(day_begin(from, NULL), 0);
		assert_int_equal(day_begin(to, NULL), 0);
		assert_int_equal(day_add_profile(from, &t, at, np, &(bool){false}, NULL), 0);
		assert_int_equal(day_commit(from, NULL), 0);
		assert_int_equal(store_roll(from, to, at, NULL), 0);
		assert_int_equal(day_commit(to, NULL), 0);
		assert_true(!nodes || dictionary_count(to->dict, DICT_NODES) == nodes);
		forget_nodes(to->dict);
		nodes = dictionary_count(to->dict, DICT_NODES);
		named_profile_free(np);
	}
	assert_int_equal(recurring_bytes(&to->dict->stacks), 0);
	day_close(to);
	day_close(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_profile_comes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(recorded_profiles_come_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(targets_are_chosen_by_label, set_up, tear_down),
		cmocka_unit_test_setup_teardown(targets_come_in_any_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(steps_are_added_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(forgotten_stacks_are_read_and_added_up, set_up, tear_down),
		cmocka_unit_test(the_memory_of_a_writer_is_bounded),
		cmocka_unit_test(stacks_keep_their_nodes_for_a_while),
		cmocka_unit_test(what_stacks_have_in_common_is_kept),
		cmocka_unit_test(dictionaries_rest),
		cmocka_unit_test(nodes_are_forgotten_once_for_what_was_added),
		cmocka_unit_test(what_is_remembered_is_bounded),
		cmocka_unit_test(a_clock_that_is_set_back_is_a_new_period),
		cmocka_unit_test(what_recurs_is_remembered_for_longer),
		cmocka_unit_test_setup_teardown(a_writer_goes_on_where_another_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(numbers_of_another_file_are_not_used, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_short_range_is_read_from_what_there_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_day_is_finished_at_midnight, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_are_remembered_for_a_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(adding_up_remembers_stacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wider_steps_are_the_sum, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
