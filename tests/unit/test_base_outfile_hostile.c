/* Outputs in directories where another user has prepared something. What needs another user needs root. */
#include "test_base_outfile.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "symbolizer/files/fuse_user.h"

enum { OTHER = 65534, THIRD = 65533, WRITES = 1500 };

/* Linked with --wrap=openat: runs `hook` once, after `hook_name` was opened; NULL: after the unnamed file was made. */
static const char *hook_name;
static void (*hook)(void);
int __real_openat(int dirfd, const char *path, int flags, mode_t mode);
int __wrap_openat(int dirfd, const char *path, int flags, mode_t mode);

int __wrap_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = __real_openat(dirfd, path, flags, mode);

	bool now = hook_name ? strcmp(path, hook_name) == 0 : (flags & O_TMPFILE) == O_TMPFILE;

	if (fd >= 0 && hook && now) {
		void (*run)(void) = hook;

		hook = NULL;
		run();
	}
	return fd;
}

/*
 * What each test finds: what is root's and must stay as it is, below "root"; the other user's "home"; "sticky" is
 * as /tmp is. The directory of the test can be searched by all.
 */
static int enter_prepared(void **state)
{
	int r = enter_dir(state);

	if (r < 0 || chmod(".", 0755) < 0 || mkdir("root", 0755) < 0 || mkdir("home", 0755) < 0 ||
	    mkdir("sticky", 0700) < 0 || chmod("sticky", 01777) < 0)
		return -1;
	put("root/file", "precious");
	return geteuid() == 0 ? chown("home", OTHER, OTHER) : 0;
}

static void needs_root(void)
{
	if (geteuid() != 0) {
		print_message("skipped: another user's files can be made by root only\n");
		skip();
	}
}

static void link_of(uid_t uid, const char *text, const char *name)
{
	assert_int_equal(symlink(text, name), 0);
	assert_int_equal(lchown(name, uid, uid), 0);
}

static void file_of(uid_t uid, const char *name, const char *text)
{
	put(name, text);
	assert_int_equal(chown(name, uid, uid), 0);
}

static void dir_of(uid_t uid, const char *name, mode_t mode)
{
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(chown(name, uid, uid), 0);
	assert_int_equal(chmod(name, mode), 0);
}

static void write_to(const char *path, const char *text)
{
	struct err err;

	if (outfile_commit(begin(path, text), &err) < 0)
		fail_msg("%s", err.msg);
}

static int count_in(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void assert_unharmed(void)
{
	assert_content("root/file", "precious");
	assert_int_equal(count_in("root"), 1);
}

/* --- links in sticky directories --- */

static void test_sticky_last_link(void **state)
{
	(void)state;
	needs_root();
	link_of(OTHER, "../root/file", "sticky/f");
	assert_refused("sticky/f", -EACCES, "symbolic link");
	assert_refused("sticky/f", -EACCES, "user 65534");
	link_of(OTHER, "../root/new", "sticky/dangling");
	assert_refused("sticky/dangling", -EACCES, "user 65534");
	link_of(OTHER, "nothing", "sticky/nothing");
	assert_refused("sticky/nothing", -EACCES, "user 65534");
	assert_int_equal(chmod("sticky", 01770), 0);
	assert_refused("sticky/f", -EACCES, "user 65534");
	assert_unharmed();
}

static void test_sticky_link_on_the_way(void **state)
{
	(void)state;
	needs_root();
	link_of(OTHER, "../root", "sticky/d");
	assert_refused("sticky/d/f", -EACCES, "/sticky/d' belongs to user 65534");
	assert_refused("sticky/d/file", -EACCES, "user 65534");
	assert_refused("./root/.././sticky/d/file", -EACCES, "user 65534");
	assert_int_equal(symlink("sticky/d", "mine"), 0);
	assert_refused("mine/file", -EACCES, "user 65534");
	assert_unharmed();
}

static void test_sticky_links_to_follow(void **state)
{
	(void)state;
	assert_int_equal(symlink("../root/file", "sticky/mine"), 0);
	write_to("sticky/mine", "new");
	assert_content("root/file", "new");
	needs_root();
	dir_of(OTHER, "his", 01777);
	link_of(OTHER, "../home/f", "his/f");
	write_to("his/f", "his own");
	assert_content("home/f", "his own");
}

/* A hard link to a link of root's, which its text makes useful somewhere. */
static void test_link_with_two_names(void **state)
{
	(void)state;
	needs_root();
	assert_int_equal(symlink("../root/file", "root/link"), 0);
	assert_int_equal(link("root/link", "sticky/f"), 0);
	assert_refused("sticky/f", -EACCES, "second name");
	assert_int_equal(link("root/link", "home/f"), 0);
	assert_refused("home/f", -EACCES, "second name");
	write_to("root/link", "where nobody else writes");
	assert_content("root/file", "where nobody else writes");
}

/* --- links elsewhere --- */

static void test_own_links(void **state)
{
	char path[40];
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)state;
	assert_int_equal(symlink("root", "d"), 0);
	write_to("d/file", "1");
	assert_content("root/file", "1");
	assert_int_equal(symlink("d/./../d/new", "dangling"), 0);
	write_to("dangling", "made where it leads, as by a shell");
	assert_content("root/new", "made where it leads, as by a shell");

	assert_int_equal(write(log, "1,", 2), 2);
	snprintf(path, sizeof(path), "/dev/fd/%d", log);
	assert_int_equal(symlink(path, "stream"), 0);
	write_to("stream", "2");
	assert_content("log", "1,2");
	assert_int_equal(symlink("stream", "sticky/again"), 0);
	assert_int_equal(symlink("../stream", "sticky/again2"), 0);
	write_to("sticky/again2", ",3");
	assert_content("log", "1,2,3");
	close(log);
	assert_int_equal(symlink("/dev/fd/999", "closed"), 0);
	assert_refused("closed", -ENOENT, "No such file");
}

static void test_endless_links(void **state)
{
	char name[20], text[20];

	(void)state;
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_refused("loop", -ELOOP, "symbolic links");
	assert_refused("loop/f", -ELOOP, "symbolic links");
	for (int i = 0; i < 41; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		snprintf(text, sizeof(text), "l%d", i + 1);
		assert_int_equal(symlink(text, name), 0);
	}
	write_to("l1", "40 links");
	assert_content("l41", "40 links");
	assert_refused("l0", -ELOOP, "symbolic links");
}

/* Root writes where the user says only what the user could write. */
static void test_links_in_his_home(void **state)
{
	(void)state;
	needs_root();
	link_of(OTHER, "../root/file", "home/f");
	assert_refused("home/f", -EACCES, "user 65534 controls");
	link_of(OTHER, "../root", "home/d");
	assert_refused("home/d/new", -EACCES, "give the name that it leads to");
	link_of(OTHER, "f", "home/chain");
	assert_refused("home/chain", -EACCES, "/home/chain'");
	link_of(OTHER, "../sticky/f", "home/tmp");
	assert_refused("home/tmp", -EACCES, "user 65534 controls");
	link_of(OTHER, "/dev/stdout", "home/stdout");
	assert_refused("home/stdout", -EACCES, "user 65534 controls");
	link_of(OTHER, "/dev/null", "home/null");
	assert_refused("home/null", -EACCES, "user 65534 controls");
	assert_int_equal(symlink("../root/file", "home/of_root"), 0); /* he can have moved it there */
	assert_refused("home/of_root", -EACCES, "user 65534 controls");
	assert_unharmed();
}

static void test_links_to_his_own(void **state)
{
	(void)state;
	needs_root();
	dir_of(OTHER, "disk", 0755);
	link_of(OTHER, "../disk", "home/out");
	write_to("home/out/f", "1");
	assert_content("disk/f", "1");
	link_of(OTHER, "../disk/g", "home/g");
	write_to("home/g", "2");
	assert_content("disk/g", "2");
	file_of(THIRD, "disk/theirs", "3");
	link_of(OTHER, "../disk/theirs", "home/theirs");
	write_to("home/theirs", "in his directory"); /* replaced, as he could */
	assert_content("disk/theirs", "in his directory");
}

/* It is his, but he cannot go there: root unpacked an archive, say. */
static void test_links_to_what_he_cannot_reach(void **state)
{
	(void)state;
	needs_root();
	dir_of(OTHER, "root/unpacked", 0755);
	assert_int_equal(chmod("root", 0700), 0);
	link_of(OTHER, "../root/unpacked/Makefile", "home/f");
	assert_refused("home/f", -EACCES, "user 65534 controls");
	assert_int_equal(chmod("root", 0705), 0); /* his group may be the one that must not */
	assert_refused("home/f", -EACCES, "user 65534 controls");
	assert_int_equal(count_in("root/unpacked"), 0);
}

static void test_links_of_a_third(void **state)
{
	(void)state;
	needs_root();
	link_of(THIRD, "mine", "home/f");
	assert_refused("home/f", -EACCES, "belongs to user 65533");
	dir_of(0, "open", 0777);
	link_of(OTHER, "../home/f2", "open/f");
	assert_refused("open/f", -EACCES, "belongs to user 65534");
	dir_of(OTHER, "his_open", 0777);
	link_of(OTHER, "../home/f2", "his_open/f");
	assert_refused("his_open/f", -EACCES, "belongs to user 65534");
	dir_of(THIRD, "third", 0755);
	link_of(THIRD, "../home/f3", "third/f");
	link_of(OTHER, "../third/f", "home/f3");
	assert_refused("third/f", -EACCES, "controls");
}

static void test_links_of_proc(void **state)
{
	char path[60], text[PATH_MAX];
	int dir = open("root", O_PATH | O_DIRECTORY), file = open("root/file", O_WRONLY);
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/file", dir);
	write_to(path, "1");
	assert_content("root/file", "1");
	assert_non_null(getcwd(text, sizeof(text)));
	write_to("/proc/self/cwd/root/file", "2");
	assert_content("root/file", "2");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), dir);
	assert_refused(path, -EISDIR, "Is a directory");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, file);
	assert_refused(path, geteuid() ? -EINVAL : -EACCES, "another process");
	snprintf(path, sizeof(path), "/proc/%d/cwd/root/file", (int)pid);
	if (geteuid() == 0)
		assert_refused(path, -EACCES, "another process");
	else
		write_to(path, "2");
	assert_content("root/file", "2");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(dir);
	close(file);
}

static void test_fuse_users(void **state)
{
	static const char mounts[] =
		"26 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		"113 26 0:52 / /home/a/user_id=0 rw - fuse.sshfs a@host: rw,user_id=1000,group_id=1000,allow_other\n"
		"114 26 0:53 / /mnt rw - fuse.glusterfs host:vol rw,user_id=0,group_id=0\n"
		"115 26 0:54 / /host rw - virtiofs host rw\n"
		"116 26 0:55 / /odd rw - fuse odd rw\n"
		"118 26 0:56 / /home/a/b rw - fuse.x,user_id=0 y,user_id=0,z "
		"rw,user_id=1001,group_id=1001,allow_other\n"
		"119 26 0:57 / /home/a/c rw - fuse  rw,user_id=1002,group_id=1002,allow_other\n"
		"117";
	uid_t uid = 0;

	(void)state;
	assert_true(fuse_user_of(mounts, 113, &uid));
	assert_int_equal(uid, 1000);
	assert_false(fuse_user_of(mounts, 114, &uid));
	assert_false(fuse_user_of(mounts, 115, &uid));
	assert_false(fuse_user_of(mounts, 26, &uid));
	assert_true(fuse_user_of(mounts, 116, &uid));
	assert_int_equal(uid, (uid_t)-2);
	assert_true(fuse_user_of(mounts, 118, &uid)); /* type and source are the user's to choose */
	assert_int_equal(uid, 1001);
	assert_true(fuse_user_of(mounts, 119, &uid));
	assert_int_equal(uid, 1002);
	uid = 0;
	assert_true(fuse_user_of(mounts, 117, &uid));
	assert_int_equal(uid, (uid_t)-2);
	assert_true(fuse_user_of("", 11, &uid));
}

/* --- what is no link --- */

static void test_sticky_files_of_others(void **state)
{
	struct stat st;

	(void)state;
	put("sticky/mine", "old");
	write_to("sticky/mine", "new");
	assert_content("sticky/mine", "new");
	needs_root();
	file_of(OTHER, "sticky/f", "his");
	assert_refused("sticky/f", -EACCES, "user 65534");
	assert_content("sticky/f", "his");
	/* Replaced, and never written to: the other name keeps what it had. */
	assert_int_equal(link("root/file", "sticky/hard"), 0);
	write_to("sticky/hard", "new");
	assert_content("sticky/hard", "new");
	file_of(OTHER, "home/f", "his");
	write_to("home/f", "new");
	assert_int_equal(stat("home/f", &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_unharmed();
}

static void test_sticky_special_files(void **state)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "sticky/socket"};
	int s = socket(AF_UNIX, SOCK_STREAM, 0), reader;

	(void)state;
	assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_refused("sticky/socket", -ENXIO, "socket");
	close(s);
	assert_refused("sticky", -EISDIR, "Is a directory");
	assert_refused("sticky/", -EISDIR, "Is a directory");
	assert_refused("sticky/..", -EISDIR, "Is a directory");
	assert_refused("root/file/", -ENOTDIR, "Not a directory");
	needs_root();
	assert_int_equal(mkfifo("sticky/fifo", 0666), 0);
	assert_int_equal(chown("sticky/fifo", OTHER, OTHER), 0);
	reader = open("sticky/fifo", O_RDONLY | O_NONBLOCK);
	assert_refused("sticky/fifo", -EACCES, "user 65534");
	close(reader);
	assert_int_equal(mknod("sticky/null", S_IFCHR | 0666, makedev(1, 3)), 0);
	assert_refused("sticky/null", -EACCES, "device");
	assert_int_equal(mknod("home/null", S_IFCHR | 0666, makedev(1, 3)), 0);
	assert_refused("home/null", -EACCES, "device");
	assert_int_equal(mkfifo("root/fifo", 0600), 0);
	assert_int_equal(link("root/fifo", "sticky/fifo2"), 0);
	assert_refused("sticky/fifo2", -EACCES, "two names");
}

static void test_fifo_waits_for_its_reader(void **state)
{
	char text[10] = "";
	int fds[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		int fd;

		usleep(150000);
		fd = open("fifo", O_RDONLY);
		_exit(read(fd, text, sizeof(text)) == 5 && write(fds[1], text, 5) == 5 ? 0 : 1);
	}
	write_to("fifo", "piped");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(fds[0], text, sizeof(text)), 5);
	assert_string_equal(text, "piped");
	close(fds[0]);
	close(fds[1]);
}

/* A Ctrl-C that is blocked, to be taken from a signalfd later, ends waiting for a reader. */
static void test_fifo_without_reader(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set, old;
	int sig;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigemptyset(&set);
		sigaddset(&set, signals[i]);
		sigprocmask(SIG_BLOCK, &set, &old);
		raise(signals[i]);
		alarm(20); /* before, it waited for ever */
		assert_refused("fifo", -EINTR, "Interrupted");
		alarm(0);
		assert_int_equal(sigwait(&set, &sig), 0);
		sigprocmask(SIG_SETMASK, &old, NULL);
	}
}

/* --- names that nobody typed --- */

static void assert_not_own(const char *path)
{
	struct outfile *f = NULL;
	struct err err = {0};

	assert_int_equal(outfile_open_own(path, &f, &err), -EEXIST);
	assert_null(f);
	assert_non_null(strstr(err.msg, path));
}

static void test_own_only(void **state)
{
	struct outfile *f = NULL;

	(void)state;
	assert_int_equal(symlink("root/file", "link"), 0);
	assert_not_own("link");
	assert_int_equal(symlink("root/new", "dangling"), 0);
	assert_not_own("dangling");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_not_own("fifo");
	assert_not_own("root");
	put("old", "old");
	assert_int_equal(outfile_open_own("old", &f, NULL), 0);
	assert_int_equal(outfile_commit(f, NULL), 0);
	assert_content("old", "");
	assert_int_equal(outfile_open_own("new", &f, NULL), 0);
	assert_int_equal(symlink("root/file", "new"), 0);
	assert_int_equal(outfile_commit(f, NULL), -EEXIST);
	assert_unharmed();
	needs_root();
	file_of(OTHER, "his", "his");
	assert_not_own("his");
}

/* --- what changes meanwhile --- */

static void move_d_away(void)
{
	assert_int_equal(rename("d", "moved"), 0);
	assert_int_equal(symlink("root", "d"), 0);
}

static void test_directory_swapped(void **state)
{
	struct outfile *f;

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	hook_name = "d";
	hook = move_d_away;
	write_to("d/file", "new");
	assert_null(hook);
	assert_content("moved/file", "new");
	assert_unharmed();

	assert_int_equal(unlink("d"), 0);
	assert_int_equal(rename("moved", "d"), 0);
	f = begin("d/file", "newer");
	move_d_away();
	assert_int_equal(outfile_commit(f, NULL), 0);
	assert_content("moved/file", "newer");
	assert_unharmed();
}

static void plant_f(void)
{
	link_of(OTHER, "../root/file", "sticky/f");
}

static void test_link_planted_after_the_look(void **state)
{
	struct err err;
	struct stat st;

	(void)state;
	needs_root();
	hook_name = NULL;
	hook = plant_f;
	assert_int_equal(outfile_commit(begin("sticky/f", "new"), &err), -EEXIST);
	assert_non_null(strstr(err.msg, "user 65534"));
	assert_int_equal(lstat("sticky/f", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_unharmed();
	assert_int_equal(count_in("sticky"), 1);
}

static void test_file_made_meanwhile(void **state)
{
	struct outfile *f = begin("sticky/f", "new");

	(void)state;
	needs_root();
	file_of(OTHER, "sticky/f", "his");
	assert_int_equal(outfile_commit(f, NULL), -EEXIST);
	assert_content("sticky/f", "his");
	f = begin("home/f", "new");
	link_of(OTHER, "../root/file", "home/f");
	assert_int_equal(outfile_commit(f, NULL), 0);
	assert_content("home/f", "new");
	assert_unharmed();
}

/* A process of the other user that does `turn` without end. */
static pid_t start_turning(void (*turn)(void))
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setresgid(OTHER, OTHER, OTHER) < 0 || setresuid(OTHER, OTHER, OTHER) < 0)
		_exit(1);
	while (getppid() == parent)
		turn();
	_exit(0);
}

/* More writes where all went alike: then the other process had no turn yet. */
static void write_while(void (*turn)(void), const char *path)
{
	pid_t pid = start_turning(turn);
	int status, good = 0, bad = 0;

	for (int i = 0; i < WRITES || ((!good || !bad) && i < 50 * WRITES); i++) {
		struct outfile *f = NULL;

		if (outfile_open(path, &f, NULL) == 0)
			good += outfile_commit(f, NULL) == 0;
		else
			bad += usleep(50) == 0;
	}
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_true(good && bad);
}

static void exchange(const char *a, const char *b)
{
	syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */);
}

static void exchange_at_home(void)
{
	exchange("home/d", "home/e");
}

static void exchange_in_sticky(void)
{
	exchange("sticky/d", "sticky/e");
}

/* Both, the directory and the link, must have been met. */
static void test_race_for_a_directory(void **state)
{
	(void)state;
	needs_root();
	dir_of(OTHER, "home/d", 0755);
	link_of(OTHER, "../root", "home/e");
	write_while(exchange_at_home, "home/d/file");
	dir_of(OTHER, "sticky/d", 0755);
	link_of(OTHER, "../root", "sticky/e");
	write_while(exchange_in_sticky, "sticky/d/file");
	assert_unharmed();
}

/* Writing removes the link, so it is made again each time. */
static void replace_f(void)
{
	int fd;

	unlink("home/f");
	fd = open("home/f", O_WRONLY | O_CREAT, 0666);
	close(fd);
	unlink("home/f");
	if (symlink("../root/file", "home/f") < 0)
		return;
}

static void test_race_for_a_file(void **state)
{
	(void)state;
	needs_root();
	write_while(replace_f, "home/f");
	assert_unharmed();
}

#define PREPARED(test) cmocka_unit_test_setup_teardown(test, enter_prepared, leave_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PREPARED(test_sticky_last_link),
		PREPARED(test_sticky_link_on_the_way),
		PREPARED(test_sticky_links_to_follow),
		PREPARED(test_link_with_two_names),
		PREPARED(test_own_links),
		PREPARED(test_endless_links),
		PREPARED(test_links_in_his_home),
		PREPARED(test_links_to_his_own),
		PREPARED(test_links_to_what_he_cannot_reach),
		PREPARED(test_links_of_a_third),
		PREPARED(test_links_of_proc),
		PREPARED(test_fuse_users),
		PREPARED(test_sticky_files_of_others),
		PREPARED(test_sticky_special_files),
		PREPARED(test_fifo_waits_for_its_reader),
		PREPARED(test_fifo_without_reader),
		PREPARED(test_own_only),
		PREPARED(test_directory_swapped),
		PREPARED(test_link_planted_after_the_look),
		PREPARED(test_file_made_meanwhile),
		PREPARED(test_race_for_a_directory),
		PREPARED(test_race_for_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
