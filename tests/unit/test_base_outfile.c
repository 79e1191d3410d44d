#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"
#include "test_base_outfile.h"

/* Linked with --wrap=openat: a file system without O_TMPFILE. */
static bool no_tmpfile;
int __real_openat(int dirfd, const char *path, int flags, mode_t mode);
int __wrap_openat(int dirfd, const char *path, int flags, mode_t mode);

int __wrap_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_openat(dirfd, path, flags, mode);
}

static int count_files(void)
{
	DIR *d = opendir(".");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void test_commit_new(void **state)
{
	struct outfile *f = begin("a.txt", "new");
	struct stat st;

	(void)state;
	fflush(outfile_stream(f));
	assert_int_equal(access("a.txt", F_OK), -1); /* not before it is complete */
	assert_int_equal(outfile_commit(f, NULL), 0);
	assert_content("a.txt", "new");
	assert_int_equal(count_files(), 1);
	assert_int_equal(stat("a.txt", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
}

static void test_commit_replaces(void **state)
{
	(void)state;
	put("a.txt", "old");
	assert_int_equal(outfile_commit(begin("./a.txt", "new"), NULL), 0);
	assert_content("a.txt", "new");
	assert_int_equal(count_files(), 1);
}

static void test_abort_keeps_old(void **state)
{
	(void)state;
	put("a.txt", "old");
	outfile_abort(begin("a.txt", "half"));
	assert_content("a.txt", "old");
	outfile_abort(begin("b.txt", "half"));
	outfile_abort(NULL);
	assert_int_equal(count_files(), 1);
}

static void test_without_tmpfile(void **state)
{
	struct outfile *f;

	(void)state;
	no_tmpfile = true;
	put("a.txt", "old");
	f = begin("a.txt", "half");
	assert_int_equal(count_files(), 2);
	outfile_abort(f);
	assert_content("a.txt", "old");
	assert_int_equal(count_files(), 1);
	assert_int_equal(outfile_commit(begin("a.txt", "new"), NULL), 0);
	assert_content("a.txt", "new");
	assert_int_equal(outfile_commit(begin("b.txt", "b"), NULL), 0);
	assert_int_equal(count_files(), 2);
	no_tmpfile = false;
}

static void test_symlink_is_followed(void **state)
{
	struct stat st;

	(void)state;
	put("real.txt", "old");
	assert_int_equal(symlink("real.txt", "link.txt"), 0);
	assert_int_equal(outfile_commit(begin("link.txt", "new"), NULL), 0);
	assert_content("real.txt", "new");
	assert_int_equal(lstat("link.txt", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void test_refusals(void **state)
{
	(void)state;
	assert_refused("no/such/dir/f", -ENOENT, "No such file or directory; create");
	assert_refused(".", -EISDIR, "Is a directory");
	assert_refused("newdir/", -EISDIR, "name a file");
	put("plain", "");
	assert_refused("plain/f", -ENOTDIR, "Not a directory");
	assert_refused("/dev/fd/999", -EBADF, "Bad file descriptor");
	assert_int_equal(count_files(), 1);
}

static void test_fifo_and_device(void **state)
{
	struct stat st;
	char text[10] = "";
	int fd;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	fd = open("fifo", O_RDONLY | O_NONBLOCK);
	assert_int_equal(outfile_commit(begin("fifo", "piped"), NULL), 0);
	assert_int_equal(read(fd, text, sizeof(text)), 5);
	assert_string_equal(text, "piped");
	close(fd);
	assert_int_equal(stat("fifo", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));

	assert_int_equal(outfile_commit(begin("/dev/null", "x"), NULL), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* A named descriptor is written where it stands, even to a regular file. */
static void test_descriptor(void **state)
{
	char path[32];
	int fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)state;
	assert_int_equal(write(fd, "first,", 6), 6);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	assert_int_equal(outfile_commit(begin(path, "second"), NULL), 0);
	assert_int_equal(write(fd, ",third", 6), 6);
	close(fd);
	assert_content("log", "first,second,third");
}

static void test_full_disk(void **state)
{
	struct outfile *f = begin("/dev/full", "x");
	struct err err;

	(void)state;
	assert_int_equal(outfile_commit(f, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "No space left on device; make room"));

	f = begin("/dev/full", "");
	for (int i = 0; i < 100000; i++)
		fputs("0123456789", outfile_stream(f));
	assert_true(outfile_commit(f, NULL) < 0);
}

static void test_read_limits(void **state)
{
	char *text = NULL;
	size_t len = 0;
	int fd;

	(void)state;
	put("ten", "0123456789");
	assert_int_equal(file_read_at(AT_FDCWD, "ten", 9, &text, &len), -EFBIG);
	assert_null(text);
	assert_int_equal(file_read_at(AT_FDCWD, "ten", 10, &text, NULL), 0);
	assert_string_equal(text, "0123456789");
	free(text);
	assert_int_equal(file_read_at(AT_FDCWD, "none", 9, &text, &len), -ENOENT);
	assert_int_equal(file_read_at(AT_FDCWD, "ten", SIZE_MAX, &text, &len), -EFBIG);

	fd = open("/dev/zero", O_RDONLY);
	assert_int_equal(file_read_fd(fd, 100000, &text, &len), -EFBIG);
	close(fd);
	fd = open("big", O_RDWR | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, 70000), 0);
	assert_int_equal(file_read_fd(fd, 70000, &text, &len), 0);
	assert_int_equal(len, 70000);
	free(text);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIR(test_commit_new),      IN_DIR(test_commit_replaces),     IN_DIR(test_abort_keeps_old),
		IN_DIR(test_without_tmpfile), IN_DIR(test_symlink_is_followed), IN_DIR(test_refusals),
		IN_DIR(test_fifo_and_device), IN_DIR(test_descriptor),          IN_DIR(test_full_disk),
		IN_DIR(test_read_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
