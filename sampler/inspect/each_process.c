#include "sampler/inspect/each_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/bounded_child.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/text.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/proc_stat.h"

/* Small, so that it arrives completely or not at all. */
struct message {
	pid_t pid;
	uint8_t found; /* a child that was taken over may send anything */
	char failed[sizeof(((struct err *)NULL)->msg)]; /* "": it could be examined */
	_Alignas(max_align_t) uint8_t record[EACH_RECORD_MAX]; /* the caller's struct */
};

_Static_assert(sizeof(struct message) <= 4096, "too large for one piece of a socket's buffer");

/* If an owner's processes take too long, the others come last. */
enum { OWNER_GONE = -1, OWNER_NAMESPACE = -2 };

/* Whose a process is is looked up again if it took so long. */
enum { CHECK_NS = 50000000, SLICE_MS = 250 };

struct item {
	pid_t pid;
	int64_t owner; /* real user id, or one of the above */
};

struct spent {
	int64_t owner;
	uint64_t ns; /* since the owner's processes last came last */
};

struct run {
	const struct each_process *e;
	struct item *items; /* those from `next` on are still to do */
	VEC(struct spent) spent;
	size_t n, next;
	uint64_t deadline_ns;
	struct bounded_child child;
};

static size_t message_size(const struct run *r)
{
	return offsetof(struct message, record) + r->e->record;
}

/* --- In the child */

static void look_at_all(void *ctx, int out)
{
	const struct run *r = ctx;
	size_t n = r->e->apart ? r->next + 1 : r->n;
	struct message m;

	if (r->e->begin)
		r->e->begin();
	for (size_t i = r->next; i < n; i++) {
		struct err failed = {0};

		memset(&m, 0, sizeof(m));
		m.pid = r->items[i].pid;
		m.found = r->e->look(r->e->ctx, m.pid, m.record, &failed);
		memcpy(m.failed, failed.msg, sizeof(m.failed));
		if (send(out, &m, message_size(r), MSG_NOSIGNAL) != (ssize_t)message_size(r))
			break;
	}
}

/* --- In the caller */

/* /proc/PID belongs to the effective user, which is root for a set-user-ID program. */
int64_t each_process_owner(pid_t pid)
{
	struct proc_status st;
	struct proc *p;
	int64_t ret = OWNER_GONE;

	if (proc_open(pid, &p, NULL) < 0)
		return ret;
	if (!proc_same_ns(p, "user"))
		ret = OWNER_NAMESPACE;
	else if (proc_status(p, &st) == 0)
		ret = st.uid;
	proc_close(p);
	return ret;
}

/* Moves this owner's remaining processes to the end, keeping the order otherwise. false: they were last already. */
static bool postpone(struct run *r, int64_t whose)
{
	struct item *later = calloc(r->n - r->next + 1, sizeof(*later));
	size_t to = r->next, n = 0;
	bool moved = false;

	for (size_t i = r->next; later && i < r->n; i++) {
		if (r->items[i].owner == whose) {
			later[n++] = r->items[i];
			continue;
		}
		moved |= n > 0;
		r->items[to++] = r->items[i];
	}
	if (later)
		memcpy(r->items + to, later, n * sizeof(*later));
	free(later);
	return moved;
}

/* NULL: out of memory. */
static struct spent *spent_by(struct run *r, int64_t owner)
{
	const struct spent none = {.owner = owner};

	for (size_t i = 0; i < r->spent.n; i++)
		if (r->spent.v[i].owner == owner)
			return &r->spent.v[i];
	return vec_push(&r->spent, none) ? &r->spent.v[r->spent.n - 1] : NULL;
}

/*
 * Counts the time against who owns the process now, in case its PID was reused; if it has ended, against who owned it.
 * true: the order has changed, so another child has to continue.
 */
static bool charge(struct run *r, const struct item *it, uint64_t ns)
{
	int64_t now = ns < CHECK_NS ? it->owner : each_process_owner(it->pid),
		whose = now == OWNER_GONE ? it->owner : now;
	struct spent *s = whose == OWNER_GONE ? NULL : spent_by(r, whose);

	if (!s)
		return false;
	s->ns += ns;
	if (s->ns <= EACH_SLOW_MS * UINT64_C(1000000))
		return false;
	s->ns = 0;
	return postpone(r, whose);
}

/* silent: the child did not end by itself; we killed it. */
static void give_up(struct run *r, bool silent, uint64_t ns)
{
	struct item it = r->items[r->next++];
	int status;
	bool ended = bounded_child_end(&r->child, &status);

	r->e->stuck(r->e->ctx, it.pid, ended && !silent && WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	charge(r, &it, ns);
}

void each_process_say_stuck(pid_t pid, int signal)
{
	if (signal == SIGSYS)
		log_warn("process %d: the child that reads it tried a system call that is not allowed there, and was "
			 "ended; the process may have taken the child over",
			 (int)pid);
	else if (signal)
		log_warn("process %d: the child that reads it was ended by signal %d", (int)pid, signal);
	else
		log_warn("process %d: could not be read within %d s", (int)pid, EACH_PATIENCE_MS / 1000);
}

int each_process_take_failed(const struct err *failed, bool found, struct err *err)
{
	if (failed->msg[0] && !found)
		return err_set(err, -EPERM, "%s", failed->msg);
	if (failed->msg[0])
		log_warn("a process was left out: %s", failed->msg);
	return 0;
}

/* Checks that the answer is about the right process, because a child that was taken over may send anything. */
static bool take(struct run *r)
{
	struct message m;
	ssize_t n = recv(r->child.fd, &m, message_size(r), MSG_DONTWAIT);

	if (n != (ssize_t)message_size(r) || m.pid != r->items[r->next].pid)
		return false;
	r->next++;
	if (m.failed[0] && r->e->failed)
		text_sanitise(r->e->failed->msg, sizeof(r->e->failed->msg), m.failed,
			      strnlen(m.failed, sizeof(m.failed)));
	else if (m.found && !m.failed[0])
		r->e->found(r->e->ctx, m.pid, m.record);
	return true;
}

static int patience_ms(const struct run *r)
{
	uint64_t now = clock_monotonic_ns(), left = now < r->deadline_ns ? (r->deadline_ns - now) / 1000000 : 0;

	return left < EACH_PATIENCE_MS ? (int)left : EACH_PATIENCE_MS;
}

/* Could the child run (proc(5), stat), but had the CPU for less than half of the time since *cpu_ns was set? */
static bool is_starved(pid_t child, uint64_t waited_ns, uint64_t *cpu_ns)
{
	struct proc_stat st = {0};
	uint64_t before_ns = *cpu_ns;

	return clock_cpu_of_ns(child, cpu_ns) && *cpu_ns - before_ns < waited_ns / 2 && proc_stat_of(child, &st) == 0 &&
	       st.state == 'R';
}

/* As poll(2). What a busy machine takes from the child is not counted against the process that it reads. */
static int wait_for_child(const struct run *r, struct pollfd *p)
{
	uint64_t at_ns = clock_monotonic_ns(), counted_ns = 0, cpu_ns = 0;
	int n, ms;

	clock_cpu_of_ns(r->child.pid, &cpu_ns);
	do {
		uint64_t since_ns = at_ns;

		ms = patience_ms(r);
		n = poll(p, 1, ms < SLICE_MS ? ms : SLICE_MS);
		if (n > 0 || (n < 0 && errno != EINTR))
			return n;
		at_ns = clock_monotonic_ns();
		if (!is_starved(r->child.pid, at_ns - since_ns, &cpu_ns))
			counted_ns += at_ns - since_ns;
	} while (ms && counted_ns < EACH_PATIENCE_MS * UINT64_C(1000000));
	return 0;
}

static int look_at_rest(struct run *r)
{
	const struct bounded_limits limits = {EACH_BYTES, EACH_ALL_MS * UINT64_C(1000000)};
	struct pollfd p = {.events = POLLIN};
	uint64_t start = clock_monotonic_ns();
	uint64_t ns;
	bool reordered;
	int n, e = r->child.pid ? 0 : bounded_child_start(&r->child, &limits, look_at_all, r);

	if (e < 0)
		return e;
	p.fd = r->child.fd;
	n = wait_for_child(r, &p);
	ns = clock_monotonic_ns() - start;
	/* A child that ended by itself was killed by what it read. */
	if (n <= 0 || !take(r)) {
		give_up(r, n <= 0, ns);
		return 0;
	}
	reordered = charge(r, &r->items[r->next - 1], ns);
	if (r->e->apart || reordered)
		bounded_child_end(&r->child, NULL);
	return 0;
}

int each_process(const pid_t *pids, size_t n, const struct each_process *e, size_t *ret_left, struct err *err)
{
	CLEANUP(free_at_exit) struct item *items = calloc(n + 1, sizeof(*items));
	struct run r = {.e = e, .items = items, .n = n};
	int code = 0;

	*ret_left = n;
	if (!items)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){pids[i], e->owners ? e->owners[i] : each_process_owner(pids[i])};
	r.deadline_ns = e->deadline_ns;
	if (!r.deadline_ns)
		r.deadline_ns = clock_monotonic_ns() + EACH_ALL_MS * UINT64_C(1000000);
	while (code == 0 && r.next < n && clock_monotonic_ns() < r.deadline_ns)
		code = look_at_rest(&r);
	bounded_child_end(&r.child, NULL);
	vec_done(&r.spent);
	*ret_left = n - r.next;
	return code < 0 ? err_set(err, code, "cannot start a process: %s", strerror(-code)) : 0;
}
