#include "sampler/session/bridge/bridge.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "jvm-bridge/attach/attach.h"
#include "jvm-bridge/peer/peer.h"
#include "jvm-bridge/peer/timeline.h"
#include "jvm-bridge/stream/wire.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

#define LIBRARY "libjsampler-bridge"

enum {
	FINISH_MS = 2000,
	HURRIED_MS = 300,
	SLICE_MS = 50,
	REPLAY_MS = 5000,
	SYNC_COOKIE = 1,
	JEP_451 = 21 /* the first JDK that warns */
};

enum bridge_state { BRIDGE_IDLE, BRIDGE_CONNECTING, BRIDGE_CONNECTED, BRIDGE_ENDED };

struct bridge {
	enum bridge_mode mode;
	struct proc *proc; /* borrowed */
	struct attach *attach;
	char loaded[PATH_MAX]; /* path of the loaded library, as the JVM knows it; "": not loaded yet */
	char library[PATH_MAX], musl[PATH_MAX]; /* "": none */
	bool asked; /* bridge_connect() was called; used by the session's thread only */
	bool wake, waited_for;

	pthread_t thread;
	bool running;
	atomic_bool cancelled; /* sampling has ended before the JVM answered */
	int stop; /* eventfd */
	atomic_uint wanted; /* other threads that wait for the lock */
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t changed;
	enum bridge_state state;
	struct err err; /* why it is not connected */
	struct timeline *timeline;
	struct peer *peer;
};

const char *bridge_mapped(const struct maps *maps)
{
	for (size_t i = 0; i < maps_count(maps); i++) {
		const char *path = maps_at(maps, i)->path, *base = strrchr(path, '/');

		if (base && strncmp(base + 1, LIBRARY, strlen(LIBRARY)) == 0)
			return path;
	}
	return NULL;
}

/* --- The lock */

/* A mutex is not fair: the bridge's thread, which reads all the time if the JVM sends all the time, would hog it. */
static void lock_before_reader(struct bridge *b)
{
	if (pthread_mutex_trylock(&b->lock) == 0)
		return;
	atomic_fetch_add(&b->wanted, 1);
	pthread_mutex_lock(&b->lock);
	atomic_fetch_sub(&b->wanted, 1);
}

/* Returns 0, or ETIMEDOUT. until: of CLOCK_REALTIME, or NULL. */
static int wait_changed_locked(struct bridge *b, const struct timespec *until)
{
	int r;

	atomic_fetch_add(&b->wanted, 1);
	r = until ? pthread_cond_timedwait(&b->changed, &b->lock, until) : pthread_cond_wait(&b->changed, &b->lock);
	atomic_fetch_sub(&b->wanted, 1);
	return r;
}

/* For the bridge's thread: gives way to those who wait for the lock. */
static void yield_lock(const struct bridge *b)
{
	const struct timespec pause = {.tv_nsec = 100000};

	if (atomic_load(&b->wanted))
		nanosleep(&pause, NULL);
}

/* --- The library */

static bool readable(const char *dir, const char *below, char *dst)
{
	return snprintf(dst, PATH_MAX, "%s%s", dir, below) < PATH_MAX && access(dst, R_OK) == 0;
}

/* The directory of this program; "": unknown. */
static void own_folder(char *dir, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", dir, size - 1);
	char *slash;

	dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(dir, '/');
	*(slash ? slash : dir) = '\0';
}

/* Looks next to this program, where it is installed or built. */
static bool find_library(const char *name, char *dst)
{
	char dir[PATH_MAX / 2], below[PATH_MAX / 2];

	own_folder(dir, sizeof(dir));
	if (!*dir)
		return false;
	snprintf(below, sizeof(below), "/../lib/jsampler/%s", name);
	if (readable(dir, below, dst))
		return true;
	snprintf(below, sizeof(below), "/../../jvm-bridge/%s", name);
	return readable(dir, below, dst);
}

static int not_found(struct err *err)
{
	char dir[PATH_MAX / 2];

	own_folder(dir, sizeof(dir));
	return err_set(err, -ENOENT,
		       "--bridge on: there is no %s/../lib/jsampler/" LIBRARY
		       ".so; JSAMPLER_BRIDGE can name another place",
		       dir);
}

/* Absolute and without "..", so that the JVM can find it, too. */
static void make_plain(char *path)
{
	CLEANUP(free_at_exit) char *plain = realpath(path, NULL);

	if (plain && strlen(plain) < PATH_MAX)
		strcpy(path, plain);
}

static int find_libraries(struct bridge *b, struct err *err)
{
	const char *named = secure_getenv("JSAMPLER_BRIDGE");

	if (named)
		snprintf(b->library, sizeof(b->library), "%s", named);
	else if (!find_library(LIBRARY ".so", b->library))
		return not_found(err);
	make_plain(b->library);
	if (find_library(LIBRARY "-musl.so", b->musl))
		make_plain(b->musl);
	else
		b->musl[0] = '\0';
	return 0;
}

/* --- Opening */

static int start_attach(struct bridge *b, struct err *err)
{
	struct attach_task task = {.loaded = b->loaded};

	if (!*b->loaded)
		task = (struct attach_task){.library = b->library, .musl_library = *b->musl ? b->musl : NULL};
	return attach_start(b->proc, &task, &b->attach, err);
}

static void bridge_close_at_exit(struct bridge **b)
{
	bridge_close(*b);
}

int bridge_open(struct proc *proc, const struct maps *maps, enum bridge_mode mode, struct budget *budget,
		struct bridge **ret, struct err *err)
{
	CLEANUP(bridge_close_at_exit) struct bridge *b = NULL;
	const char *mapped = mode == BRIDGE_OFF ? NULL : bridge_mapped(maps);
	int r = 0;

	*ret = NULL;
	if (mode == BRIDGE_OFF || (mode == BRIDGE_AUTO && !mapped))
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	b->mode = mode;
	b->proc = proc;
	b->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->timeline = timeline_new();
	if (b->stop < 0 || !b->timeline)
		return err_set(err, -ENOMEM, "out of memory or file descriptors");
	timeline_set_budget(b->timeline, budget);
	if (mapped)
		snprintf(b->loaded, sizeof(b->loaded), "%s", mapped);
	else
		r = find_libraries(b, err);
	if (r == 0)
		r = start_attach(b, err);
	if (r < 0)
		return r;
	*ret = take_ptr(b);
	return 0;
}

/* --- The thread */

static void set_state(struct bridge *b, enum bridge_state state)
{
	pthread_mutex_lock(&b->lock);
	b->state = state;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static int explain_code(int code, struct err *err)
{
	static const char *const texts[] = {
		[WIRE_ATTACH_OPTIONS] = "did not understand its options: is it from another release?",
		[WIRE_ATTACH_PATH] = "cannot connect: the path of the socket is too long",
		[WIRE_ATTACH_CONNECT] = "could not connect to jsampler's socket",
		[WIRE_ATTACH_BUSY] = "is connected to another jsampler: wait until that one has ended",
		[WIRE_ATTACH_JVM] = "finds that this JVM lacks what it needs",
		[WIRE_ATTACH_MEMORY] = "is out of memory",
	};
	const char *text = code > 0 && code < (int)(sizeof(texts) / sizeof(texts[0])) ? texts[code] : NULL;

	return text ? err_set(err, -EREMOTEIO, "the bridge in the JVM %s", text) :
		      err_set(err, -EREMOTEIO, "the bridge in the JVM refused to start (code %d)", code);
}

static int load(struct bridge *b, struct err *err)
{
	struct peer *peer = NULL;
	int fd, code, r = attach_load(b->attach, b->wake, &fd, &code, err);

	if (r == -EREMOTEIO)
		return explain_code(code, err);
	if (r >= 0)
		r = peer_new(fd, b->timeline, &peer, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&b->lock);
	b->peer = peer;
	pthread_mutex_unlock(&b->lock);
	return 0;
}

/*
 * False: the connection has ended. Reads once only: a JVM that never stops sending must not keep
 * the thread from ending.
 */
static bool read_some(struct bridge *b, struct err *err)
{
	int r;

	pthread_mutex_lock(&b->lock);
	r = peer_read(b->peer, err);
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	yield_lock(b);
	return r >= 0;
}

/* If nothing was received yet, this is as if there had been no bridge: whoever waits for it reports that. */
static void stream_broke(struct bridge *b, const struct err *err)
{
	bool told;

	pthread_mutex_lock(&b->lock);
	b->err = *err;
	told = peer_is_replayed(b->peer);
	pthread_mutex_unlock(&b->lock);
	if (told && err->code == -EPIPE)
		log_info("%s", err->msg);
	else if (b->mode == BRIDGE_ON && (told || !b->waited_for))
		log_warn("the bridge is no longer used: %s", err->msg);
	else if (b->mode == BRIDGE_AUTO)
		log_info("the bridge is not used: %s", err->msg);
}

static void read_stream(struct bridge *b)
{
	struct pollfd fds[2] = {
		{.fd = peer_fd(b->peer), .events = POLLIN},
		{.fd = b->stop, .events = POLLIN},
	};
	struct err err = {0};

	while (poll(fds, 2, -1) > 0 || errno == EINTR) {
		if (fds[1].revents)
			return;
		if (!read_some(b, &err))
			break;
	}
	if (proc_alive(b->proc))
		stream_broke(b, &err);
}

static void *bridge_thread(void *arg)
{
	struct bridge *b = arg;
	struct err err = {0};
	int r;

	pthread_setname_np(pthread_self(), "jsampler-bridge");
	r = load(b, &err);
	if (r < 0) {
		if (atomic_load(&b->cancelled))
			err_set(&err, r, "the JVM had not answered when sampling ended");
		if (!b->waited_for && b->mode == BRIDGE_ON)
			log_warn("the bridge is not used: %s", err.msg);
		else if (b->mode == BRIDGE_AUTO)
			log_info("the bridge is not used: %s", err.msg);
		pthread_mutex_lock(&b->lock);
		b->err = err;
		pthread_mutex_unlock(&b->lock);
		set_state(b, BRIDGE_ENDED);
		return NULL;
	}
	set_state(b, BRIDGE_CONNECTED);
	read_stream(b);
	set_state(b, BRIDGE_ENDED);
	return NULL;
}

/* --- Connecting */

/* Would attaching do harm, or fail? The JVM's own flags say. */
static int check_flags(struct bridge *b, struct hotspot *hs, struct err *err)
{
	uint64_t disabled, dynamic = 1;
	int origin = 0;

	if (hotspot_flag(hs, "DisableAttachMechanism", &disabled, NULL) < 0)
		return proc_gone(b->proc) ? err_set(err, -ESRCH, "the JVM ended") :
					    err_set(err, -ENOTSUP, "cannot tell whether this JVM allows attaching");
	if (disabled)
		return err_set(err, -EPERM,
			       "attaching is disabled by -XX:+DisableAttachMechanism: restart "
			       "the JVM without it, or with -agentpath:" LIBRARY ".so");
	hotspot_flag(hs, "EnableDynamicAgentLoading", &dynamic, &origin);
	if (!dynamic)
		return err_set(err, -EPERM,
			       "loading agents is disabled (EnableDynamicAgentLoading): restart the "
			       "JVM with -XX:+EnableDynamicAgentLoading, or with -agentpath:" LIBRARY ".so");
	if (!*b->loaded && hotspot_version(hs)->major >= JEP_451 && origin == 0)
		log_warn("the JVM will print a warning on its stderr that an agent was loaded (JEP 451; "
			 "-XX:+EnableDynamicAgentLoading suppresses it)");
	b->wake = true;
	return 0;
}

static struct timespec time_in(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/*
 * Code that is sampled before the bridge has listed the loaded code, and that is unloaded by then, would have no
 * name.
 */
static void wait_replayed_locked(struct bridge *b)
{
	struct timespec until = time_in(REPLAY_MS);

	while (b->state == BRIDGE_CONNECTED && !peer_is_replayed(b->peer))
		if (wait_changed_locked(b, &until) != 0)
			return;
}

static int wait_connected(struct bridge *b, struct err *err)
{
	int r = 0;

	lock_before_reader(b);
	while (b->state == BRIDGE_CONNECTING)
		wait_changed_locked(b, NULL);
	wait_replayed_locked(b);
	if (b->state == BRIDGE_ENDED && (!b->peer || (b->err.code && !peer_is_replayed(b->peer))))
		r = err_set(err, b->err.code ? b->err.code : -EPIPE, "--bridge on: %.300s", b->err.msg);
	pthread_mutex_unlock(&b->lock);
	return b->mode == BRIDGE_ON ? r : 0;
}

int bridge_connect(struct bridge *b, struct hotspot *hs, bool wait, struct err *err)
{
	struct err e = {0};
	int r;

	if (b->asked)
		return 0;
	b->asked = true;
	b->state = BRIDGE_CONNECTING;
	b->waited_for = wait;
	r = check_flags(b, hs, &e);
	if (r == 0 && pthread_create(&b->thread, NULL, bridge_thread, b) != 0)
		r = err_set(&e, -EAGAIN, "cannot start a thread");
	if (r == 0) {
		b->running = true;
		return wait ? wait_connected(b, err) : 0;
	}
	b->state = BRIDGE_ENDED;
	if (b->mode == BRIDGE_ON && wait)
		return err_set(err, r, "--bridge on: %.300s", e.msg);
	if (b->mode == BRIDGE_ON)
		log_warn("the bridge is not used: %s", e.msg);
	else
		log_info("the bridge is not used: %s", e.msg);
	return 0;
}

struct timeline *bridge_lock(struct bridge *b)
{
	if (!b)
		return NULL;
	lock_before_reader(b);
	if (b->peer && b->state >= BRIDGE_CONNECTED)
		return b->timeline;
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

void bridge_unlock(struct bridge *b)
{
	pthread_mutex_unlock(&b->lock);
}

static void stop_thread(struct bridge *b)
{
	uint64_t one = 1;

	if (!b->running)
		return;
	atomic_store(&b->cancelled, true);
	attach_cancel(b->attach);
	if (write(b->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(b->thread, NULL);
	b->running = false;
}

static void say_stats(const struct timeline *t)
{
	struct timeline_stats s = timeline_stats(t);

	log_info("bridge: %llu records, %llu codes, %llu unloaded, %llu methods, lost %llu",
		 (unsigned long long)s.records, (unsigned long long)s.codes, (unsigned long long)s.unloads,
		 (unsigned long long)s.methods, (unsigned long long)s.lost);
	if (s.dropped)
		log_warn("bridge: %llu records were dropped: they would take too much memory",
			 (unsigned long long)s.dropped);
}

static void wait_synced_locked(struct bridge *b, const atomic_bool *hurried)
{
	uint64_t start_ns = clock_monotonic_ns(), ms = 0;

	while (b->state == BRIDGE_CONNECTED && peer_synced(b->peer) != SYNC_COOKIE &&
	       ms < (atomic_load(hurried) ? HURRIED_MS : FINISH_MS)) {
		struct timespec until = time_in(SLICE_MS);

		wait_changed_locked(b, &until);
		ms = (clock_monotonic_ns() - start_ns) / 1000000;
	}
}

void bridge_finish(struct bridge *b, const atomic_bool *hurried)
{
	if (!b || !b->running)
		return;
	lock_before_reader(b);
	if (b->state == BRIDGE_CONNECTED && peer_ask_sync(b->peer, SYNC_COOKIE) == 0)
		wait_synced_locked(b, hurried);
	pthread_mutex_unlock(&b->lock);
	stop_thread(b);
	if (b->peer)
		say_stats(b->timeline);
}

struct timeline *bridge_timeline(const struct bridge *b)
{
	return b && !b->running && b->peer ? b->timeline : NULL;
}

void bridge_close(struct bridge *b)
{
	if (!b)
		return;
	stop_thread(b);
	attach_stop(b->attach);
	peer_free(b->peer);
	timeline_free(b->timeline);
	if (b->stop >= 0)
		close(b->stop);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}
