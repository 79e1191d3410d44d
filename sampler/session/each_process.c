#include "sampler/session/each_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/data_limit.h"
#include "symbolizer/base/err.h"

/* Below PIPE_BUF: a message comes whole or not at all. */
struct message {
	pid_t pid;
	uint8_t found; /* a child that was taken over may send anything */
	_Alignas(max_align_t) uint8_t record[EACH_RECORD_MAX]; /* a struct of the caller's */
};

_Static_assert(sizeof(struct message) <= 4096, "more than a pipe takes at once");

struct run {
	const struct each_process *e;
	pid_t *pids; /* those from `next` on are still to come */
	size_t n, next;
	uint64_t deadline_ns;
	pid_t child; /* 0: none */
	int fd;
};

static size_t message_size(const struct run *r)
{
	return offsetof(struct message, record) + r->e->record;
}

/* --- in the child */

/* One that is left behind must not keep a pipe open that somebody reads to its end. */
static void child_leave_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

static void look_at_all(const struct run *r, int out)
{
	struct message m;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_leave_stdio();
	data_limit(EACH_BYTES);
	for (size_t i = r->next; i < r->n; i++) {
		memset(&m, 0, sizeof(m));
		m.pid = r->pids[i];
		m.found = r->e->look(r->e->ctx, m.pid, m.record);
		if (write(out, &m, message_size(r)) < 0)
			break;
	}
	_exit(0);
}

/* --- in the caller */

static int child_begin(struct run *r)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r->child = fork();
	if (r->child == 0)
		look_at_all(r, ends[1]);
	close(ends[1]);
	r->fd = ends[0];
	if (r->child > 0)
		return 0;
	r->child = 0;
	close(ends[0]);
	return -EAGAIN;
}

/* One that cannot be killed is left behind. */
static void child_end(struct run *r, bool kill_it)
{
	if (!r->child)
		return;
	if (kill_it)
		kill(r->child, SIGKILL);
	close(r->fd);
	waitpid(r->child, NULL, kill_it ? WNOHANG : 0);
	r->child = 0;
}

static uid_t owner(pid_t pid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) < 0 ? (uid_t)-1 : st.st_uid;
}

/* Of this user's processes the rest comes last; in the order that they had. */
static void postpone(struct run *r, uid_t uid)
{
	pid_t *later = calloc(r->n - r->next + 1, sizeof(*later));
	size_t to = r->next, n = 0;

	for (size_t i = r->next; later && i < r->n; i++)
		if (owner(r->pids[i]) == uid)
			later[n++] = r->pids[i];
		else
			r->pids[to++] = r->pids[i];
	if (later)
		memcpy(r->pids + to, later, n * sizeof(*later));
	free(later);
}

static void give_up(struct run *r)
{
	pid_t pid = r->pids[r->next++];
	uid_t uid = owner(pid);

	child_end(r, true);
	r->e->stuck(r->e->ctx, pid);
	postpone(r, uid);
}

/* Of the process that it must be about? A child that was taken over may say anything. */
static bool take(struct run *r)
{
	struct message m;
	ssize_t n = read(r->fd, &m, message_size(r));

	if (n != (ssize_t)message_size(r) || m.pid != r->pids[r->next])
		return false;
	r->next++;
	if (m.found)
		r->e->found(r->e->ctx, m.pid, m.record);
	return true;
}

static int patience_ms(const struct run *r)
{
	uint64_t now = clock_monotonic_ns(), left = now < r->deadline_ns ? (r->deadline_ns - now) / 1000000 : 0;

	return left < EACH_PATIENCE_MS ? (int)left : EACH_PATIENCE_MS;
}

static int look_at_rest(struct run *r)
{
	struct pollfd p = {.events = POLLIN};
	int n, e = r->child ? 0 : child_begin(r);

	if (e < 0)
		return e;
	p.fd = r->fd;
	do
		n = poll(&p, 1, patience_ms(r));
	while (n < 0 && errno == EINTR);
	/* One that ends by itself has met something that it died of. */
	if (n <= 0 || !take(r))
		give_up(r);
	return 0;
}

int each_process(const pid_t *pids, size_t n, const struct each_process *e, size_t *ret_left, struct err *err)
{
	CLEANUP(free_at_exit) pid_t *own = calloc(n + 1, sizeof(*own));
	struct run r = {.e = e, .pids = own, .n = n};
	int code = 0;

	*ret_left = n;
	if (!own)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(own, pids, n * sizeof(*own));
	r.deadline_ns = clock_monotonic_ns() + EACH_ALL_MS * UINT64_C(1000000);
	while (code == 0 && r.next < n && clock_monotonic_ns() < r.deadline_ns)
		code = look_at_rest(&r);
	child_end(&r, r.next < n);
	*ret_left = n - r.next;
	return code < 0 ? err_set(err, code, "cannot start a process: %s", strerror(-code)) : 0;
}
