#include "jvm-bridge/stream/stream.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "jvm-bridge/base/futex.h"
#include "jvm-bridge/stream/channel.h"
#include "jvm-bridge/stream/events.h"
#include "jvm-bridge/stream/record.h"

enum {
	TICK_MS = 50, /* events wait at most this long before they are sent */
	IDLE_MS = 500, /* likewise those that need not be sent soon, while there are no others */
	CONNECT_MS = 1000, /* between attempts of a standing stream */
	REPLAY_MS = 1000, /* between two replays after losses */
	FLUSH_SIZE = 64 << 10, /* a replay is sent in pieces of this size */
};

/*
 * Java threads: stream_notify() builds a record and puts it into the ring, or counts it as lost; it never waits. The
 * stream's own thread connects, sends and replays. It starts with the first connection and then waits for the next:
 * with glibc, a new thread each time would use another of many malloc arenas, and leave there what a replay needs
 * (some 200 kB each).
 */
static struct stream {
	JavaVM *vm;
	int wake; /* eventfd; created once */
	struct ring ring;
	struct sink sink;
	_Atomic bool active; /* connected: events become records */
	_Atomic bool stop; /* the JVM is ending */
	_Atomic bool woken;
	_Atomic bool idle; /* the thread waits longer than a tick */
	_Atomic uint32_t users; /* threads inside stream_notify() */
	_Atomic uint64_t lost; /* records */
	struct lock lock; /* guards what follows */
	bool running; /* the thread exists */
	int offered; /* a connected socket for the thread to take; -1: none */
	int served; /* the socket being served; -1: none, or that connection is ending */
	bool busy; /* serving a connection, or ending it */
	char standing[WIRE_PATH_MAX + 1]; /* path of a standing stream; "": none */
	/* Only used by the thread. */
	JNIEnv *_Atomic env;
	struct channel channel;
	uint64_t lost_total, replayed_ns;
	uint32_t replays;
	bool said; /* the message that nobody listens has been printed */
	bool listening; /* events in `wanted` are enabled */
} stream = {.wake = -1, .offered = -1, .served = -1, .channel = {.fd = -1}};

static const jint wanted[] = {JVMPI_EVENT_CLASS_LOAD,      JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_THREAD_START,
			      JVMPI_EVENT_THREAD_END,      JVMPI_EVENT_JS_CODE_LOAD, JVMPI_EVENT_JS_CODE_UNLOAD,
			      JVMPI_EVENT_JS_DYNAMIC_CODE, JVMPI_EVENT_JS_GC_PAUSE};

static void stream_wake(void)
{
	uint64_t one = 1;

	if (!atomic_exchange(&stream.woken, true) && write(stream.wake, &one, sizeof(one)) < 0)
		atomic_store(&stream.woken, false); /* the counter is full, so the thread is awake */
}

static void stream_wait(bool writing, int ms)
{
	channel_wait(&stream.channel, stream.wake, writing, ms);
	atomic_store(&stream.woken, false);
}

static void listen_to(bool on)
{
	if (stream.listening == on)
		return;
	stream.listening = on;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		on ? stream.sink.pi->EnableEvent(wanted[i], NULL) : stream.sink.pi->DisableEvent(wanted[i], NULL);
}

/* The connection is gone, or the JVM is ending. Disabling the events makes a replay in progress end soon. */
static bool is_over(void)
{
	if (atomic_load(&stream.stop))
		return true;
	if (stream.channel.broken)
		listen_to(false);
	return stream.channel.broken;
}

/* The stream's own thread may wait for the sampler, as nobody waits for it. */
static bool put_waiting(const struct record *r)
{
	while (!ring_put(&stream.ring, r->data, (uint32_t)r->len)) {
		channel_flush(&stream.channel, &stream.ring);
		if (is_over())
			return false;
		if (ring_used(&stream.ring) > RING_SIZE / 2)
			stream_wait(true, TICK_MS);
	}
	if (ring_used(&stream.ring) > FLUSH_SIZE)
		channel_flush(&stream.channel, &stream.ring);
	return !is_over();
}

static bool put_later(const struct record *r, JNIEnv *env)
{
	bool ok;

	if (env && env == atomic_load(&stream.env))
		return put_waiting(r);
	ok = ring_put(&stream.ring, r->data, (uint32_t)r->len);
	if (!ok)
		atomic_fetch_add(&stream.lost, 1);
	if (!ok || ring_used(&stream.ring) > RING_SIZE / 4)
		stream_wake();
	return ok;
}

static bool put(const struct record *r, JNIEnv *env)
{
	bool ok = put_later(r, env);

	if (atomic_load(&stream.idle))
		stream_wake();
	return ok;
}

static void thread_begin(void);

static void stream_notify(JVMPI_Event *e)
{
	switch (e->event_type) {
	case JVMPI_EVENT_JVM_INIT_DONE: thread_begin(); return;
	case JVMPI_EVENT_JVM_SHUT_DOWN:
		atomic_store(&stream.stop, true);
		stream_wake();
		return;
	}
	atomic_fetch_add(&stream.users, 1);
	if (atomic_load(&stream.active))
		event_put(&stream.sink, e);
	atomic_fetch_sub(&stream.users, 1);
}

/* The stream's thread. */

static void numbers_put(enum wire_type type, uint32_t a, uint32_t b)
{
	struct record r = {0};

	record_begin(&r, type, 0);
	record_u32(&r, a);
	record_u32(&r, b);
	if (record_end(&r))
		put_waiting(&r);
	record_done(&r);
}

static void hello_put(JNIEnv *env)
{
	struct record r = {0};

	if (record_hello(&r, env))
		put_waiting(&r);
	record_done(&r);
}

static void replay(enum wire_replay why)
{
	jint r;

	numbers_put(WIRE_REPLAY_BEGIN, ++stream.replays, why);
	r = stream.sink.pi->RequestEvent(JVMPI_EVENT_JS_REPLAY, NULL);
	numbers_put(WIRE_REPLAY_END, stream.replays, r == JVMPI_SUCCESS ? 0 : 5 /* EIO */);
	stream.replayed_ns = clock_ns(CLOCK_MONOTONIC);
}

/* Reports dropped records and makes up for them by a replay, at most once a second. */
static void losses_put(void)
{
	struct record r = {0};
	uint64_t n;

	if (!atomic_load(&stream.lost) || ring_used(&stream.ring) > RING_SIZE / 2 ||
	    clock_ns(CLOCK_MONOTONIC) - stream.replayed_ns < REPLAY_MS * 1000000ull)
		return;
	n = atomic_exchange(&stream.lost, 0);
	stream.lost_total += n;
	record_begin(&r, WIRE_LOST, 0);
	record_u64(&r, n);
	record_u64(&r, stream.lost_total);
	if (record_end(&r))
		put_waiting(&r);
	record_done(&r);
	replay(WIRE_REPLAY_LOST);
}

static void connection_begin(JNIEnv *env, int fd)
{
	channel_open(&stream.channel, fd);
	stream.replays = 0;
	stream.lost_total = 0;
	atomic_store(&stream.lost, 0);
	hello_put(env);
	atomic_store(&stream.active, true);
	listen_to(true);
	replay(WIRE_REPLAY_CONNECT);
}

static void connection_end(void)
{
	atomic_store(&stream.active, false);
	if (!atomic_load(&stream.stop))
		listen_to(false);
	while (atomic_load(&stream.users))
		stream_wait(false, 1);
	channel_close(&stream.channel);
	ring_reset(&stream.ring);
	sent_methods_reset(&stream.sink.sent_methods);
}

static void bye(enum wire_bye why)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + 100000000;

	if (stream.channel.broken && why != WIRE_BYE_REQUEST)
		return;
	stream.channel.broken = false;
	atomic_store(&stream.active, false);
	numbers_put(WIRE_BYE, why, 0);
	while (!stream.channel.broken && ring_used(&stream.ring) && clock_ns(CLOCK_MONOTONIC) < end) {
		channel_flush(&stream.channel, &stream.ring);
		if (ring_used(&stream.ring))
			stream_wait(true, 10);
	}
}

/* false: the connection has ended. */
static bool requests_answer(void)
{
	struct request q;
	struct record r = {0};

	while (channel_request(&stream.channel, &q)) {
		if (q.type == WIRE_ASK_BYE) {
			bye(WIRE_BYE_ASKED);
			return false;
		}
		record_begin(&r, WIRE_SYNC, 0);
		record_u64(&r, q.cookie);
		if (record_end(&r))
			put_waiting(&r);
		record_done(&r);
	}
	return !stream.channel.broken;
}

/* Bursts of events are sent together; while there are none, a Java thread wakes this one for the first event. */
static void serve_wait(bool busy)
{
	if (busy || ring_used(&stream.ring) || atomic_load(&stream.lost)) {
		stream_wait(ring_used(&stream.ring) != 0, TICK_MS);
		return;
	}
	atomic_store(&stream.idle, true);
	if (!ring_used(&stream.ring) && !atomic_load(&stream.stop)) /* put() sees `idle`, or this sees its record */
		stream_wait(false, IDLE_MS);
	atomic_store(&stream.idle, false);
}

static void connection_serve(void)
{
	while (!atomic_load(&stream.stop)) {
		bool busy = ring_used(&stream.ring);

		if (!requests_answer())
			return;
		channel_flush(&stream.channel, &stream.ring);
		losses_put();
		if (stream.channel.broken)
			return;
		serve_wait(busy);
	}
	bye(WIRE_BYE_SHUTDOWN);
}

/* An offered socket goes first: its owner was told that it will be served. */
static int offered_take(int other)
{
	int fd;

	lock_take(&stream.lock);
	fd = stream.offered >= 0 ? stream.offered : other;
	stream.offered = -1;
	stream.served = fd;
	stream.busy = fd >= 0;
	lock_drop(&stream.lock);
	if (other >= 0 && fd != other)
		close(other);
	return fd;
}

/* A socket to serve; -1: none now. *wait_ms: when to look again; -1: when woken. */
static int socket_next(int *wait_ms)
{
	char path[WIRE_PATH_MAX + 1];
	int fd;

	fd = offered_take(-1);
	lock_take(&stream.lock);
	memcpy(path, stream.standing, sizeof(path));
	lock_drop(&stream.lock);
	*wait_ms = path[0] ? CONNECT_MS : -1;
	if (fd >= 0 || !path[0])
		return fd;
	if (channel_connect(path, &fd) == WIRE_ATTACH_OK)
		return offered_take(fd);
	if (!stream.said)
		fprintf(stderr,
			"jsampler-bridge: stream=%s: nobody listens there; trying again every second "
			"(jsampler connects by itself and does not need stream=)\n",
			path);
	stream.said = true;
	return -1;
}

static void thread_main(void *arg)
{
	void *env = NULL;
	int wait_ms;

	(void)arg;
	if ((*stream.vm)->GetEnv(stream.vm, &env, JNI_VERSION_1_6))
		return;
	atomic_store(&stream.env, env);
	while (!atomic_load(&stream.stop)) {
		int fd = socket_next(&wait_ms);

		if (fd < 0) {
			stream_wait(false, wait_ms);
			continue;
		}
		connection_begin(env, fd);
		connection_serve();
		lock_take(&stream.lock);
		stream.served = -1;
		lock_drop(&stream.lock);
		connection_end();
		lock_take(&stream.lock);
		stream.busy = false;
		lock_drop(&stream.lock);
	}
	atomic_store(&stream.env, NULL);
}

/* Starts the thread when it has work. Before JVM_INIT_DONE that may fail; it is then tried again. */
static void thread_begin(void)
{
	char name[] = "jsampler stream";
	bool start;

	lock_take(&stream.lock);
	start = !stream.running && (stream.offered >= 0 || stream.standing[0]);
	stream.running |= start;
	lock_drop(&stream.lock);
	if (!start)
		return;
	if (stream.sink.pi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, thread_main) != JNI_OK) {
		lock_take(&stream.lock);
		stream.running = false;
		lock_drop(&stream.lock);
	}
}

static int set_up(JavaVM *vm)
{
	void *pi = NULL;

	if (stream.sink.pi)
		return WIRE_ATTACH_OK;
	if ((*vm)->GetEnv(vm, &pi, JVMPI_VERSION_1_2) || !pi)
		return WIRE_ATTACH_JVM;
	stream.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stream.wake < 0 || !ring_init(&stream.ring) || !sent_methods_init(&stream.sink.sent_methods))
		return WIRE_ATTACH_MEMORY;
	stream.vm = vm;
	stream.sink.pi = pi;
	stream.sink.put = put;
	stream.sink.put_later = put_later;
	stream.sink.pi->NotifyEvent = stream_notify;
	stream.sink.pi->RequestEvent(JVMPI_EVENT_JS_LEAN, NULL);
	stream.sink.pi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
	stream.sink.pi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
	return WIRE_ATTACH_OK;
}

/* With the lock held: the connection being served is about to end. */
static bool is_leaving(void)
{
	struct pollfd p = {.fd = stream.served};

	return stream.served < 0 || (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)));
}

/* Never waits: on HotSpot's Attach Listener, all other requests would wait as well. */
static int offer(int fd)
{
	bool taken;

	lock_take(&stream.lock);
	taken = stream.offered < 0 && (!stream.busy || is_leaving());
	if (taken)
		stream.offered = fd;
	lock_drop(&stream.lock);
	if (!taken) {
		close(fd);
		return WIRE_ATTACH_BUSY;
	}
	stream_wake();
	thread_begin();
	return WIRE_ATTACH_OK;
}

int stream_load(JavaVM *vm, const char *path, bool standing)
{
	int fd, r;

	if (!path || path[0] != '/' || strlen(path) > WIRE_PATH_MAX)
		return WIRE_ATTACH_PATH;
	r = set_up(vm);
	if (r)
		return r;
	if (standing) {
		lock_take(&stream.lock);
		strcpy(stream.standing, path);
		lock_drop(&stream.lock);
		thread_begin();
		return WIRE_ATTACH_OK;
	}
	r = channel_connect(path, &fd);
	return r ? r : offer(fd);
}
