/* Where a path leads, compared with where the kernel goes: thousands of paths through a tree of one's own links. */
#include "test_base_outfile.h"

#include "symbolizer/files/path_walk.h"

/* DEPTH: no path leads out, whatever its names. */
enum { PATHS = 30000, LONGEST = 9, DEPTH = 2 * LONGEST + 1 };

static uint64_t seed = 4711;

static unsigned pick(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % n;
}

static int enter_tree(void **state)
{
	/* clang-format off */
	static const char *const links[][2] = {
		{"d", "to_d"}, {"./d/e", "to_e"}, {"d/file", "to_file"}, {"..", "d/up"}, {"../..", "d/e/up2"},
		{"new", "dangling"}, {"d/../to_d/e/new", "d/far"}, {"none/new", "d/e/lost"}, {"loop", "loop"},
		{"d/e/", "slash"}, {"d/file/", "file_slash"}, {"to_e/../to_loop", "to_loop"}, {"d/file/x", "through"},
	};
	/* clang-format on */
	char absolute[200];

	if (enter_dir(state) < 0)
		return -1;
	for (int i = 0; i < DEPTH; i++)
		if (mkdir("x", 0755) < 0 || chdir("x") < 0)
			return -1;
	if (!getcwd(absolute, sizeof(absolute) - 2) || mkdir("d", 0755) < 0 || mkdir("d/e", 0755) < 0)
		return -1;
	put("file", "1");
	put("d/file", "2");
	put("d/e/file", "3");
	strcat(absolute, "/d");
	if (symlink(absolute, "absolute") < 0)
		return -1;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlink(links[i][0], links[i][1]) < 0)
			return -1;
	return 0;
}

static void make_path(char *dst)
{
	static const char *const names[] = {
		"d",    "e",     "file",       "new",     "none",    "..",       "..",      ".",
		"up",   "up2",   "far",        "lost",    "to_d",    "to_e",     "to_file", "dangling",
		"loop", "slash", "file_slash", "to_loop", "through", "absolute", "",
	};
	unsigned n = 1 + pick(LONGEST);

	*dst = '\0';
	for (unsigned i = 0; i < n; i++) {
		strcat(dst, names[pick(sizeof(names) / sizeof(*names))]);
		if (i + 1 < n || pick(8) == 0)
			strcat(dst, "/");
	}
	if (*dst == '/') /* out of the tree */
		memmove(dst, dst + strspn(dst, "/"), strlen(dst + strspn(dst, "/")) + 1);
}

/* What open(2) would make is made, looked at and removed. */
static void check_new(const char *path, const struct path_end *end)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	struct stat made, found;

	if (fd < 0)
		fail_msg("'%s': free, but %s", path, strerror(errno));
	assert_int_equal(fstat(fd, &made), 0);
	close(fd);
	assert_int_equal(fstatat(end->dir, end->name, &found, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(found.st_ino, made.st_ino);
	assert_int_equal(unlinkat(end->dir, end->name, 0), 0);
}

static void check_path(const char *path)
{
	struct path_end end;
	int r = path_walk(path, true, &end, NULL), want;
	struct stat st;

	want = stat(path, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? -EISDIR : 0;
	/* A name that only a directory can have. */
	if (r == -EISDIR && want == -ENOENT) {
		errno = 0;
		assert_int_equal(open(path, O_WRONLY | O_CREAT, 0600), -1);
		want = -errno;
	}
	if (r == 0 && end.fd < 0)
		check_new(path, &end);
	else if (r != want || (r == 0 && st.st_ino != end.st.st_ino))
		fail_msg("'%s': %s, the kernel: %s", path, strerror(-r), strerror(-want));
	path_end_done(&end);
}

static void test_as_the_kernel(void **state)
{
	char path[200];

	(void)state;
	for (int i = 0; i < PATHS; i++) {
		make_path(path);
		check_path(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_as_the_kernel, enter_tree, leave_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
