#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/path_in_root.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/target_file.h"

/*
 * Each test runs in a directory with this in it; `root` stands for a target's root directory.
 *
 *	secret
 *	root/inside
 *	root/dir/up -> ..             root/dir/file
 *	root/dir/abs -> /inside
 *	root/abs -> /inside           root/dirlink -> /dir
 *	root/abs_out -> /secret       root/rel_out -> ../../../../../../etc/passwd
 *	root/loop -> loop             root/chain -> dirlink/up/dir/./file
 *	root/fifo                     root/huge (3 GiB, sparse)
 */
static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_tree(void)
{
	mkdir("root", 0755);
	mkdir("root/dir", 0755);
	put("secret", "secret");
	put("root/inside", "inside");
	put("root/dir/file", "file");
	assert_int_equal(symlink("..", "root/dir/up"), 0);
	assert_int_equal(symlink("/inside", "root/dir/abs"), 0);
	assert_int_equal(symlink("/inside", "root/abs"), 0);
	assert_int_equal(symlink("/dir", "root/dirlink"), 0);
	assert_int_equal(symlink("/secret", "root/abs_out"), 0);
	assert_int_equal(symlink("../../../../../../etc/passwd", "root/rel_out"), 0);
	assert_int_equal(symlink("loop", "root/loop"), 0);
	assert_int_equal(symlink("dirlink/up/dir/./file", "root/chain"), 0);
	assert_int_equal(mkfifo("root/fifo", 0600), 0);
	put("root/huge", "");
	assert_int_equal(truncate("root/huge", INT64_C(3) << 30), 0);
}

static int enter_dir(void **state)
{
	char dir[] = "/tmp/js_file_XXXXXX";

	if (!mkdtemp(dir) || chdir(dir) < 0)
		return -1;
	*state = strdup(dir);
	make_tree();
	return 0;
}

static int leave_dir(void **state)
{
	char command[100];
	int r;

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	r = chdir("/") < 0 || system(command) != 0;
	free(*state);
	return r;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* Takes fd. */
static void assert_is(int fd, const char *path)
{
	struct stat st;

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(-fd));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_ino, inode_of(path));
	close(fd);
}

/* Both ways must agree on `path` below root: `want` seen from here, or NULL and an error. */
static void check_path(int root, const char *path, const char *want, int error)
{
	int fds[] = {path_in_root_open(root, path), path_in_root_walk(root, path)};

	for (int i = 0; i < 2; i++) {
		if (want)
			assert_is(fds[i], want);
		else if (fds[i] != error)
			fail_msg("%s: %d with %s", path, fds[i], i ? "walk" : "openat2");
	}
}

static void test_paths_stay_inside(void **state)
{
	int root = open("root", O_PATH | O_DIRECTORY);

	(void)state;
	check_path(root, "/inside", "root/inside", 0);
	check_path(root, "inside", "root/inside", 0);
	check_path(root, "//dir///file", "root/dir/file", 0);
	check_path(root, "/dir/../inside", "root/inside", 0);
	check_path(root, "/../../../inside", "root/inside", 0);
	check_path(root, "/..", "root", 0);
	check_path(root, "/dir/abs", "root/inside", 0);
	check_path(root, "/dir/up/abs", "root/inside", 0);
	check_path(root, "/chain", "root/dir/file", 0);
	check_path(root, "/dirlink", "root/dir", 0);
	check_path(root, "/fifo", "root/fifo", 0); /* found, not opened */
	check_path(root, "/abs_out", NULL, -ENOENT);
	check_path(root, "/rel_out", NULL, -ENOENT);
	check_path(root, "/../secret", NULL, -ENOENT);
	check_path(root, "/none/x", NULL, -ENOENT);
	check_path(root, "/inside/x", NULL, -ENOTDIR);
	check_path(root, "/loop", NULL, -ELOOP);
	close(root);
}

static void test_paths_too_long(void **state)
{
	int root = open("root", O_PATH | O_DIRECTORY);
	char path[2 * PATH_MAX];

	(void)state;
	memset(path, 'x', 300);
	strcpy(path + 300, "/y");
	check_path(root, path, NULL, -ENAMETOOLONG);
	memset(path, '/', sizeof(path));
	strcpy(path + PATH_MAX, "inside");
	check_path(root, path, NULL, -ENAMETOOLONG);
	close(root);
}

/* A link of /proc/self leads out of any root, if it is followed. */
static void test_paths_magic_links(void **state)
{
	int root = open("/proc/self", O_PATH | O_DIRECTORY);

	(void)state;
	assert_true(path_in_root_open(root, "/root/etc/passwd") < 0);
	assert_true(path_in_root_walk(root, "/root/etc/passwd") < 0);
	assert_true(path_in_root_open(root, "/exe") < 0);
	assert_true(path_in_root_walk(root, "/exe") < 0);
	close(root);
}

static void test_exact(void **state)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/root/inside", (char *)*state);
	assert_is(path_exact_open(path), "root/inside");
	snprintf(path, sizeof(path), "%s/root/dirlink/file", (char *)*state);
	assert_int_equal(path_exact_open(path), -ELOOP);
	snprintf(path, sizeof(path), "%s/root/abs", (char *)*state);
	assert_int_equal(path_exact_open(path), -ELOOP);
}

/* A child whose root directory is `root` and that has mapped its /inside. NULL: not permitted. */
static struct proc *child_in_root(pid_t *ret_pid)
{
	struct proc *p = NULL;
	int ready[2];
	char c;

	assert_int_equal(pipe(ready), 0);
	*ret_pid = fork();
	if (*ret_pid == 0) {
		int fd = chroot("root") == 0 ? open("/inside", O_RDONLY) : -1;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			_exit(1);
		if (write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) == 1)
		assert_int_equal(proc_open(*ret_pid, &p, NULL), 0);
	close(ready[0]);
	return p;
}

static void child_end(struct proc *p, pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	proc_close(p);
}

static void check_open(struct proc *p, const char *path, const char *want, int error)
{
	int fd = -1, r;
	struct err err = {0};

	r = target_file_open(p, path, &fd, &err);
	if (want) {
		assert_int_equal(r, 0);
		assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		assert_is(fd, want);
		return;
	}
	if (r != error || fd != -1)
		fail_msg("%s: %d", path, r);
	assert_non_null(strstr(err.msg, path));
}

static void test_open(void **state)
{
	pid_t pid;
	struct proc *p = child_in_root(&pid);

	(void)state;
	if (!p)
		skip();
	check_open(p, "/inside", "root/inside", 0);
	check_open(p, "/chain", "root/dir/file", 0);
	check_open(p, "/abs_out", NULL, -ENOENT);
	check_open(p, "/rel_out", NULL, -ENOENT);
	check_open(p, "/etc/passwd", NULL, -ENOENT);
	check_open(p, "/fifo", NULL, -ENXIO); /* and does not wait for a writer */
	check_open(p, "/dir", NULL, -EISDIR);
	check_open(p, "/huge", NULL, -EFBIG);
	child_end(p, pid);
}

/* The first mapping of the file with this inode. */
static struct mapping mapping_of(struct proc *p, ino_t inode, struct maps **ret)
{
	const struct mapping *found = NULL;

	assert_int_equal(maps_open(p, NULL, ret, NULL), 0);
	for (size_t i = 0; i < maps_count(*ret) && !found; i++)
		if (maps_at(*ret, i)->inode == inode)
			found = maps_at(*ret, i);
	assert_non_null(found);
	return *found;
}

static void test_mapping_in_chroot(void **state)
{
	pid_t pid;
	struct proc *p = child_in_root(&pid);
	struct mapping map;
	struct maps *m;
	int fd = -1;

	(void)state;
	if (!p)
		skip();
	map = mapping_of(p, inode_of("root/inside"), &m);
	assert_int_equal(target_file_open_mapping(p, &map, &fd, NULL), 0);
	assert_is(fd, "root/inside");

	map.start -= 4096; /* no such range: the path must do, which is one from our root */
	assert_int_equal(target_file_open_mapping(p, &map, &fd, NULL), 0);
	assert_is(fd, "root/inside");

	/* Once a link is in that path, it may lead anywhere. */
	assert_int_equal(rename("root", "moved"), 0);
	assert_int_equal(symlink("moved", "root"), 0);
	assert_int_equal(target_file_open_mapping(p, &map, &fd, NULL), -ELOOP);
	maps_close(m);
	child_end(p, pid);
}

static void test_mapping_replaced(void **state)
{
	struct proc *p = NULL;
	struct mapping map;
	struct maps *m;
	struct statfs fs;
	struct err err;
	void *page;
	int fd = open("secret", O_RDONLY);

	(void)state;
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	map = mapping_of(p, inode_of("secret"), &m);
	assert_int_equal(target_file_open_mapping(p, &map, &fd, NULL), 0);
	assert_is(fd, "secret");
	map.start -= 4096; /* past map_files */
	assert_int_equal(target_file_open_mapping(p, &map, &fd, NULL), 0);
	assert_is(fd, "secret");

	put("other", "other");
	assert_int_equal(rename("other", "secret"), 0);
	assert_int_equal(target_file_open_mapping(p, &map, &fd, &err), -ESTALE);
	assert_non_null(strstr(err.msg, "no longer the file that is mapped"));
	map.dev_minor++; /* the same number on another device is another file */
	map.inode = inode_of("secret");
	assert_int_equal(statfs(".", &fs), 0);
	if (fs.f_type != OVERLAYFS_SUPER_MAGIC && fs.f_type != BTRFS_SUPER_MAGIC)
		assert_int_equal(target_file_open_mapping(p, &map, &fd, NULL), -ESTALE);
	map.inode = 0;
	assert_int_equal(target_file_open_mapping(p, &map, &fd, &err), -ENOENT);
	munmap(page, 4096);
	maps_close(m);
	proc_close(p);
}

static void test_mapping_deleted(void **state)
{
	struct proc *p = NULL;
	struct mapping map;
	struct maps *m;
	char text[10] = "";
	ino_t inode = inode_of("secret");
	void *page;
	int fd = open("secret", O_RDONLY), r;

	(void)state;
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	unlink("secret");
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	map = mapping_of(p, inode, &m);
	assert_true(map.deleted);
	fd = -1;
	r = target_file_open_mapping(p, &map, &fd, NULL);
	if (r == 0) {
		assert_int_equal(read(fd, text, sizeof(text)), 6);
		assert_string_equal(text, "secret");
		close(fd);
	} else { /* map_files is refused to who is not root */
		assert_int_equal(r, -ENOENT);
		assert_int_not_equal(geteuid(), 0);
	}
	munmap(page, 4096);
	maps_close(m);
	proc_close(p);
}

static void test_dead(void **state)
{
	pid_t pid = fork();
	struct proc *p = NULL;
	int fd = -1;

	(void)state;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(proc_open(pid, &p, NULL), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(target_file_open(p, "/etc/passwd", &fd, NULL), -ESRCH);
	assert_int_equal(fd, -1);
	proc_close(p);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIR(test_paths_stay_inside),
		IN_DIR(test_paths_too_long),
		IN_DIR(test_paths_magic_links),
		IN_DIR(test_exact),
		IN_DIR(test_open),
		IN_DIR(test_mapping_in_chroot),
		IN_DIR(test_mapping_replaced),
		IN_DIR(test_mapping_deleted),
		IN_DIR(test_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
