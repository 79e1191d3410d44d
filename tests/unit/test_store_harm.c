#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "sampler/store/stacks/dictionary.h"
#include "symbolizer/base/buf.h"
#include "tests/support/store_each.h"

#define FINE "2026-11-24-10s.db"

static struct store *open_with(struct store_options o)
{
	struct store *s = NULL;

	assert_int_equal(store_open(dir, &o, &s, NULL), 0);
	return s;
}

static struct store *open_store(void)
{
	return open_with((struct store_options){0});
}

static const char *path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static bool exists(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static void put(struct store *s, uint64_t at_s, uint32_t which)
{
	assert_int_equal(store_test_add(s, 1, at_s, which, 1), 0);
	assert_int_equal(store_flush(s, NULL), 0);
}

static uint64_t count_day(void)
{
	return store_test_count(dir, MIDNIGHT, MIDNIGHT + 86400, NULL);
}

/* --- kill -9 */

static void write_until_killed(int out, uint64_t done)
{
	struct store *s = NULL;

	if (store_open(dir, &(struct store_options){0}, &s, NULL) < 0)
		_exit(1);
	for (;; done++) {
		uint64_t at = MIDNIGHT + done * STORE_STEP_S % 80000;

		if (store_test_add(s, 1, at, (uint32_t)done, 1) < 0 || store_flush(s, NULL) < 0 ||
		    store_tend(s, (at + 1000) * SECOND, NULL) < 0 || write(out, "x", 1) != 1)
			_exit(2);
	}
}

/* What the child told is kept; what it was about to commit may be. */
static uint64_t kill_one(uint64_t done, unsigned us)
{
	int ends[2], status;
	char told[4096];
	ssize_t n;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0)
		write_until_killed(ends[1], done);
	close(ends[1]);
	n = read(ends[0], told, 1); /* the first, however slow the machine is */
	assert_int_equal(n, 1);
	done++;
	usleep(us);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	while ((n = read(ends[0], told, sizeof(told))) > 0)
		done += (uint64_t)n;
	close(ends[0]);
	return done;
}

static void kills_cost_nothing_committed(void **state)
{
	const char *more = getenv("JS_STORE_KILLS");
	int rounds = more ? atoi(more) : 60;
	uint64_t done = 0;

	(void)state;
	srand(7);
	for (int i = 0; i < rounds; i++) {
		uint64_t told = kill_one(done, (unsigned)rand() % 10000), kept = count_day();

		assert_true(kept == told || kept == told + 1);
		done = kept;
	}
	assert_true(done >= (uint64_t)rounds);
	assert_false(exists(FINE ".aside"));
}

/* --- no room */

static void in_little_room(void)
{
	const struct rlimit small = {300 << 10, 300 << 10};
	struct store *s = NULL;
	uint64_t kept = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &small) < 0 || store_open(dir, &(struct store_options){0}, &s, NULL) < 0)
		_exit(1);
	for (uint32_t i = 0; i < 2000; i++) {
		int r = store_test_add(s, 1, MIDNIGHT + i * STORE_STEP_S % 80000, i, 1);

		r = r < 0 ? r : store_flush(s, NULL);
		kept += r == 0;
		if (r < 0 && (i > 1900 || r == -EBADMSG))
			_exit(kept == count_day() && r != -EBADMSG ? 0 : 2);
	}
	_exit(3);
}

static void a_full_disk_costs_nothing_committed(void **state)
{
	struct store *s;
	uint64_t before;
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		in_little_room();
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	before = count_day();
	assert_true(before > 10);
	s = open_store();
	put(s, MIDNIGHT, 1);
	store_close(s);
	assert_int_equal(count_day(), before + 1);
	assert_false(exists(FINE ".aside"));
}

/* --- damage */

static void overwrite(const char *name, unsigned at, size_t len)
{
	uint8_t noise[512];
	struct stat st;
	int fd = open(path_of(name), O_RDWR);

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)rand();
	assert_true(pwrite(fd, noise, len, (off_t)(at % (unsigned)st.st_size)) > 0);
	close(fd);
}

static void noise_is_not_believed(void **state)
{
	enum { ROUNDS = 40, STEPS = 60 };

	(void)state;
	srand(11);
	for (int i = 0; i < ROUNDS; i++) {
		struct store *s = open_store();
		struct named_profile *np = NULL;

		for (uint32_t k = 0; k < STEPS; k++)
			assert_int_equal(store_test_add(s, 1, MIDNIGHT + k * 10, k, 1), 0);
		assert_int_equal(store_flush(s, NULL), 0);
		store_close(s);
		for (int k = 0; k <= i % 4; k++)
			overwrite(FINE, (unsigned)rand(), 1 + (size_t)rand() % 512);
		store_test_read(dir, MIDNIGHT, MIDNIGHT + 86400, NULL, &np);
		named_profile_free(np);
		/* It goes on, if not with this file then with a new one; what is in the first step may be what fails. */
		s = open_store();
		if (store_test_add(s, 1, MIDNIGHT, 1, 1) < 0 || store_flush(s, NULL) < 0)
			put(s, MIDNIGHT, 1);
		assert_true(store_tend(s, (MIDNIGHT + 5000) * SECOND, NULL) <= 0);
		put(s, MIDNIGHT + 70000, 1);
		store_close(s);
		assert_int_equal(store_test_count(dir, MIDNIGHT + 70000, MIDNIGHT + 70010, NULL), 1);
		store_test_remove(dir);
		store_test_dir(dir);
	}
}

static void a_header_of_noise_is_set_aside(void **state)
{
	struct store *s = open_store();

	(void)state;
	put(s, MIDNIGHT, 1);
	store_close(s);
	overwrite(FINE, 0, 100);
	assert_int_equal(count_day(), 0);
	s = open_store();
	put(s, MIDNIGHT + 20, 1);
	store_close(s);
	assert_true(exists(FINE ".aside"));
	assert_int_equal(count_day(), 1);
}

static void run_sql(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path_of(FINE), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void a_newer_version_is_left_alone(void **state)
{
	struct store *s = open_store();

	(void)state;
	put(s, MIDNIGHT, 1);
	store_close(s);
	run_sql("pragma user_version = 2");
	assert_int_equal(count_day(), 0);
	assert_true(exists(FINE));
	s = open_store();
	put(s, MIDNIGHT, 2);
	store_close(s);
	assert_true(exists(FINE ".aside"));
	assert_int_equal(count_day(), 1);
}

static void references_to_nothing_are_damage(void **state)
{
	static const char *const sql[] = {
		"update bucket set event = 9",
		"update bucket set target = 9",
		"update bucket set event = -1",
		"delete from segment where tab = 4",
		"update segment set first = 7 where tab = 0",
		"delete from target",
		"update bucket set bytes = x'00'",
		"update note set why = 77, function = -3",
		"drop table segment",
		"update label set value = null",
		"update waiting set at = -5",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
		struct store *s = open_store();
		struct named_profile *np = NULL;

		put(s, MIDNIGHT, 1);
		store_close(s);
		run_sql(sql[i]);
		store_test_read(dir, MIDNIGHT, MIDNIGHT + 86400, NULL, &np);
		named_profile_free(np);
		s = open_store();
		assert_true(store_tend(s, (MIDNIGHT + 5000) * SECOND, NULL) <= 0);
		put(s, MIDNIGHT + 100, 1);
		store_close(s);
		assert_int_equal(store_test_count(dir, MIDNIGHT + 100, MIDNIGHT + 110, NULL), 1);
		store_test_remove(dir);
		store_test_dir(dir);
	}
}

static void a_file_in_use_does_not_block_others(void **state)
{
	struct store *s = open_store();
	sqlite3 *db;

	(void)state;
	put(s, MIDNIGHT, 1);
	store_close(s);
	assert_int_equal(sqlite3_open(path_of(FINE), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "pragma locking_mode = exclusive; begin exclusive", NULL, NULL, NULL),
			 SQLITE_OK);
	s = open_store();
	put(s, MIDNIGHT + 86400, 1);
	assert_true(store_tend(s, (MIDNIGHT + 86400 + 5000) * SECOND, NULL) < 0);
	assert_true(exists("2026-11-25-1m.db"));
	sqlite3_close(db);
	assert_int_equal(store_tend(s, (MIDNIGHT + 86400 + 5060) * SECOND, NULL), 0);
	assert_true(exists("2026-11-24-1m.db"));
	store_close(s);
}

/* Of another user: none of these is a table of ours, and the view never ends. */
static void only_own_tables_are_read(void **state)
{
	static const char *const sql[] = {
		"drop table waiting; create view waiting as with recursive n(at) as (select 1 union all select at + 1 "
		"from n) "
		"select at from n where at < 0",
		"drop table segment; create virtual table segment using fts5(tab, first, bytes)",
		"drop table bucket; create table bucket(id, at, target, event, bytes as (zeroblob(900000000)))",
		"create trigger t after insert on bucket begin delete from target; end",
	};

	(void)state;
	alarm(60);
	for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
		struct store *s = open_store();

		put(s, MIDNIGHT, 1);
		store_close(s);
		run_sql(sql[i]);
		assert_int_equal(count_day(), 0);
		s = open_store();
		put(s, MIDNIGHT, 1);
		store_close(s);
		assert_true(exists(FINE ".aside"));
		store_test_remove(dir);
		store_test_dir(dir);
	}
	alarm(0);
}

static void a_fifo_is_not_waited_for(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path_of(FINE), 0600), 0);
	alarm(60);
	assert_int_equal(count_day(), 0);
	alarm(0);
}

/* A stack of n frames, each with another line. */
static struct named_profile *deep_profile(uint32_t n)
{
	struct named_builder *b = named_builder_new();
	uint32_t *at = calloc(n, sizeof(*at)), f = named_builder_function(b, "a/A.deep", "", "A.java");
	struct named_sample s = {.count = 1, .weight = STORE_TEST_PERIOD};

	for (uint32_t i = 0; i < n; i++)
		at[i] = named_builder_location(b, 0, 0, &(struct named_line){.function = f, .line = (int32_t)i}, 1);
	s.stack = named_builder_stack(b, at, n);
	named_builder_sample(b, &s);
	free(at);
	named_builder_meta(b)->event = named_builder_keep(b, "cpu");
	named_builder_meta(b)->unit = named_builder_keep(b, "nanoseconds");
	named_builder_meta(b)->period = STORE_TEST_PERIOD;
	named_builder_meta(b)->start_realtime_ns = MIDNIGHT * SECOND;
	return named_builder_take(b);
}

static void what_is_too_deep_loses_its_root(void **state)
{
	struct store_target t = store_test_target(1);
	struct named_profile *np = deep_profile(100000);
	struct store *s = open_store();
	const struct named_line *root;

	(void)state;
	assert_int_equal(store_add(s, &t, np, NULL), 0);
	named_profile_free(np);
	assert_int_equal(store_flush(s, NULL), 0);
	store_close(s);
	assert_int_equal(store_test_read(dir, MIDNIGHT, MIDNIGHT + 10, NULL, &np), 0);
	assert_int_equal(np->n_samples, 1);
	assert_int_equal(np->stacks[0].n, DICT_DEPTH_MAX);
	assert_int_equal(np->lines[np->locations[np->stack_locations[0]].first_line].line, 0);
	root = &np->lines[np->locations[np->stack_locations[DICT_DEPTH_MAX - 1]].first_line];
	assert_string_equal(named_string(np, np->functions[root->function].name), "[truncated]");
	assert_int_equal(root->kind, NAMED_MARK);
	named_profile_free(np);
}

static int load_chain(uint32_t depth)
{
	struct dictionary *from = dictionary_new(), *to = dictionary_new();
	struct buf bytes = {0};
	uint32_t first, node = 0;
	int r;

	for (uint32_t i = 0; i < depth; i++)
		node = dictionary_id(from, DICT_NODES, (uint32_t[]){node, 0, 1});
	assert_int_equal(node, depth);
	assert_true(dictionary_save(from, DICT_NODES, &first, &bytes));
	r = dictionary_load(to, DICT_NODES, first, bytes.data, bytes.len);
	buf_done(&bytes);
	dictionary_free(from);
	dictionary_free(to);
	return r;
}

/* Each sample at each node of a chain of a million would be a stack of its own. */
static void a_chain_that_is_too_deep_is_damage(void **state)
{
	(void)state;
	assert_int_equal(load_chain(DICT_DEPTH_MAX), 0);
	assert_int_equal(load_chain(DICT_DEPTH_MAX + 1), -EBADMSG);
}

static void statistics_are_no_harm(void **state)
{
	struct store *s = open_store();

	(void)state;
	put(s, MIDNIGHT, 1);
	store_close(s);
	run_sql("analyze");
	assert_int_equal(count_day(), 1);
}

/* --- who else is there */

static void one_daemon_at_a_time(void **state)
{
	struct store *s = open_store(), *other = NULL;

	(void)state;
	assert_int_equal(store_open(dir, &(struct store_options){0}, &other, NULL), -EBUSY);
	put(s, MIDNIGHT, 1);
	assert_int_equal(count_day(), 1);
	store_close(s);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(store_open(dir, &(struct store_options){0}, &other, NULL), -EPERM);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(symlink("/etc/passwd", path_of("2026-11-25-10s.db")), 0);
	s = open_store();
	assert_true(store_test_add(s, 1, MIDNIGHT + 86400, 1, 1) < 0);
	put(s, MIDNIGHT, 1);
	store_close(s);
}

/* --- time and space */

static void old_files_go(void **state)
{
	struct store *s = open_store();

	(void)state;
	put(s, MIDNIGHT, 1);
	for (uint64_t day = 0; day < 9; day++)
		for (uint64_t hour = 0; hour < 24; hour++)
			assert_int_equal(store_tend(s, (MIDNIGHT + (day * 24 + hour) * 3600) * SECOND, NULL), 0);
	put(s, MIDNIGHT + 9 * 86400, 1);
	assert_int_equal(store_tend(s, (MIDNIGHT + 9 * 86400) * SECOND, NULL), 0);
	assert_false(exists(FINE));
	assert_false(exists("2026-11-24-1m.db"));
	assert_true(exists("2026-11-24-10m.db"));
	assert_int_equal(count_day(), 1);
	store_close(s);
}

static void a_clock_that_jumps_costs_nothing(void **state)
{
	struct store *s = open_store();
	static const uint64_t at[] = {40000, 40600, 36400, 36410, 37000, 200000, 10000000, 40700};

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		put(s, MIDNIGHT + at[i], (uint32_t)i);
		assert_int_equal(store_tend(s, (MIDNIGHT + at[i]) * SECOND, NULL), 0);
	}
	assert_int_equal(store_test_count(dir, MIDNIGHT, MIDNIGHT + 20000000, NULL), sizeof(at) / sizeof(at[0]));
	/* The wrong time stays for an hour: then what is old goes. */
	for (uint64_t k = 0; k <= 7; k++)
		assert_int_equal(store_tend(s, (MIDNIGHT + 20000000 + k * 600) * SECOND, NULL), 0);
	assert_int_equal(count_day(), 0);
	store_close(s);
}

static void too_much_goes_oldest_first(void **state)
{
	struct store *s = open_with((struct store_options){.max_bytes = 250 << 10});

	(void)state;
	for (uint64_t day = 0; day < 6; day++)
		put(s, MIDNIGHT + day * 86400, (uint32_t)day);
	assert_int_equal(store_tend(s, (MIDNIGHT + 5 * 86400 + 100) * SECOND, NULL), 0);
	assert_false(exists(FINE));
	assert_true(exists("2026-11-29-10s.db"));
	assert_int_equal(store_test_count(dir, MIDNIGHT + 5 * 86400, MIDNIGHT + 6 * 86400, NULL), 1);
	store_close(s);
}

static void nothing_need_be_writable(void **state)
{
	struct store *s = open_store();

	(void)state;
	put(s, MIDNIGHT, 1);
	store_close(s);
	assert_false(exists(FINE "-wal"));
	if (geteuid() == 0 && setegid(65534) == 0) {
		assert_int_equal(chmod(dir, 0555), 0);
		assert_int_equal(chmod(path_of(FINE), 0444), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	assert_int_equal(count_day(), 1);
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(setegid(getgid()), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kills_cost_nothing_committed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_costs_nothing_committed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(noise_is_not_believed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_header_of_noise_is_set_aside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_newer_version_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(references_to_nothing_are_damage, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_in_use_does_not_block_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_own_tables_are_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_fifo_is_not_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_too_deep_loses_its_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_chain_that_is_too_deep_is_damage, set_up, tear_down),
		cmocka_unit_test_setup_teardown(statistics_are_no_harm, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_daemon_at_a_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(old_files_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_clock_that_jumps_costs_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_much_goes_oldest_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_need_be_writable, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
