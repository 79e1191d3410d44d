/* Files of finished days, rewritten: what is read from them stays the same, whenever that ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "sampler/store/compaction.h"
#include "sampler/store/compactor.h"
#include "sampler/store/day/day.h"
#include "sampler/store/day/day_add.h"
#include "tests/support/folded_text.h"
#include "tests/support/store_each.h"

enum { TARGETS = 5, STEPS = 12, STEP_S = 600, STACKS = 60, DEPTH = 40, WAYS = 3 };

#define FILE_NAME "2026-11-24-10m.db"
#define DAY_END (MIDNIGHT + 86400)

static const struct day_id file = {MIDNIGHT / 86400, 2};

/* --- a day --- */

static uint32_t random_below(uint32_t n)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 20) % n;
}

static uint64_t period = STORE_TEST_PERIOD;

/* The odds, one in so many, that a call is not the most frequent one. */
static uint32_t variety = 8;

/* A way down a tree of calls that the programs of a service have in common: most stacks are as another one at first. */
static uint32_t make_stack(struct named_builder *b, uint32_t jit, uint32_t service)
{
	uint32_t at[DEPTH], n = 1 + random_below(DEPTH), way = service;

	for (uint32_t i = n; i-- > 0;) {
		struct named_line line = {.bci = -1, .kind = NAMED_C2, .tier = 4};
		char name[40];

		way = way * 31 + (random_below(variety) ? 0 : random_below(WAYS));
		line.line = way % 3;
		snprintf(name, sizeof(name), "s%u/C.m%u", service, way % 500);
		line.function = named_builder_function(b, name, "m()V", "C.java");
		at[i] = named_builder_location(b, jit, 0, &line, 1);
	}
	return named_builder_stack(b, at, n);
}

static struct named_profile *random_profile(uint32_t service, uint32_t stacks, uint64_t at_s, const char *event)
{
	struct named_builder *b = named_builder_new();
	uint32_t jit = named_builder_mapping(b, "[jit]", "");
	struct named_meta *m = named_builder_meta(b);

	for (uint32_t i = 0; i < stacks; i++) {
		struct named_sample s = {.count = 1 + random_below(5), .stack = make_stack(b, jit, service)};

		s.weight = s.count * period + random_below(2);
		s.thread = named_builder_string(b, random_below(2) ? "main" : "pool-1");
		m->complete += s.count;
		named_builder_sample(b, &s);
	}
	m->event = named_builder_keep(b, event);
	m->unit = named_builder_keep(b, "nanoseconds");
	m->period = period;
	m->jdk = m->command = m->jsampler = "";
	m->start_realtime_ns = at_s * SECOND;
	return named_builder_take(b);
}

/* Targets 1 and 3, and 2 and 4, are of one service. */
static void add(struct day *d, pid_t pid, uint64_t at_s, uint32_t stacks, const char *event)
{
	struct label label = {"service", pid == 5 ? "five" : pid % 2 ? "odd" : "even"};
	struct store_target t = store_test_target(pid);
	struct named_profile *np = random_profile(pid == 5 ? 5 : pid % 2, stacks, at_s, event);
	bool ignored;

	t.labels = &label;
	t.n_labels = 1;
	assert_int_equal(day_add_profile(d, &t, (int64_t)at_s, np, &ignored, NULL), 0);
	named_profile_free(np);
}

static struct day *open_file(void)
{
	struct day *d = NULL;

	assert_int_equal(day_open(dir, file, DAY_ADDS, &d, NULL), 0);
	assert_int_equal(day_begin(d, NULL), 0);
	return d;
}

static void close_file(struct day *d)
{
	assert_int_equal(day_commit(d, NULL), 0);
	day_close(d);
}

/* A writer that opens a file does not know its nodes, so that it adds them again. */
static void fill(uint32_t stacks)
{
	for (uint64_t i = 0; i < STEPS; i++) {
		struct day *d = open_file();

		for (pid_t pid = 1; pid <= TARGETS; pid++)
			add(d, pid, MIDNIGHT + i * STEP_S, stacks, "cpu");
		add(d, 2, MIDNIGHT + i * STEP_S, stacks, "wall");
		close_file(d);
	}
}

static int64_t query(const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	char path[128];
	int64_t n;

	snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
	sqlite3_finalize(s);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return n;
}

/* --- what is read --- */

enum { TEXTS = 6 };

static char *read_text(uint64_t from_s, uint64_t to_s, const char *service)
{
	struct named_profile *np = NULL;
	char *text;

	assert_int_equal(store_test_read(dir, from_s, to_s, service, &np), 0);
	text = folded_text(np, true);
	named_profile_free(np);
	return text;
}

static int add_row(void *ctx, const struct store_row *row)
{
	FILE *f = ctx;

	fprintf(f, "%d %s %llu %llu %llu %llu %llu %llu\n", row->target.pid, row->target.labels[0].value,
		(unsigned long long)row->first_s, (unsigned long long)row->last_s, (unsigned long long)row->samples,
		(unsigned long long)row->weight, (unsigned long long)row->period,
		(unsigned long long)row->by_kind[NAMED_C2]);
	return 0;
}

static char *read_list(const char *event)
{
	struct store_query q = {.from_ns = MIDNIGHT * SECOND, .to_ns = DAY_END * SECOND, .event = event};
	struct store_view *v = NULL;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(store_view_open(dir, &q, &v, NULL), 0);
	assert_int_equal(store_view_targets(v, 10, add_row, f, NULL), 0);
	store_view_close(v);
	fclose(f);
	return text;
}

static void read_texts(char *ret[TEXTS])
{
	ret[0] = read_text(MIDNIGHT, DAY_END, NULL);
	ret[1] = read_text(MIDNIGHT, DAY_END, "odd");
	ret[2] = read_text(MIDNIGHT, DAY_END, "five");
	ret[3] = read_text(MIDNIGHT + STEP_S, MIDNIGHT + 3 * STEP_S, "even");
	ret[4] = read_list("cpu");
	ret[5] = read_list("wall");
}

static void free_texts(char *texts[TEXTS])
{
	for (int i = 0; i < TEXTS; i++)
		free(texts[i]);
}

static void assert_same(char *const before[TEXTS])
{
	char *after[TEXTS];

	read_texts(after);
	for (int i = 0; i < TEXTS; i++)
		assert_string_equal(after[i], before[i]);
	free_texts(after);
}

/* --- rewriting --- */

static struct compaction *begin(void)
{
	struct compaction *c = NULL;

	assert_int_equal(compaction_begin(dir, file, &c, NULL), 0);
	return c;
}

/* In n pieces at most. Returns how many there were. */
static unsigned work(struct compaction *c, unsigned n)
{
	unsigned done = 0;
	int r = 1;

	while (r > 0 && done < n) {
		r = compaction_work(c, 0, NULL);
		assert_true(r >= 0);
		done++;
	}
	return done;
}

static unsigned compact(void)
{
	struct compaction *c = begin();
	unsigned n;

	assert_non_null(c);
	n = work(c, UINT32_MAX);
	compaction_end(c);
	assert_null(begin()); /* it is known to be compact */
	return n;
}

static int64_t file_bytes(void)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

#define NODE_BYTES "select sum(length(bytes)) from segment where tab = 4"
#define FIRST_NODE "select min(first) from segment where tab = 4"

static void a_compact_day_reads_the_same(void **state)
{
	char *before[TEXTS];
	int64_t bytes, size;

	(void)state;
	fill(5 * STACKS);
	read_texts(before);
	bytes = query(NODE_BYTES);
	size = file_bytes();
	compact();
	assert_same(before);
	assert_true(query(FIRST_NODE) > 1);
	assert_int_equal(query("select count(*) from total"), TARGETS + 1);
	assert_int_equal(query("pragma freelist_count"), 0);
	assert_true(query(NODE_BYTES) < bytes * 3 / 4);
	assert_true(file_bytes() < size);
	free_texts(before);
}

/* Each time, it ends a little later, and is then started over. */
static void an_end_in_the_middle_harms_nothing(void **state)
{
	char *before[TEXTS];
	unsigned pieces = 1, step = 1;

	(void)state;
	fill(STACKS / 4);
	read_texts(before);
	for (struct compaction *c; (c = begin()); pieces += step++) {
		work(c, pieces);
		assert_same(before); /* to others, who see what was committed */
		compaction_end(c);
		assert_same(before);
	}
	assert_true(step > 10);
	free_texts(before);
}

static void a_reader_sees_the_day_as_it_was(void **state)
{
	struct store_query q = {.from_ns = MIDNIGHT * SECOND, .to_ns = DAY_END * SECOND, .event = "cpu"};
	struct named_profile *np = NULL;
	struct store_view *v = NULL;
	char *before, *after;

	(void)state;
	fill(STACKS);
	before = read_text(MIDNIGHT, DAY_END, NULL);
	assert_int_equal(store_view_open(dir, &q, &v, NULL), 0);
	compact();
	assert_int_equal(store_view_read(v, &np, NULL), 0);
	store_view_close(v);
	after = folded_text(np, true);
	assert_string_equal(after, before);
	named_profile_free(np);
	free(before);
	free(after);
}

static void what_is_added_later_counts(void **state)
{
	struct day *d;
	uint64_t n;

	(void)state;
	fill(STACKS);
	compact();
	n = store_test_count(dir, MIDNIGHT, DAY_END, "five");
	d = open_file();
	add(d, 5, DAY_END - STEP_S, 0, "cpu"); /* no samples, but totals are not believed any more */
	close_file(d);
	assert_int_equal(query("select count(*) from total"), 0);
	assert_int_equal(store_test_count(dir, MIDNIGHT, DAY_END, "five"), n);
	d = open_file();
	add(d, 5, MIDNIGHT, STACKS, "cpu");
	close_file(d);
	n = store_test_count(dir, MIDNIGHT, DAY_END, "five");
	compact();
	assert_int_equal(store_test_count(dir, MIDNIGHT, DAY_END, "five"), n);
	assert_int_equal(query("select count(*) from total"), TARGETS + 1);
}

/* Those that are done are not done again. */
static void a_new_beginning_goes_on_where_it_ended(void **state)
{
	struct compaction *c;
	unsigned whole, rest;

	(void)state;
	variety = 2; /* each service has a batch of its own */
	fill(2 * STACKS);
	variety = 8;
	c = begin();
	while (!query("select count(*) from total"))
		work(c, 1);
	compaction_end(c);
	rest = compact();
	query("delete from total");
	whole = compact();
	assert_true(rest < whole);
}

/* The latest period of a target, whatever it was before. */
static void a_list_has_the_latest_period(void **state)
{
	struct day *d;
	char *before, *after;

	(void)state;
	fill(1);
	period = 2 * STORE_TEST_PERIOD;
	d = open_file();
	add(d, 5, MIDNIGHT + STEPS * STEP_S, 1, "cpu");
	close_file(d);
	period = STORE_TEST_PERIOD;
	before = read_list("cpu");
	compact();
	after = read_list("cpu");
	assert_string_equal(after, before);
	assert_non_null(strstr(after, " 40816326 "));
	free(before);
	free(after);
}

/* Stacks that have nothing in common but their deepest frames: more rows than a batch may have. */
static void deep_stacks_are_rewritten_in_parts(void **state)
{
	struct named_builder *b;
	uint32_t at[1000], deep = sizeof(at) / sizeof(at[0]);

	(void)state;
	for (uint64_t step = 0; step < 5; step++) {
		struct day *d = open_file();
		struct store_target t = store_test_target(1);
		struct named_profile *np;
		bool ignored;

		b = named_builder_new();
		for (uint32_t i = 0; i < 500; i++) {
			struct named_line line = {.bci = -1, .kind = NAMED_C2, .line = 1 + i + (uint32_t)step * 500};
			struct named_sample s = {.count = 1, .weight = STORE_TEST_PERIOD};

			line.function = named_builder_function(b, "a/A.run", "run()V", "A.java");
			for (uint32_t k = 0; k < deep; k++)
				at[k] = named_builder_location(b, 0, 0, &line, 1);
			s.stack = named_builder_stack(b, at, deep);
			named_builder_sample(b, &s);
		}
		named_builder_meta(b)->event = named_builder_keep(b, "cpu");
		named_builder_meta(b)->unit = named_builder_keep(b, "nanoseconds");
		named_builder_meta(b)->jdk = named_builder_meta(b)->command = named_builder_meta(b)->jsampler = "";
		np = named_builder_take(b);
		assert_int_equal(day_add_profile(d, &t, (int64_t)(MIDNIGHT + step * STEP_S), np, &ignored, NULL), 0);
		named_profile_free(np);
		close_file(d);
	}
	compact();
	assert_int_equal(store_test_count(dir, MIDNIGHT, DAY_END, NULL), 5 * 500);
}

static void nothing_is_done_too_early_or_in_vain(void **state)
{
	struct compaction *c = NULL;
	uint64_t n;

	(void)state;
	assert_int_equal(compaction_begin(dir, file, &c, NULL), -ENOENT);
	assert_null(c);
	close_file(open_file()); /* empty */
	assert_null(begin());
	fill(1);
	n = store_test_count(dir, MIDNIGHT, DAY_END, NULL);
	query("drop table total"); /* an earlier build's */
	assert_int_equal(store_test_count(dir, MIDNIGHT, DAY_END, NULL), n);
	query("insert into waiting values(1)");
	assert_null(begin());
	query("delete from waiting");
	compact();
}

static void break_file(const char *sql, int want)
{
	struct compaction *c = NULL;
	int r;

	query(sql);
	r = compaction_begin(dir, file, &c, NULL);
	while (r >= 0 && c && (r = compaction_work(c, 0, NULL)) > 0)
		;
	compaction_end(c);
	assert_int_equal(r, want);
}

/* What is not damaged can still be read. */
static void a_damaged_file_stays_as_it_is(void **state)
{
	uint64_t five;

	(void)state;
	fill(STACKS);
	five = store_test_count(dir, MIDNIGHT + STEP_S, MIDNIGHT + 2 * STEP_S, "five");
	break_file("update bucket set bytes = x'00' where at % 86400 = 0 and target = 1", -EBADMSG);
	assert_int_equal(store_test_count(dir, MIDNIGHT + STEP_S, MIDNIGHT + 2 * STEP_S, "five"), five);
	query("delete from bucket where length(bytes) = 1");
	break_file("update segment set bytes = x'00' where tab = 4 and first = 1", -EBADMSG);
	query("delete from segment where tab = 4");
	break_file("insert into segment values(4, 1, x'28b52ffd2000010000')", -EBADMSG);
	break_file("update segment set first = 4000000000 where tab = 4", -EBADMSG);
	break_file("update segment set first = -1 where tab = 4", -EBADMSG);
}

/* More of them than are rewritten at once, of few services. */
static void many_stacks_are_rewritten_in_parts(void **state)
{
	char *before[TEXTS];

	(void)state;
	variety = 2;
	fill(STACKS * 18);
	variety = 8;
	read_texts(before);
	assert_true(compact() > 2 * TARGETS * STEPS);
	assert_same(before);
	free_texts(before);
}

/* --- which files, and when --- */

static uint64_t room_for_files = UINT64_MAX;

static void choose(struct compactor *k, struct day *open, uint64_t now_s)
{
	struct day *const days[STORE_STEPS] = {[2] = open};
	store_file_list files = {0};

	assert_int_equal(store_files(dir, &files), 0);
	compactor_choose(k, dir, &files, days, room_for_files, now_s);
	vec_done(&files);
}

static void a_day_is_compacted_when_nobody_writes_it_any_more(void **state)
{
	struct compactor k = {0};
	struct day *d;

	(void)state;
	fill(1);
	choose(&k, NULL, DAY_END + 60); /* its last steps may come */
	assert_null(k.running);
	d = open_file();
	choose(&k, d, DAY_END + 7200);
	assert_null(k.running);
	close_file(d);
	room_for_files = 16 << 20;
	choose(&k, NULL, DAY_END + 7200);
	assert_null(k.running);
	room_for_files = UINT64_MAX;
	choose(&k, NULL, DAY_END + 7200);
	assert_non_null(k.running);
	compactor_leave(&k, (struct day_id){file.date, 1}); /* another one */
	assert_non_null(k.running);
	compactor_leave(&k, file);
	assert_null(k.running);
	choose(&k, NULL, DAY_END + 7200);
	assert_non_null(k.running);
	k.credit_ns = 0;
	compactor_work(&k, dir);
	assert_int_equal(query(FIRST_NODE), 1);
	k.credit_ns = 10 * (int64_t)SECOND;
	compactor_work(&k, dir);
	assert_null(k.running);
	assert_true(query(FIRST_NODE) > 1);
	choose(&k, NULL, DAY_END + 7200);
	assert_null(k.running);
	assert_int_equal(k.done[2], file.date);
	choose(&k, NULL, DAY_END + 7100); /* the clock was set back */
	assert_null(k.running);
	assert_int_equal(k.done[2], file.date);
	choose(&k, NULL, 0);
	assert_int_equal(k.done[2], 0);
}

static void a_store_compacts_its_days(void **state)
{
	struct store *s = NULL;

	(void)state;
	assert_int_equal(store_open(dir, &(struct store_options){0}, &s, NULL), 0);
	assert_int_equal(store_test_add(s, 1, MIDNIGHT, 1, 3), 0);
	assert_int_equal(store_test_add(s, 1, DAY_END, 1, 5), 0);
	for (int i = 0; i < 3; i++) { /* one file after the other, of which the last is in use at first */
		assert_int_equal(store_tend(s, (DAY_END + 7200) * SECOND, NULL), 0);
		store_compact(s);
	}
	assert_true(query(FIRST_NODE) > 1);
	assert_int_equal(store_test_count(dir, MIDNIGHT, DAY_END + 600, NULL), 8);
	assert_int_equal(store_test_add(s, 1, MIDNIGHT + 20, 1, 7), 0); /* the clock was set back */
	assert_int_equal(store_tend(s, (DAY_END + 7200) * SECOND, NULL), 0);
	assert_int_equal(store_test_count(dir, MIDNIGHT, DAY_END, NULL), 10);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_compact_day_reads_the_same, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_end_in_the_middle_harms_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reader_sees_the_day_as_it_was, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_added_later_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_new_beginning_goes_on_where_it_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_list_has_the_latest_period, set_up, tear_down),
		cmocka_unit_test_setup_teardown(deep_stacks_are_rewritten_in_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_done_too_early_or_in_vain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_file_stays_as_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_stacks_are_rewritten_in_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_day_is_compacted_when_nobody_writes_it_any_more, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_store_compacts_its_days, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
