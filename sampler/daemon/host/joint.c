#include "sampler/daemon/host/joint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

/* Opening a JVM takes up to some seconds, more on a busy machine. A file system that does not answer takes for ever. */
#define STUCK_NS UINT64_C(60000000000)

int joint_init(struct joint *j, struct err *err)
{
	void *p = mmap(NULL, sizeof(*j->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*j = (struct joint){.admit = -1, .report = -1};
	if (p == MAP_FAILED)
		return err_set(err, -ENOMEM, "out of memory");
	j->page = p;
	return 0;
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
	if (j->page)
		munmap(j->page, sizeof(*j->page));
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

/* Neither end ever waits for the other: what is not taken now is offered again. */
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
	r = o->feed(o->ctx, mine);
	if (r < 0)
		return r;
	c.admit = admit;
	c.report = report;
	c.feed = feed;
	child = fork();
	if (child == 0)
		child_main(&c, parent);
	j->pid = child > 0 ? child : 0;
	return child < 0 ? -errno : 0;
}

static void try_start(struct joint *j, const struct joint_options *o, uint64_t now)
{
	int r;

	atomic_store(&j->page->slot, 0);
	j->again_ns = now + RESTART_FIRST_NS;
	j->since_ns = now;
	r = start(j, o);
	if (r == 0) {
		restart_began(&j->restart, now);
		return;
	}
	forget(j);
	if (r != -EPIPE) /* the keeper is started again soon */
		log_warn("the process that samples cannot be started: %s", strerror(-r));
}

static void look_whether_stuck(struct joint *j, uint64_t now)
{
	uint64_t turns = atomic_load(&j->page->turns);

	if (turns != j->turns || !atomic_load(&j->page->slot)) {
		j->turns = turns;
		j->since_ns = now;
	} else if (now - j->since_ns > STUCK_NS) {
		log_warn("the process that samples has not answered for %d s, and is ended",
			 (int)(STUCK_NS / 1000000000));
		kill(j->pid, SIGKILL);
		j->since_ns = now;
	}
}

void joint_turn(struct joint *j, const struct joint_options *o)
{
	uint64_t now = clock_monotonic_ns();

	if (j->pid)
		look_whether_stuck(j, now);
	else if (!j->refused && now >= j->again_ns)
		try_start(j, o, now);
}

/* --- what is said --- */

bool joint_admit(struct joint *j, pid_t pid, uint64_t start_ticks, uint32_t slot, const char *user)
{
	struct broker_admission m = {
		.what = BROKER_ADMIT, .pid = pid, .slot = slot, .divisor = 1, .start_ticks = start_ticks};

	snprintf(m.note, sizeof(m.note), "%s", user);
	return j->ready && channel_send(j->admit, &m, sizeof(m), -1) == 0;
}

void joint_dismiss(struct joint *j, uint32_t slot)
{
	const struct broker_admission m = {.what = BROKER_DISMISS, .slot = slot};

	/* If it does not take this now, it is stuck: with its end, the filter's table ends. */
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

/* It cannot even begin here: not that it was killed, and not that it has failed later. */
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

bool joint_ended(struct joint *j, pid_t child, int status, int *ret_slot)
{
	struct crowd_report r;
	uint32_t slot = atomic_load(&j->page->slot);
	bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != WATCH_ENDED;

	*ret_slot = -1;
	if (child != j->pid)
		return false;
	while (joint_report(j, &r))
		;
	if (is_refusal(j, status)) {
		log_warn("each JVM is sampled by a process of its own");
		j->refused = true;
	} else {
		start_later(j, status);
	}
	if (failed && slot && slot <= CROWD_MAX)
		*ret_slot = (int)slot - 1;
	forget(j);
	return true;
}

void joint_stop(struct joint *j, int signal)
{
	if (j->pid)
		kill(j->pid, signal);
}
