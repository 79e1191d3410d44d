#include "sampler/daemon/watch/feed_out.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "symbolizer/base/clock.h"

int feed_out_add(struct feed_out *f, const struct feed_message *m)
{
	int r;

	if (f->waiting.len - f->sent >= FEED_OUT_MAX) {
		f->dropped++;
		return -ENOBUFS;
	}
	r = feed_write(m, &f->waiting);
	return f->waiting.failed ? -ENOMEM : r;
}

int feed_out_event(struct feed_out *f, uint32_t target, enum feed_event event, const char *text)
{
	return feed_out_add(f, &(struct feed_message){.kind = FEED_EVENT,
						      .target = target,
						      .event = event,
						      .time_ns = clock_realtime_ns(),
						      .text = text});
}

void feed_out_say_dropped(struct feed_out *f, uint32_t target)
{
	char text[80];

	if (!f->dropped)
		return;
	snprintf(text, sizeof(text), "the keeper did not keep up: %llu steps were dropped",
		 (unsigned long long)f->dropped);
	if (feed_out_event(f, target, FEED_GAP, text) == 0)
		f->dropped = 0;
}

int feed_out_send(struct feed_out *f)
{
	while (f->sent < f->waiting.len) {
		ssize_t n = send(f->socket, f->waiting.data + f->sent, f->waiting.len - f->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 1;
		if (n < 0)
			return -EPIPE;
		f->sent += (size_t)n;
	}
	buf_reset(&f->waiting);
	f->sent = 0;
	return 0;
}

void feed_out_done(struct feed_out *f)
{
	buf_done(&f->waiting);
}
