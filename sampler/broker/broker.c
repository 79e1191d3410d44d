#include "sampler/broker/broker.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/broker/maps_cache.h"
#include "sampler/broker/patience.h"
#include "sampler/broker/private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/data_limit.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

/* LAST_MS: from the closing of the child's channels until it can be waited for, on a busy machine. */
enum { END_MS = 1000, LAST_MS = 500, LAST_LOOK_MS = 5 };

/* --- the end of the child while it is needed --- */

/* It stays a zombie, for broker_free(). False: it is not known how it ended. */
static bool how_it_ended(pid_t child, siginfo_t *ret)
{
	for (int ms = 0; ms < LAST_MS; ms += LAST_LOOK_MS) {
		*ret = (siginfo_t){.si_pid = 0};
		if (waitid(P_PID, (id_t)child, ret, WEXITED | WNOHANG | WNOWAIT) < 0)
			return false;
		if (ret->si_pid == child)
			return true;
		poll(NULL, 0, LAST_LOOK_MS);
	}
	return false;
}

static void say_how(const siginfo_t *info, char *ret, size_t size)
{
	if (info->si_code != CLD_EXITED)
		snprintf(ret, size, ", killed by signal %d (%s)", info->si_status, strsignal(info->si_status));
	else if (info->si_status >= BROKER_REFUSAL)
		snprintf(ret, size,
			 ", because it was asked for what jsampler never needs (request %d): please report this",
			 info->si_status - BROKER_REFUSAL);
	else
		snprintf(ret, size, " with status %d", info->si_status);
}

/* Children of the worker see it, too, but only the worker reports it. */
static void note_end(struct broker *b, int r)
{
	char how[128] = "";
	bool ended;
	siginfo_t info;

	if (r != -EPIPE || getpid() != b->worker || atomic_exchange(&b->end_said, true))
		return;
	ended = how_it_ended(b->child, &info);
	if (ended)
		say_how(&info, how, sizeof(how));
	log_warn("the process of jsampler that keeps the privileges %s%s; sampling goes on, but files, memory and "
		 "threads that are not open yet cannot be read any more, so names may be missing",
		 ended ? "has ended" : "no longer answers", how);
}

/* --- asking --- */

static int receive_on(int socket, struct broker_answer *ret, int *ret_fd)
{
	int r = channel_receive(socket, ret, sizeof(*ret), ret_fd);

	if (r == 0 && ret->code)
		r = ret->code < 0 ? ret->code : -EPROTO;
	if (r < 0 && *ret_fd >= 0)
		close(take_fd(ret_fd));
	return r;
}

static int ask_on(int socket, const struct broker_request *q, struct broker_answer *ret, int *ret_fd)
{
	int r = channel_send(socket, q, sizeof(*q), -1);

	*ret_fd = -1;
	return r < 0 ? r : receive_on(socket, ret, ret_fd);
}

static void close_channel(void *channel)
{
	struct own_channel *c = channel;

	close_at_exit(&c->fd);
	close_at_exit(&c->stat);
	free(c);
}

static int connect_channel(struct broker *b, struct own_channel *c)
{
	struct broker_answer a;
	int r;

	pthread_mutex_lock(&b->lock);
	r = ask_on(b->socket, &(struct broker_request){.what = BROKER_CONNECT}, &a, &c->fd);
	pthread_mutex_unlock(&b->lock);
	if (r == 0)
		r = ask_on(c->fd, &(struct broker_request){.what = BROKER_OWN_STAT}, &a, &c->stat);
	return r == 0 && (c->fd < 0 || c->stat < 0) ? -EPROTO : r;
}

/*
 * Each thread gets a channel of its own with its first request, and so does each child: if a child is killed, the
 * answer that it has not read must not be taken for the answer to its parent's next request.
 */
static int own_channel(struct broker *b, struct own_channel **ret)
{
	static pid_t child; /* this process, if it is a child with a channel */
	struct own_channel *c = pthread_getspecific(b->channel);
	pid_t self = getpid();
	int r;

	*ret = c;
	if (c && (self == b->worker || self == child))
		return 0;
	*ret = c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct own_channel){-1, -1};
	r = connect_channel(b, c);
	if (r == 0 && pthread_setspecific(b->channel, c) != 0)
		r = -ENOMEM;
	if (r < 0)
		close_channel(c);
	else if (self != b->worker)
		child = self;
	return r;
}

static int ask(struct broker *b, const struct broker_request *q, struct broker_answer *ret, int *ret_fd)
{
	struct own_channel *c;
	int r = own_channel(b, &c);

	*ret_fd = -1;
	if (r == 0)
		r = ask_on(c->fd, q, ret, ret_fd);
	note_end(b, r);
	return r;
}

/* --- requests that may never be answered --- */

/*
 * How long to wait for the first file on a file system that does not answer, and for others soon after. Each target may
 * be late LATE_MAX times; its files are then not requested until FORGET_NS have passed.
 */
enum { PATIENCE_MS = 4000, LESS_PATIENCE_MS = 300, LATE_MAX = 4 };
#define FORGET_NS UINT64_C(60000000000)

/* No lock is taken, because a child may be forked at any moment. */
static int patience_ms(struct broker *b, uint32_t target)
{
	uint64_t late_ns = atomic_load(&b->late_ns);

	if (late_ns && clock_monotonic_ns() - late_ns > FORGET_NS) {
		for (uint32_t i = 0; i <= BROKER_TARGETS_MAX; i++)
			atomic_store(&b->late[i], 0);
		atomic_store(&b->late_ns, 0);
		late_ns = 0;
	}
	if (!late_ns)
		return PATIENCE_MS;
	return atomic_load(&b->late[target]) < LATE_MAX ? LESS_PATIENCE_MS : 0;
}

static void note_late(struct broker *b, uint32_t target)
{
	atomic_store(&b->late_ns, clock_monotonic_ns());
	if (atomic_load(&b->late[target]) < LATE_MAX)
		atomic_fetch_add(&b->late[target], 1);
}

/* The broker's thread for this channel may wait forever, so giving up the wait means giving up the channel. */
static int ask_with_patience(struct broker *b, const struct broker_request *q)
{
	bool host = q->what == BROKER_HOST_PATH || q->target > BROKER_TARGETS_MAX;
	uint32_t target = host ? BROKER_TARGETS_MAX : q->target;
	int fd, r, ms = patience_ms(b, target);
	struct own_channel *c;
	struct broker_answer a;

	if (!ms)
		return -ETIMEDOUT;
	r = own_channel(b, &c);
	if (r == 0)
		r = channel_send(c->fd, q, sizeof(*q), -1);
	if (r == 0 && !patience_wait(c->fd, c->stat, ms, &b->hurried)) {
		note_late(b, target);
		pthread_setspecific(b->channel, NULL);
		close_channel(c);
		return -ETIMEDOUT;
	}
	if (r == 0)
		r = receive_on(c->fd, &a, &fd);
	note_end(b, r);
	return r < 0 ? r : fd < 0 ? -EPROTO : fd;
}

static int ask_for_file(struct broker *b, const struct broker_request *q)
{
	struct broker_answer a;
	int fd, r = ask(b, q, &a, &fd);

	return r < 0 ? r : fd < 0 ? -EPROTO : fd;
}

int broker_find(struct broker *b, pid_t pid, uint32_t *ret, int *ret_pidfd)
{
	struct broker_answer a;
	int r = ask(b, &(struct broker_request){.what = BROKER_FIND, .tid = pid}, &a, ret_pidfd);

	if (r == 0)
		*ret = a.target;
	return r;
}

int broker_proc(struct broker *b, uint32_t target, enum broker_name name)
{
	return ask_for_file(b, &(struct broker_request){.what = BROKER_PROC, .target = target, .name = name});
}

int broker_task(struct broker *b, uint32_t target, pid_t tid, enum broker_name name)
{
	return ask_for_file(b,
			    &(struct broker_request){.what = BROKER_TASK, .target = target, .name = name, .tid = tid});
}

int broker_mapped(struct broker *b, uint32_t target, const struct mapping *map)
{
	return ask_with_patience(b, &(struct broker_request){.what = BROKER_MAPPED,
							     .target = target,
							     .start = map->start,
							     .inode = map->inode,
							     .dev_major = map->dev_major,
							     .dev_minor = map->dev_minor});
}

static int ask_for_path(struct broker *b, enum broker_what what, uint32_t target, const char *path)
{
	struct broker_request q = {.what = what, .target = target};
	size_t len = strlen(path);

	if (len >= sizeof(q.path))
		return -ENAMETOOLONG;
	memcpy(q.path, path, len + 1);
	return ask_with_patience(b, &q);
}

int broker_path(struct broker *b, uint32_t target, const char *path)
{
	return ask_for_path(b, BROKER_PATH, target, path);
}

int broker_host_path(struct broker *b, const char *path)
{
	return ask_for_path(b, BROKER_HOST_PATH, 0, path);
}

static int receive_events(int socket, size_t n, int *fds, size_t *ret_opened)
{
	struct broker_answer a;
	int r = channel_receive_fds(socket, &a, sizeof(a), fds, n, ret_opened);

	if (r < 0)
		return r;
	if (a.code <= 0 && a.target == *ret_opened && (*ret_opened == n) == (a.code == 0))
		return a.code;
	close_all(fds, *ret_opened);
	*ret_opened = 0;
	return -EPROTO;
}

int broker_events(struct broker *b, const struct perf_event_attr *attr, const struct event_place *places, size_t n,
		  int filter_fd, int *fds, size_t *ret_opened)
{
	struct broker_request q = {.what = BROKER_EVENTS, .name = (uint32_t)n, .attr = *attr};
	struct own_channel *c;
	int r;

	*ret_opened = 0;
	if (n == 0 || n > EVENT_PLACES_MAX)
		return -EINVAL;
	memcpy(q.places, places, n * sizeof(*places));
	r = own_channel(b, &c);
	if (r == 0)
		r = channel_send(c->fd, &q, sizeof(q), filter_fd);
	if (r == 0)
		r = receive_events(c->fd, n, fds, ret_opened);
	note_end(b, r);
	return r;
}

static int ask_to_do(struct broker *b, const struct broker_request *q)
{
	struct broker_answer a;
	int fd, r = ask(b, q, &a, &fd);

	if (fd >= 0)
		close(fd);
	return r;
}

int broker_signal(struct broker *b, int signal)
{
	return ask_to_do(b, &(struct broker_request){.what = BROKER_SIGNAL, .tid = signal});
}

/* --- the interface of deputy.h --- */

static int deputy_find(void *ctx, pid_t pid, uint32_t *ret, int *ret_pidfd)
{
	return broker_find(ctx, pid, ret, ret_pidfd);
}

static void deputy_release(void *ctx, uint32_t target)
{
	struct broker *b = ctx;

	if (target < BROKER_TARGETS_MAX)
		atomic_store(&b->late[target], 0); /* the number will belong to another process */
	(void)ask_to_do(ctx, &(struct broker_request){.what = BROKER_RELEASE, .target = target});
}

static int deputy_file(void *ctx, uint32_t target, pid_t tid, const char *name)
{
	for (uint32_t i = 0; i < BROKER_NAMES; i++) {
		const char *known = broker_name(i, tid != 0);

		if (known && strcmp(known, name) == 0)
			return tid ? broker_task(ctx, target, tid, i) : broker_proc(ctx, target, i);
	}
	return -ENOENT;
}

static int deputy_descendants(void *ctx, uint32_t target)
{
	return ask_for_file(ctx, &(struct broker_request){.what = BROKER_DESCENDANTS, .target = target});
}

static int deputy_mapped(void *ctx, uint32_t target, const struct mapping *map)
{
	return broker_mapped(ctx, target, map);
}

static int deputy_path(void *ctx, uint32_t target, const char *path)
{
	return broker_path(ctx, target, path);
}

static int deputy_host_path(void *ctx, const char *path)
{
	return broker_host_path(ctx, path);
}

static int deputy_open_events(void *ctx, const struct perf_event_attr *attr, const struct event_place *places, size_t n,
			      int filter_fd, int *fds, size_t *ret_opened)
{
	return broker_events(ctx, attr, places, n, filter_fd, fds, ret_opened);
}

static int deputy_schedule(void *ctx, pid_t tid, bool realtime, int nice)
{
	return ask_to_do(ctx,
			 &(struct broker_request){.what = BROKER_SCHEDULE, .tid = tid, .name = realtime, .cpu = nice});
}

static void deputy_hurry(void *ctx)
{
	struct broker *b = ctx;

	atomic_store(&b->hurried, true);
}

static uint64_t deputy_cpu_ns(void *ctx)
{
	const struct broker *b = ctx;
	uint64_t ns;

	return clock_cpu_of_ns(b->child, &ns) ? ns : 0;
}

static int allow_events(struct broker *b)
{
	size_t n;
	const struct deputy_event *e = deputy_events(&n);
	int fd, r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct broker_request q = {.what = BROKER_ALLOW_EVENT,
					   .attr = {.type = e[i].type, .config = e[i].config}};
		struct broker_answer a;

		r = ask_on(b->socket, &q, &a, &fd);
	}
	return r;
}

int broker_use(struct broker *b, struct err *err)
{
	const struct deputy d = {
		.ctx = b,
		.find = deputy_find,
		.release = deputy_release,
		.file = deputy_file,
		.descendants = deputy_descendants,
		.mapped = deputy_mapped,
		.path = deputy_path,
		.host_path = deputy_host_path,
		.events = deputy_open_events,
		.schedule = deputy_schedule,
		.hurry = deputy_hurry,
		.cpu_ns = deputy_cpu_ns,
	};
	struct own_channel *c;
	int r = allow_events(b);

	/* Any other request ends the list of allowed events, so that a worker that was taken over cannot add to it. */
	if (r == 0)
		r = own_channel(b, &c);
	if (r < 0)
		return err_set(err, r, "the process that keeps the privileges has ended: %s", strerror(-r));
	deputy_appoint(&d);
	return 0;
}

/* --- start and end --- */

struct broker *broker_new(bool follow)
{
	struct broker *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->socket = -1;
	b->follow = follow;
	b->command = -1;
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->maps_lock, NULL);
	if (pthread_key_create(&b->channel, close_channel) == 0)
		return b;
	free(b);
	return NULL;
}

int broker_add_target(struct broker *b, pid_t pid, bool command, uint32_t *ret, struct err *err)
{
	int r = broker_add_pid(b, pid, ret, err);

	if (r == 0 && command) {
		b->command = *ret;
		/* Never released, so that its number, and with it the signals, cannot go to another process. */
		b->targets[*ret].uses++;
	}
	return r;
}

void broker_starts(struct broker *b, const struct broker_command *c)
{
	b->starts = *c;
}

void broker_admit_from(struct broker *b, const struct broker_admissions *a)
{
	b->admissions = *a;
}

static bool is_own(const void *ctx, int fd)
{
	const struct broker *b = ctx;
	const struct broker_admissions *a = &b->admissions;
	bool own = fd <= STDERR_FILENO || fd == b->socket ||
		   (a->set && (fd == a->from || fd == a->to || fd == a->keep)) ||
		   (b->starts.start && fd == b->starts.keep);

	for (size_t i = 0; i < b->n_targets && !own; i++)
		own = fd == proc_dirfd(b->targets[i].proc) || fd == proc_pidfd(b->targets[i].proc);
	return own;
}

/* Before anything is given up or closed: the command is to inherit all of it. */
static int start_command(struct broker *b)
{
	uint32_t number;
	pid_t pid;
	int r = b->starts.start(b->starts.ctx, &pid);

	if (r == 0)
		r = broker_add_target(b, pid, true, &number, NULL);
	b->n_chosen = (uint32_t)b->n_targets;
	return r;
}

/* Closes everything else that the program has open, for example the gate that holds up a command. */
static int begin(struct broker *b)
{
	int r = b->starts.start ? start_command(b) : 0;

	channel_stay_behind(is_own, b);
	data_limit(BROKER_BYTES);
	if (geteuid() == 0)
		(void)setgroups(0, NULL); /* a thread that opens files as the target has only the target's group */
	if (r == 0 && b->drop)
		r = b->drop(NULL);
	if (r == 0 && b->starts.start)
		r = b->starts.watch(b->starts.ctx);
	return r == 0 && b->admissions.set ? broker_admit_start(b) : r;
}

static void run_child(void *ctx, int socket)
{
	struct broker *b = ctx;
	struct broker_answer ready = {0};

	b->socket = socket;
	ready.code = begin(b);
	if (channel_send(socket, &ready, sizeof(ready), -1) == 0 && ready.code == 0 &&
	    channel_end_with(socket, b->worker) == 0)
		broker_serve(b, socket);
	if (b->starts.start)
		b->starts.end(b->starts.ctx);
}

static int wait_until_ready(struct broker *b, struct err *err)
{
	struct broker_answer ready;
	int r = channel_receive(b->socket, &ready, sizeof(ready), NULL);

	if (r < 0)
		return err_set(err, r, "the process that keeps the privileges has ended: %s", strerror(-r));
	return ready.code ? err_set(err, ready.code,
				    "the process that keeps the privileges cannot give up other capabilities%s: %s",
				    b->starts.start ? ", or start the command" : "", strerror(-ready.code)) :
			    0;
}

int broker_start(struct broker *b, int (*drop)(struct err *err), struct err *err)
{
	int r;

	b->drop = drop;
	b->worker = getpid();
	b->n_chosen = (uint32_t)b->n_targets;
	r = channel_start(run_child, b, &b->socket, &b->child);
	return r < 0 ? err_set(err, r, "cannot start the process that keeps the privileges: %s", strerror(-r)) :
		       wait_until_ready(b, err);
}

int broker_socket(const struct broker *b)
{
	return b->socket;
}

void broker_free(struct broker *b)
{
	void *channel = b ? pthread_getspecific(b->channel) : NULL;

	if (!b)
		return;
	if (channel)
		close_channel(channel);
	pthread_key_delete(b->channel);
	/* One of its threads may be waiting for a file system, and cannot end. */
	channel_end_soon(b->socket, b->child, atomic_load(&b->late_ns) ? PATIENCE_HURRY_MS : END_MS);
	for (size_t i = 0; i < b->n_targets; i++)
		proc_close(b->targets[i].proc);
	for (size_t i = 0; i < BROKER_KIN && i < b->n_kin; i++) /* the pages of the others were never used */
		free(b->kin[i].cgroup);
	broker_maps_forget(b);
	pthread_mutex_destroy(&b->maps_lock);
	pthread_mutex_destroy(&b->lock);
	free(b);
}
