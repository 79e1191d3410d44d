#include "sampler/daemon/host/keeping.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sampler/daemon/config/config.h"
#include "sampler/daemon/host/child.h"
#include "sampler/daemon/host/listening.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/user_name.h"

enum {
	STOP_MS = 8000, /* for storing what the workers have sent */
	END_MS = 1000, /* for killed processes to end */
	BACKLOG = 64,
	NONSENSE_MAX = 8, /* other messages in place of one that asks */
};

/* --- the store's directory --- */

struct owner {
	uid_t uid;
	gid_t gid;
};

/* The owner of the history: an ordinary user's daemon keeps its own user. */
static int find_owner(const char *user, struct owner *ret, struct err *err)
{
	char *end;
	unsigned long id = strtoul(user, &end, 10);

	*ret = (struct owner){geteuid(), getegid()};
	if (geteuid() != 0)
		return 0;
	if (!user_find(user, &ret->uid, &ret->gid)) {
		if (end == user || *end || id >= UINT32_MAX)
			return err_set(err, -ENOENT,
				       "there is no user '%s' to own the history: create it (useradd --system %s), or "
				       "name another one with user = in [store]",
				       user, user);
		*ret = (struct owner){(uid_t)id, (gid_t)id};
	}
	if (ret->uid == 0)
		return err_set(err, -EPERM,
			       "user = %s in [store]: the history cannot belong to root: name another user", user);
	return 0;
}

static int make_directory(const char *path, const struct owner *o, struct err *err)
{
	if (mkdir(path, 0750) < 0)
		return errno == EEXIST ?
			       0 :
			       err_set(err, -errno, "cannot make '%s', the directory of the history: %m", path);
	if (geteuid() == 0 && lchown(path, o->uid, o->gid) < 0)
		return err_set(err, -errno, "cannot give '%s' to its user: %m", path);
	return 0;
}

/* The owner of the directory can read the history of all JVMs. */
static int check_directory(int dir, const char *path, const struct config *c, const struct owner *o, struct err *err)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return err_set(err, -errno, "cannot look at '%s': %m", path);
	if (geteuid() != 0 && st.st_uid != o->uid)
		return err_set(err, -EPERM, "the directory of the history, '%s', belongs to another user", path);
	if (st.st_uid != o->uid)
		return err_set(
			err, -EPERM,
			"the directory of the history, '%s', belongs to user %u, not to %s: remove it, chown it, or "
			"name its owner with user = in [store]",
			path, (unsigned)st.st_uid, c->user);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, -EPERM, "others may write into the directory of the history, '%s': chmod go-w it",
			       path);
	return 0;
}

static int open_store(struct keeping *k, const struct config *c, struct err *err)
{
	const char *path = c->directory;
	struct owner o;
	int r = find_owner(c->user, &o, err);

	if (r == 0)
		r = make_directory(path, &o, err);
	if (r < 0)
		return r;
	k->o.store = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (k->o.store < 0)
		return err_set(err, -errno, "cannot open '%s', the directory of the history: %m", path);
	return check_directory(k->o.store, path, c, &o, err);
}

/* --- the socket --- */

/* Nobody else can put anything in place of what is made there. */
static int open_own_directory(const char *path, struct err *err)
{
	CLEANUP(close_at_exit) int dir = -1;
	struct stat st;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot make '%s' for the socket: %m", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return err_set(err, -errno, "cannot open '%s' for the socket: %m", path);
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, -EPERM, "others may write into '%s', where the socket is to be made", path);
	return take_fd(&dir);
}

static int bind_in(int dir, const char *name, int fd)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct stat st;
	mode_t before;
	int r;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return -EEXIST;
		unlinkat(dir, name, 0);
	}
	if (snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dir, name) >= (int)sizeof(a.sun_path))
		return -ENAMETOOLONG;
	before = umask(0117);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	umask(before);
	return r < 0 || listen(fd, BACKLOG) == 0 ? r : -errno;
}

static void give_to_group(int dir, const char *name, const char *group)
{
	gid_t gid;

	if (!*group)
		return;
	if (!group_find(group, &gid))
		log_info("there is no group %s: only root and its own user may use the socket", group);
	else if (fchownat(dir, name, (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW) < 0)
		log_warn("cannot give the socket to group %s: %m", group);
}

static int open_socket(struct keeping *k, const struct config *c, struct err *err)
{
	char copy[sizeof(c->socket)], other[sizeof(c->socket)];
	CLEANUP(close_at_exit) int dir = -1;
	const char *name;
	int r;

	k->o.listener = -1;
	if (!c->socket[0])
		return 0;
	snprintf(copy, sizeof(copy), "%s", c->socket);
	snprintf(other, sizeof(other), "%s", c->socket);
	name = basename(other);
	dir = open_own_directory(dirname(copy), err);
	if (dir < 0)
		return dir;
	k->o.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = k->o.listener < 0 ? -errno : bind_in(dir, name, k->o.listener);
	if (r < 0)
		return err_set(err, r, "cannot make the socket '%s': %s", c->socket, strerror(-r));
	give_to_group(dir, name, c->group);
	snprintf(k->socket, sizeof(k->socket), "%s", c->socket);
	return 0;
}

/* --- the process --- */

static struct store_options limits(const struct config *c)
{
	struct store_options o = {.max_bytes = c->max_bytes, .free_percent = (uint32_t)(c->min_free / 10000)};

	for (size_t i = 0; i < STORE_STEPS; i++)
		o.keep_s[i] = (uint32_t)(c->keep_ns[i] / UINT64_C(1000000000));
	return o;
}

static int open_tcp(struct keeping *k, const struct config *c, struct err *err)
{
	char token[LISTENING_TOKEN_MAX + 1];
	int r = listening_token(c->token_file, token, err);

	explicit_bzero(token, sizeof(token));
	if (r == 0)
		r = listening_tcp(c->listen, &k->o.tcp, err);
	snprintf(k->token_file, sizeof(k->token_file), "%s", c->token_file);
	return r;
}

int keeping_open(struct keeping *k, const struct config *c, struct err *err)
{
	int r;

	*k = (struct keeping){.control = -1, .o = {.store = -1, .listener = -1, .tcp = -1, .control = -1}};
	k->o.limits = limits(c);
	k->o.ring_bytes = c->ring_bytes;
	r = open_store(k, c, err);
	if (r == 0)
		r = open_socket(k, c, err);
	return r < 0 || !c->listen[0] ? r : open_tcp(k, c, err);
}

static bool own(const void *ctx, int fd)
{
	const struct keeper_options *o = ctx;

	return fd <= STDERR_FILENO || fd == o->control || fd == o->store || fd == o->listener || fd == o->tcp;
}

static _Noreturn void keeper_main(struct keeper_options *o)
{
	struct err err = {0};
	int r;

	child_begin("keeper", own, o);
	r = keeper_run(o, &err);
	if (r < 0)
		log_error("%s", err.msg);
	_exit(r < 0 ? 1 : 0);
}

/* Without a token, the restarted keeper answers on the other socket only. */
static void read_token(const struct keeping *k, struct keeper_options *o, char token[LISTENING_TOKEN_MAX + 1])
{
	struct err err = {0};

	if (o->tcp < 0)
		return;
	o->token = token;
	if (listening_token(k->token_file, token, &err) == 0)
		return;
	log_error("%s: requests over TCP are not answered", err.msg);
	o->tcp = -1;
}

static pid_t fork_keeper(const struct keeping *k, int control)
{
	char token[LISTENING_TOKEN_MAX + 1];
	struct keeper_options o = k->o;
	pid_t parent = getpid(), pid;

	read_token(k, &o, token);
	pid = fork();
	if (pid == 0) {
		o.control = control;
		/*
		 * This process ends when the parent's end of `control` is closed; a parent that has ended already
		 * cannot do that.
		 */
		if (getppid() != parent)
			_exit(0);
		keeper_main(&o);
	}
	explicit_bzero(token, sizeof(token));
	return pid;
}

int keeping_start(struct keeping *k, struct err *err)
{
	int control[2], r = channel_pair(control);

	if (r < 0)
		return err_set(err, r, "cannot make a socket: %s", strerror(-r));
	k->pid = fork_keeper(k, control[1]);
	close(control[1]);
	if (k->pid < 0) {
		k->pid = 0;
		close(control[0]);
		return err_set(err, -errno, "fork: %m");
	}
	fcntl(control[0], F_SETFL, O_NONBLOCK);
	k->control = control[0];
	k->told = k->answered = 0;
	stuck_begin(&k->stuck, clock_monotonic_ns());
	restart_began(&k->restart, clock_monotonic_ns());
	return 0;
}

/* Without its socket, no more workers are started for it. */
static void kill_keeper(struct keeping *k)
{
	kill(k->pid, SIGKILL);
	close(take_fd(&k->control));
}

bool keeping_ended(struct keeping *k, pid_t child, int status)
{
	uint64_t now = clock_monotonic_ns(), delay_ns;

	if (child != k->pid)
		return false;
	k->pid = 0;
	close_at_exit(&k->control);
	k->control = -1;
	delay_ns = restart_delay(&k->restart, now);
	k->again_ns = now + delay_ns;
	child_say_ended("the process that keeps the history", status, delay_ns);
	return true;
}

int keeping_turn(struct keeping *k, struct err *err)
{
	uint64_t now = clock_monotonic_ns();

	if (!k->pid)
		return now < k->again_ns ? 0 : keeping_start(k, err);
	if (k->control >= 0 && stuck_look(&k->stuck, k->pid, k->told != k->answered, k->answered, now)) {
		log_warn("the process that keeps the history is stuck: it is killed, and nothing is stored until it "
			 "has ended");
		kill_keeper(k);
	}
	return 0;
}

int keeping_feed(struct keeping *k, uint64_t capture, int socket)
{
	const struct keeper_message m = {.what = KEEPER_FEED, .capture = capture};

	/* A keeper that takes no more messages is stuck; it is restarted soon. */
	return k->control >= 0 && channel_send(k->control, &m, sizeof(m), socket) == 0 ? 0 : -EPIPE;
}

bool keeping_asked(struct keeping *k, struct keeper_message *ret)
{
	struct pollfd p = {.fd = k->control, .events = POLLIN | POLLOUT};

	/* Without room for the answer, it would have to wait for the keeper. */
	for (int i = 0; i < NONSENSE_MAX && k->control >= 0; i++) {
		if (poll(&p, 1, 0) != 1 || (p.revents & p.events) != p.events ||
		    channel_receive(k->control, ret, sizeof(*ret), NULL) < 0)
			return false;
		if (ret->what == KEEPER_CAPTURE)
			return true;
		k->answered += ret->what == KEEPER_ALIVE;
	}
	return false;
}

void keeping_numbers(struct keeping *k, const struct daemon_numbers *n)
{
	const struct keeper_message m = {.what = KEEPER_STATE, .numbers = *n};

	if (k->control >= 0 && channel_send(k->control, &m, sizeof(m), -1) == 0)
		k->told++;
}

void keeping_refuse(struct keeping *k, uint64_t id, const struct err *why)
{
	struct keeper_message m = {.what = KEEPER_CAPTURE_REFUSED, .capture = id, .code = why->code};

	snprintf(m.why, sizeof(m.why), "%.*s", (int)sizeof(m.why) - 1, why->msg);
	if (k->control >= 0)
		channel_send(k->control, &m, sizeof(m), -1);
}

void keeping_limits(struct keeping *k, const struct config *c)
{
	struct keeper_message m = {.what = KEEPER_LIMITS};

	m.limits = k->o.limits = limits(c);
	m.ring_bytes = k->o.ring_bytes = c->ring_bytes;
	/* The next one begins with them. */
	if (k->control >= 0 && channel_send(k->control, &m, sizeof(m), -1) == -EAGAIN)
		kill_keeper(k);
}

void keeping_stop(struct keeping *k)
{
	const struct keeper_message m = {.what = KEEPER_STOP};

	if (!k->pid)
		return;
	if (k->control >= 0) {
		channel_send(k->control, &m, sizeof(m), -1);
		close(take_fd(&k->control));
	}
	if (!channel_child_ends(k->pid, STOP_MS)) {
		log_warn("the process that keeps the history is stuck, and is killed");
		kill(k->pid, SIGKILL);
		if (!channel_child_ends(k->pid, END_MS))
			log_warn("process %d, which keeps the history, could not be ended, and is left behind",
				 (int)k->pid);
	}
	k->pid = 0;
}

void keeping_close(struct keeping *k)
{
	if (k->socket[0])
		unlink(k->socket);
	close_at_exit(&k->control);
	close_at_exit(&k->o.store);
	close_at_exit(&k->o.listener);
	close_at_exit(&k->o.tcp);
}
