#include "sampler/daemon/host/joint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/host/child.h"
#include "sampler/daemon/watch/watch.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/shared_memory.h"

#define END_NS UINT64_C(3000000000) /* for killed processes to end */
/*
 * The worker gets a new divisor this long before it takes effect, so that it has read the message by then, even if it is
 * busy with a sample.
 */
#define NOTICE_NS UINT64_C(500000000)

/* A previous worker may still be running, and have the old page. */
static int renew_page(struct joint *j)
{
	void *p = shared_memory_new(sizeof(*j->page));

	if (!p)
		return -ENOMEM;
	shared_memory_hide(p, sizeof(*j->page));
	shared_memory_free(j->page, sizeof(*j->page));
	j->page = p;
	return 0;
}

int joint_init(struct joint *j, struct err *err)
{
	*j = (struct joint){.admit = -1, .report = -1};
	return renew_page(j) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static void forget(struct joint *j)
{
	close_at_exit(&j->admit);
	close_at_exit(&j->report);
	j->pid = 0;
	j->admit = j->report = -1;
	j->ready = false;
}

void joint_done(struct joint *j)
{
	forget(j);
	shared_memory_free(j->page, sizeof(*j->page));
}

/* --- start --- */

static bool own(const void *ctx, int fd)
{
	const struct crowd_options *o = ctx;

	return fd <= STDERR_FILENO || fd == o->admit || fd == o->report || fd == o->feed;
}

static _Noreturn void child_main(const struct crowd_options *o, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(WATCH_ENDED);
	child_begin("worker", own, o);
	child_goes_first();
	_exit(crowd_run(o));
}

/* Neither end ever waits for the other: a message that is not taken now is offered again. */
static int open_pair(int *own_end, int *other)
{
	int pair[2], r = channel_pair(pair);

	if (r < 0)
		return r;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	*own_end = pair[0];
	*other = pair[1];
	return 0;
}

static int start(struct joint *j, const struct joint_options *o)
{
	CLEANUP(close_at_exit) int admit = -1, report = -1, mine = -1, feed = -1;
	struct crowd_options c = {
		.hz = o->hz, .rules = o->rules, .boot_id = o->boot_id, .host = o->host, .page = j->page};
	pid_t parent = getpid(), child;
	int pair[2], r = open_pair(&j->admit, &admit);

	if (r == 0)
		r = open_pair(&j->report, &report);
	if (r == 0)
		r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
	if (r < 0)
		return r;
	mine = pair[0];
	feed = pair[1];
	r = o->feed(o->ctx, 0, mine);
	if (r < 0)
		return r;
	c.admit = admit;
	c.report = report;
	c.feed = feed;
	child = shared_memory_fork(j->page, sizeof(*j->page));
	if (child == 0)
		child_main(&c, parent);
	j->pid = child > 0 ? child : 0;
	return child < 0 ? -errno : 0;
}

static void try_start(struct joint *j, const struct joint_options *o, uint64_t now)
{
	int r;

	j->again_ns = now + RESTART_FIRST_NS;
	stuck_begin(&j->stuck, now);
	j->killed_ns = 0;
	j->ending = false;
	r = renew_page(j);
	if (r == 0)
		r = start(j, o);
	if (r == 0) {
		restart_began(&j->restart, now);
		return;
	}
	forget(j);
	if (r != -EPIPE) /* the keeper is restarted soon */
		log_warn("the process that samples cannot be started: %s", strerror(-r));
}

uint32_t joint_at_work(const struct joint *j)
{
	uint32_t slot = atomic_load(&j->page->slot);

	return slot && slot <= CROWD_MAX ? slot - 1 : CROWD_MAX;
}

/* A process that waits for a file system that does not answer does not end even when it is killed. */
static bool give_up_stuck(struct joint *j, uint64_t now, uint32_t *ret_slot)
{
	if (!j->killed_ns &&
	    stuck_look(&j->stuck, j->pid, atomic_load(&j->page->slot), atomic_load(&j->page->turns), now)) {
		log_warn("the process that samples is stuck, and is ended");
		kill(j->pid, SIGKILL);
		j->killed_ns = now;
	}
	if (!j->killed_ns || now - j->killed_ns < END_NS)
		return false;
	log_warn("process %d, which samples, could not be ended, and is left behind", (int)j->pid);
	*ret_slot = joint_at_work(j);
	forget(j);
	j->again_ns = now;
	return true;
}

bool joint_turn(struct joint *j, const struct joint_options *o, uint32_t *ret_slot)
{
	uint64_t now = clock_monotonic_ns();

	if (j->pid)
		return give_up_stuck(j, now, ret_slot);
	if (!j->refused && now >= j->again_ns)
		try_start(j, o, now);
	return false;
}

/* --- what is said --- */

bool joint_admit(struct joint *j, pid_t pid, uint64_t start_ticks, uint32_t slot, uint32_t divisor, const char *user)
{
	struct broker_admission m = {
		.what = BROKER_ADMIT, .pid = pid, .slot = slot, .divisor = divisor, .start_ticks = start_ticks};

	snprintf(m.note, sizeof(m.note), "%s", user);
	return j->ready && channel_send(j->admit, &m, sizeof(m), -1) == 0;
}

bool joint_divide(struct joint *j, pid_t pid, uint64_t start_ticks, uint32_t slot, uint32_t divisor,
		  enum broker_why why)
{
	const struct broker_admission m = {.what = BROKER_ADMIT,
					   .pid = pid,
					   .slot = slot,
					   .divisor = divisor,
					   .start_ticks = start_ticks,
					   .at_ns = clock_monotonic_ns() + NOTICE_NS,
					   .why = why};

	return j->ready && channel_send(j->admit, &m, sizeof(m), -1) == 0;
}

void joint_dismiss(struct joint *j, uint32_t slot)
{
	const struct broker_admission m = {.what = BROKER_DISMISS, .slot = slot};

	/* If the broker does not take this now, it is stuck: it is ended, and the filter's table with it. */
	if (j->pid && channel_send(j->admit, &m, sizeof(m), -1) < 0) {
		log_warn("the process that samples takes no messages, and is ended");
		kill(j->pid, SIGKILL);
	}
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

static bool take_refusal(struct joint *j, struct crowd_report *ret)
{
	struct broker_admission m;

	if (!is_readable(j->admit) || channel_receive(j->admit, &m, sizeof(m), NULL) < 0 || m.what != BROKER_REFUSED)
		return false;
	*ret = (struct crowd_report){.what = m.code == -ESRCH ? CROWD_GONE : CROWD_ALONE, .slot = m.slot, .pid = m.pid};
	return true;
}

bool joint_report(struct joint *j, struct crowd_report *ret)
{
	if (take_refusal(j, ret))
		return true;
	while (is_readable(j->report) && channel_receive(j->report, ret, sizeof(*ret), NULL) == 0) {
		if (ret->what != CROWD_READY)
			return true;
		j->ready = true;
	}
	return false;
}

/* --- end --- */

/* It cannot start on this host, as opposed to being killed or failing later. */
static bool is_refusal(const struct joint *j, int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == WATCH_FAILED && !j->ready;
}

static void start_later(struct joint *j, int status)
{
	uint64_t now = clock_monotonic_ns();
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (code == WATCH_ENDED || code == WATCH_NO_KEEPER) {
		j->again_ns = now + (code == WATCH_ENDED ? 0 : RESTART_FIRST_NS);
		return;
	}
	j->again_ns = now + restart_delay(&j->restart, now);
	child_say_ended("the process that samples", status, j->again_ns - now);
}

bool joint_ended(struct joint *j, pid_t child)
{
	if (child != j->pid)
		return false;
	j->pid = 0; /* which may soon be another process's */
	return true;
}

bool joint_forget(struct joint *j, int status)
{
	if (is_refusal(j, status)) {
		log_warn("each JVM is sampled by a process of its own");
		j->refused = true;
	} else {
		start_later(j, status);
	}
	forget(j);
	return !WIFEXITED(status) || WEXITSTATUS(status) != WATCH_ENDED;
}

void joint_stop(struct joint *j, int signal)
{
	j->ending = true;
	if (j->pid)
		kill(j->pid, signal);
}
