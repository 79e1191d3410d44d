#include "sampler/daemon/watch/feed_out.h"

#include <errno.h>
#include <sys/socket.h>

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
