#include "jvm-bridge/peer/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jvm-bridge/peer/timeline.h"
#include "jvm-bridge/peer/wire_read.h"
#include "jvm-bridge/stream/wire.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

enum {
	BUFFER = 2 * WIRE_RECORD_MAX,
	READ_MAX = 32 << 10, /* while others wait for the lock */
	/* Clocks on one host differ only by a time namespace's offset, seconds or more; less is noise. */
	SAME_CLOCK_NS = 50000000,
};

struct peer {
	int fd;
	struct timeline *timeline;
	bool hello, replayed, bye;
	uint64_t synced;
	size_t len;
	uint8_t buffer[BUFFER];
};

void peer_free(struct peer *p)
{
	if (!p)
		return;
	close(p->fd);
	free(p);
}

int peer_new(int fd, struct timeline *t, struct peer **ret, struct err *err)
{
	struct peer *p = calloc(1, sizeof(*p));
	int flags = fcntl(fd, F_GETFL);

	if (!p || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		free(p);
		close(fd);
		return err_set(err, -ENOMEM, "out of memory");
	}
	p->fd = fd;
	p->timeline = t;
	*ret = p;
	return 0;
}

int peer_fd(const struct peer *p)
{
	return p->fd;
}

/* Compares the target's two clocks, read at one moment, with ours: its monotonic clock may have another offset. */
static int64_t clock_offset(const struct wire_hello *h)
{
	int64_t theirs = (int64_t)(h->realtime_ns - h->monotonic_ns);
	int64_t ours = (int64_t)(clock_realtime_ns() - clock_monotonic_ns());
	int64_t d = (int64_t)((uint64_t)theirs - (uint64_t)ours);

	return d > -SAME_CLOCK_NS && d < SAME_CLOCK_NS ? 0 : d;
}

static int take_hello(struct peer *p, const struct wire_record *r, struct err *err)
{
	struct wire_hello h = {0};
	int e = wire_hello(r, &h);

	if (e == -ENOTSUP)
		return err_set(err, e,
			       "the bridge in the JVM speaks version %u of the stream, this jsampler %d: "
			       "use those of one release",
			       h.major, WIRE_VERSION_MAJOR);
	if (e < 0)
		return err_set(err, e, "what connected is not a bridge");
	p->hello = true;
	timeline_set_offset(p->timeline, clock_offset(&h));
	return 0;
}

static int take_record(struct peer *p, const struct wire_record *r, struct err *err)
{
	struct cursor c = r->body;
	int e;

	if (!p->hello)
		return take_hello(p, r, err);
	if (r->type == WIRE_SYNC)
		p->synced = cursor_u64(&c);
	p->bye |= r->type == WIRE_BYE;
	p->replayed |= r->type == WIRE_REPLAY_END;
	e = timeline_feed(p->timeline, r);
	return e == -EPROTO ? err_set(err, e, "the bridge sent a malformed record (type %u)", r->type) :
	       e < 0        ? err_set(err, e, "out of memory") :
			      0;
}

/* Takes all complete records; the beginning of the next one is moved to the front. */
static int take_records(struct peer *p, struct err *err)
{
	size_t at = 0;
	int r = 0;

	while (r == 0) {
		struct wire_record rec;
		int n = wire_take(p->buffer + at, p->len - at, &rec);

		if (n < 0)
			return err_set(err, n, "the bridge sent bytes that are not a record");
		if (n == 0)
			break;
		r = take_record(p, &rec, err);
		at += (size_t)n;
	}
	memmove(p->buffer, p->buffer + at, p->len - at);
	p->len -= at;
	return r;
}

int peer_read(struct peer *p, struct err *err)
{
	size_t room = sizeof(p->buffer) - p->len;
	ssize_t n = recv(p->fd, p->buffer + p->len, room < READ_MAX ? room : READ_MAX, 0);
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return err_set(err, -EPIPE,
			       p->bye ? "the bridge said goodbye" :
			       p->len ? "the bridge's connection ended in the middle of a record" :
					"the bridge's connection ended");
	p->len += (size_t)n;
	r = take_records(p, err);
	return r < 0 ? r : 1;
}

int peer_ask_sync(struct peer *p, uint64_t cookie)
{
	uint8_t ask[WIRE_ASK_SIZE] = {WIRE_ASK_SIZE, 0, 0, 0, WIRE_ASK_SYNC};

	memcpy(ask + 8, &cookie, sizeof(cookie));
	return send(p->fd, ask, sizeof(ask), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(ask) ? 0 : -EPIPE;
}

uint64_t peer_synced(const struct peer *p)
{
	return p->synced;
}

bool peer_is_replayed(const struct peer *p)
{
	return p->replayed;
}
