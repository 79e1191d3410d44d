/* The child's end of an opener: what it does when asked, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/closed/opener_private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"

/* fifo(7): poll(2) reports nothing for a FIFO that nobody has opened for writing yet. */
static int wait_for_writer(int fd, int socket)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = socket, .events = POLLRDHUP}};

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return p[1].revents ? -EPIPE : 0;
}

/* O_NONBLOCK was only there to let open(2) return at once; readers rely on blocking. */
static int make_waiting(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

int opener_open_input(const char *path, int socket)
{
	CLEANUP(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISFIFO(st.st_mode))
		r = wait_for_writer(fd, socket);
	if (r == 0)
		r = make_waiting(fd);
	return r < 0 ? r : take_fd(&fd);
}

/* Only once: a file that has a name is no longer ours. */
static void give_name(struct outfile **slot, struct opener_answer *a)
{
	struct err err = {0};

	a->code = outfile_commit(take_ptr(*slot), &err);
	memcpy(a->message, err.msg, sizeof(a->message));
}

static int open_rescue(struct opener_output *out, uint32_t place, struct opener_answer *a)
{
	struct outfile **slot = &out->rescue[place];

	a->code = out->rescued[place] ? -EEXIST : outfile_open_rescue(out->path, place, slot, a->path, sizeof(a->path));
	out->rescued[place] = true;
	return a->code == 0 ? fileno(outfile_stream(*slot)) : -1;
}

/* *ret_fd: to be sent, if valid; *ret_own: to be closed then. False: not a request that this program makes. */
static bool answer(struct opener *o, const struct opener_request *q, int socket, struct opener_answer *a, int *ret_fd,
		   int *ret_own)
{
	struct outfile **slot = q->what == OPENER_NAME ? opener_file(o, q->number) : NULL;

	if (slot && *slot) {
		give_name(slot, a);
		return true;
	}
	if (q->what == OPENER_INPUT && q->number < o->n_inputs) {
		*ret_fd = *ret_own = opener_open_input(o->inputs[q->number], socket);
		a->code = *ret_fd < 0 ? *ret_fd : 0;
		return true;
	}
	if (q->what == OPENER_RESCUE && q->number < o->n_outputs && q->place < OUTFILE_RESCUES) {
		*ret_fd = open_rescue(&o->outputs[q->number], q->place, a);
		return true;
	}
	return false;
}

static bool serve_one(struct opener *o, int socket)
{
	CLEANUP(close_at_exit) int own = -1;
	struct opener_request q;
	struct opener_answer a = {0};
	int fd = -1;

	if (channel_receive(socket, &q, sizeof(q), NULL) < 0 || !answer(o, &q, socket, &a, &fd, &own))
		return false;
	return channel_send(socket, &a, sizeof(a), fd) == 0;
}

void opener_serve(struct opener *o, int socket)
{
	struct outfile **slot;

	while (serve_one(o, socket))
		;
	for (size_t i = 0; (slot = opener_file(o, i)); i++)
		outfile_abort(*slot);
}
