/*
 * What passes between a process that parses and one that opens files for it, from both ends: the broker's and the opener's
 * requests, and their answers. The first byte says which; then come messages, each behind a byte with its length in fours (so
 * that the right length is as easy to hit as others), whose top bit passes a descriptor along.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler/broker/broker.h"
#include "sampler/broker/private.h"
#include "sampler/closed/opener.h"
#include "sampler/closed/opener_private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/target/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_outfile_open_rescue(const char *path, unsigned i, struct outfile **ret, char *ret_path, size_t size);

/* Replaces the real one (-Wl,--wrap), so that the fuzzer leaves no files in /tmp. */
int __wrap_outfile_open_rescue(const char *path, unsigned i, struct outfile **ret, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "/dev/null");
	return strcmp(path, "/dev/null") == 0 && i < OUTFILE_RESCUES ? outfile_open(ret_path, ret, NULL) : -ENOENT;
}

enum { BROKER_SERVES, BROKER_ANSWERS, OPENER_SERVES, OPENER_ANSWERS, ENDS };
enum { MESSAGES_MAX = 8, WITH_DESCRIPTOR = 0x80, MESSAGE_MAX = 8192 };

/* An answer of the opener's, and a request to the broker, are longer than a byte can say. */
static size_t length(uint8_t said)
{
	if ((said & 0x7f) == 0x7e)
		return sizeof(struct broker_request);
	return (said & 0x7f) == 0x7f ? sizeof(struct opener_answer) : (size_t)(said & 0x7f) * 4;
}

/* All that fits into the socket, so that nobody waits: then the end. */
static void feed(int socket, const uint8_t *data, size_t size)
{
	static uint8_t message[MESSAGE_MAX];

	for (int i = 0; i < MESSAGES_MAX && size; i++) {
		size_t len = length(data[0]), n = len < size - 1 ? len : size - 1;

		memset(message, 0, sizeof(message));
		memcpy(message, data + 1, n);
		channel_send(socket, message, len, data[0] & WITH_DESCRIPTOR ? socket : -1);
		data += 1 + n;
		size -= 1 + n;
	}
	shutdown(socket, SHUT_WR);
}

static void use(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void use_events(struct broker *b)
{
	const struct event_place places[EVENT_PLACES_MAX] = {{.tid = 1}};
	const struct perf_event_attr attr = {.size = sizeof(attr)};
	int fds[EVENT_PLACES_MAX];
	size_t n;

	broker_events(b, &attr, places, 4, -1, fds, &n);
	while (n)
		use(fds[--n]);
}

static void broker_end(int socket, bool serves)
{
	struct broker *b = broker_new(true);
	uint32_t number;
	bool added = b && broker_add_target(b, getpid(), false, &number, NULL) == 0;

	if (added && serves) {
		b->n_channels = BROKER_CHANNELS_MAX; /* no threads, which the end of the process would end */
		broker_serve(b, socket);
	} else if (added) {
		struct own_channel *c = malloc(sizeof(*c));

		if (!c)
			abort();
		*c = (struct own_channel){dup(socket), dup(socket)};
		pthread_setspecific(b->channel, c);
		use_events(b);
		for (uint32_t what = 0; what < BROKER_NAMES; what++)
			use(broker_proc(b, 0, what));
		use(broker_task(b, 0, 1, BROKER_STAT));
		use(broker_mapped(b, 0, &(struct mapping){.inode = 1}));
	}
	broker_free(b);
}

static void answers(struct opener *o)
{
	static const char *const rescued = "/dev/null";
	char path[64];
	struct outfile *f;

	use(opener_input(o, "/dev/null"));
	if (opener_rescue(o, rescued, 0, &f, path, sizeof(path)) == 0)
		outfile_abort(f);
	use(opener_input(o, "/dev/null"));
}

static void opener_end(int socket, bool serves)
{
	static const char *const inputs[] = {"/dev/null", "/nonexistent"};
	struct opener *o = opener_new(inputs, 2);
	struct outfile *out;

	if (o && outfile_open("/dev/null", &out, NULL) == 0) {
		if (opener_add_output(o, out, "/dev/null") < 0)
			abort();
		if (serves) {
			opener_serve(o, socket); /* which releases the output */
		} else {
			o->socket = dup(socket);
			answers(o);
			outfile_abort(out);
		}
	}
	opener_free(o);
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2], before = descriptors();

	if (size < 2 || channel_pair(pair) < 0)
		return 0;
	feed(pair[0], data + 1, size - 1);
	if (data[0] % ENDS < OPENER_SERVES)
		broker_end(pair[1], data[0] % ENDS == BROKER_SERVES);
	else
		opener_end(pair[1], data[0] % ENDS == OPENER_SERVES);
	close(pair[0]);
	close(pair[1]);
	if (descriptors() != before)
		__builtin_trap(); /* one that was passed is still open */
	return 0;
}
