#ifndef JS_TESTS_KEEPER_CHILD_H
#define JS_TESTS_KEEPER_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/feed/feed.h"
#include "sampler/daemon/keeper/keeper.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/channel.h"
#include "tests/support/store_fill.h"

/* A keeper in a child, as the broker starts it, and its other ends. */
struct keeper_child {
	pid_t pid;
	int control, feed, said; /* said: its stderr */
};

enum { KEEPER_TEST_UID = 61234 };

/* For tests that run as root: the history belongs to another user, as in the service. */
static inline void keeper_test_dir(char dst[64])
{
	store_test_dir(dst);
	if (geteuid() == 0 && chown(dst, KEEPER_TEST_UID, KEEPER_TEST_UID) < 0)
		abort();
}

static inline void keeper_body(const struct keeper_options *o, int said)
{
	struct err e = {0};
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_set_level(LOG_LEVEL_NORMAL);
	dup2(said, STDERR_FILENO);
	r = keeper_run(o, &e);
	if (r < 0)
		log_error("%s", e.msg);
	_exit(r < 0 ? 1 : 0); /* the leak checker cannot trace a process that is closed */
}

static inline bool keeper_tell(const struct keeper_child *k, enum keeper_what what, int fd)
{
	const struct keeper_message m = {.what = what};

	return channel_send(k->control, &m, sizeof(m), fd) == 0;
}

/* o: what the test wants to differ; control and store are set here, and it gets one feed. */
static inline struct keeper_child keeper_start(const char *dir, struct keeper_options o)
{
	struct keeper_child k;
	int control[2], feed[2], said[2];

	if (channel_pair(control) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, feed) < 0 || pipe(said) < 0)
		abort();
	o.control = control[1];
	o.store = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	k = (struct keeper_child){fork(), control[0], feed[0], said[0]};
	if (k.pid == 0) {
		close(control[0]);
		close(feed[0]);
		close(feed[1]);
		close(said[0]);
		keeper_body(&o, said[1]);
	}
	close(control[1]);
	close(said[1]);
	close(o.store);
	keeper_tell(&k, KEEPER_FEED, feed[1]);
	close(feed[1]);
	return k;
}

/* What it says next to the broker; 0: it has ended. */
static inline uint32_t keeper_hear(const struct keeper_child *k)
{
	struct keeper_message m;

	return channel_receive(k->control, &m, sizeof(m), NULL) < 0 ? 0 : m.what;
}

/* Waits for its end: its status; what it wrote to stderr in `said`. */
static inline int keeper_wait(struct keeper_child *k, char *said, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int status;

	while (len + 1 < size && (n = read(k->said, said + len, size - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	if (waitpid(k->pid, &status, 0) != k->pid)
		abort();
	close(k->said);
	close(k->feed);
	close(k->control);
	return status;
}

static inline void feed_bytes(int feed, const struct buf *b)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = send(feed, b->data + at, b->len - at, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		at += (size_t)n;
	}
}

static inline void feed_message(int feed, const struct feed_message *m)
{
	struct buf b = {0};

	if (feed_write(m, &b) < 0)
		abort();
	feed_bytes(feed, &b);
	buf_done(&b);
}

static inline void feed_target(int feed, uint32_t number, pid_t pid)
{
	struct store_target t = store_test_target(pid);

	feed_message(feed, &(struct feed_message){.kind = FEED_TARGET,
						  .target = number,
						  .boot_id = t.boot_id,
						  .pid = pid,
						  .start_ticks = t.start_ticks,
						  .since_ns = t.since_ns,
						  .labels = t.labels,
						  .n_labels = t.n_labels});
}

static inline void feed_profile(int feed, uint32_t number, uint64_t at_s, uint32_t which, uint64_t count)
{
	struct named_profile *np = store_test_profile(at_s, which, count);
	const uint32_t first = FEED_LEAD_NS / FEED_SLICE_NS + 1; /* where the step begins */
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	np->meta.slice_ns = FEED_SLICE_NS;
	np->samples[0].slice = first + which;
	if (writer_pprof_plain.write(np, &(struct writer_options){0}, f, NULL) < 0)
		abort();
	fclose(f);
	feed_message(feed, &(struct feed_message){
				   .kind = FEED_PROFILE, .target = number, .profile = text, .profile_len = len});
	free(text);
	named_profile_free(np);
}

#endif
