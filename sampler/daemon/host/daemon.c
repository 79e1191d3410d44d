#include "sampler/daemon/host/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/config/config.h"
#include "sampler/daemon/host/capturing.h"
#include "sampler/daemon/host/keeping.h"
#include "sampler/daemon/host/own_cpu.h"
#include "sampler/daemon/host/scan.h"
#include "sampler/daemon/host/scan_when.h"
#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/rules/rules.h"
#include "sampler/daemon/service/notify.h"
#include "sampler/rights/descriptors.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/log_limit.h"

#define CONFIG_PATH "/etc/jsampler/jsampler.conf"
#define SECOND_NS UINT64_C(1000000000)
#define MESSAGE_NS (2 * SECOND_NS) /* one more message for each, which is 5 MB a day */
#define END_NS (10 * SECOND_NS) /* for the workers to send their last steps */
#define KILLED_NS SECOND_NS /* for killed processes to end: one may be waiting for a file system that does not answer */

#define NUMBERS_NS (5 * SECOND_NS)

enum {
	MESSAGES_AT_ONCE = 500,
	/*
	 * Bytes from which on a block of all processes has a mapping of its own, which goes back to the kernel when it is freed. By
	 * default, glibc raises this to 32 MB at the first such block (mallopt(3)), and what lasts is then scattered over
	 * memory that was only needed for a while.
	 */
	LARGE_BLOCK = 128 << 10,
};

struct daemon {
	const struct daemon_options *o;
	struct config *config;
	struct notify notify;
	struct keeping keeping;
	struct targets targets;
	struct capturing capturing;
	struct scan *scan;
	struct own_cpu own_cpu;
	int signals;
	bool stop;
	uint64_t govern_ns, numbers_ns, watchdog_ns; /* when it is time; CLOCK_MONOTONIC */
	struct scan_when when; /* to scan */
	bool found; /* a new JVM, in the last scan */
};

/* --- configuration --- */

static void say_problem(void *ctx, const char *problem)
{
	(void)ctx;
	log_error("%s", problem);
}

static int load(const struct daemon_options *o, struct config **ret)
{
	if (!o->config && access(CONFIG_PATH, F_OK) < 0 && errno == ENOENT)
		return config_parse("defaults", "", 0, say_problem, NULL, ret);
	return config_load(o->config ? o->config : CONFIG_PATH, say_problem, NULL, ret);
}

int daemon_check(const struct daemon_options *o)
{
	struct config *c;
	int r = load(o, &c);

	if (r < 0)
		return r;
	printf("the configuration is valid: %zu rules, %u Hz, history in %s\n", rules_count(c->rules),
	       (unsigned)c->frequency, c->directory);
	config_free(c);
	return 0;
}

static void use(struct daemon *d, struct config *c)
{
	d->targets.rules = c->rules;
	d->targets.hz = (uint32_t)c->frequency;
	d->targets.cpu_limit = c->cpu_limit;
	d->targets.isolate = c->isolate;
	d->capturing.max = (uint32_t)c->captures;
	config_free(d->config);
	d->config = c;
}

static void reload(struct daemon *d)
{
	struct config *c;

	notify_reloading(&d->notify);
	if (load(d->o, &c) < 0) {
		log_error("the configuration is not changed");
	} else {
		keeping_limits(&d->keeping, c);
		use(d, c);
		targets_configured(&d->targets);
		log_warn("the configuration was read again");
	}
	notify_ready(&d->notify, "sampling");
}

/* --- beginning and end --- */

static int feed(void *ctx, uint64_t capture, int socket)
{
	struct daemon *d = ctx;

	return keeping_feed(&d->keeping, capture, socket);
}

static void look_again(void *ctx, pid_t pid, bool told)
{
	struct daemon *d = ctx;

	if (pid)
		scan_again(d->scan, pid);
	else
		scan_any(d->scan);
	scan_when_ask(&d->when, told);
}

static int open_signals(struct daemon *d, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signals < 0 ? err_set(err, -errno, "cannot wait for signals: %m") : 0;
}

static int begin(struct daemon *d, struct err *err)
{
	struct config *c = NULL;
	int r = load(d->o, &c);

	if (r < 0)
		return err_set(err, r, "the configuration cannot be used");
	descriptors_raise(); /* each target takes one */
	if (log_limit_set(MESSAGES_AT_ONCE, MESSAGE_NS) < 0)
		log_warn("messages have no limit: out of memory");
	r = targets_init(&d->targets, err);
	use(d, c);
	d->targets.feed = feed;
	d->targets.again = look_again;
	d->targets.ctx = d;
	d->scan = scan_new();
	if (r == 0 && !d->scan)
		r = err_set(err, -ENOMEM, "out of memory");
	/* Until then a signal ends the process, which may wait for the file system of the history. */
	if (r == 0)
		r = keeping_open(&d->keeping, c, err);
	if (r == 0)
		r = open_signals(d, err);
	if (r == 0)
		r = keeping_start(&d->keeping, err);
	if (r == 0 && notify_open(&d->notify, err) < 0)
		log_warn("%s", err->msg);
	return r;
}

static void take_children(struct daemon *d)
{
	struct rusage usage;
	int status;
	pid_t child;

	while ((child = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		if (targets_ended(&d->targets, child, status))
			continue;
		if (capturing_ended(&d->capturing, &d->targets, child, status))
			own_cpu_left_out(&d->own_cpu, &usage);
		else
			keeping_ended(&d->keeping, child, status);
	}
}

static bool runs(const struct daemon *d)
{
	pid_t children[CAPTURES_AT_ONCE];

	return targets_running(&d->targets) || capturing_children(&d->capturing, children);
}

static void stop_workers(struct daemon *d, int signal)
{
	targets_stop(&d->targets, signal);
	capturing_stop(&d->capturing, signal);
}

static void end(struct daemon *d)
{
	uint64_t until = clock_monotonic_ns() + END_NS;
	struct pollfd p = {.fd = d->signals, .events = POLLIN};
	struct signalfd_siginfo info;

	notify_stopping(&d->notify);
	stop_workers(d, SIGTERM);
	while (runs(d) && clock_monotonic_ns() < until + KILLED_NS) {
		if (clock_monotonic_ns() >= until)
			stop_workers(d, SIGKILL);
		poll(&p, 1, 100);
		while (read(d->signals, &info, sizeof(info)) > 0)
			;
		take_children(d);
	}
	if (runs(d))
		log_warn("processes that sample could not be ended, and are left behind");
	keeping_stop(&d->keeping);
}

static void done(struct daemon *d)
{
	keeping_close(&d->keeping);
	targets_done(&d->targets);
	scan_free(d->scan);
	config_free(d->config);
	notify_close(&d->notify);
	close_at_exit(&d->signals);
}

/* --- the loop --- */

static void take_signals(struct daemon *d)
{
	struct signalfd_siginfo info;

	while (read(d->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			take_children(d);
		else if (info.ssi_signo == SIGHUP)
			reload(d);
		else
			d->stop = true;
	}
}

static bool found(void *ctx, const struct scan_found *f)
{
	struct daemon *d = ctx;
	size_t before = d->targets.n;
	bool known = targets_found(&d->targets, f);

	d->found |= d->targets.n > before;
	return known;
}

/* What a process of a target's own has used is known only from before it ended. */
static void govern(struct daemon *d)
{
	pid_t captures[CAPTURES_AT_ONCE];
	size_t n = capturing_children(&d->capturing, captures);
	bool due = targets_govern_due(&d->targets);
	uint64_t own_ns = due || targets_any_own(&d->targets) ? own_cpu_ns(&d->own_cpu, captures, n) : 0;

	if (due && !d->own_cpu.stale)
		targets_govern(&d->targets, own_ns);
	targets_announce(&d->targets);
}

static void tell_numbers(struct daemon *d, uint64_t now)
{
	struct daemon_numbers n;
	pid_t captures[CAPTURES_AT_ONCE];
	char status[40];

	if (now < d->numbers_ns)
		return;
	d->numbers_ns = now + NUMBERS_NS;
	targets_numbers(&d->targets, &n);
	n.captures = capturing_children(&d->capturing, captures);
	keeping_numbers(&d->keeping, &n);
	snprintf(status, sizeof(status), "sampling %u %s", (unsigned)n.jvms, n.jvms == 1 ? "JVM" : "JVMs");
	notify_status(&d->notify, status);
}

static void scan(struct daemon *d, uint64_t now)
{
	struct err err = {0};
	int r;

	d->found = false;
	r = scan_turn(d->scan, found, d, &err);
	if (r < 0)
		log_error("%s", err.msg);
	scan_when_done(&d->when, now, r != 0, d->found);
}

/* What happened before the worker could report it is looked for. */
static void tell_scan(struct daemon *d)
{
	bool told = targets_told(&d->targets);

	scan_told(d->scan, told);
	if (scan_when_tells(&d->when, told))
		scan_any(d->scan);
}

static void turn(struct daemon *d)
{
	uint64_t now = clock_monotonic_ns();
	struct err err = {0};

	if (keeping_turn(&d->keeping, &err) < 0)
		log_error("%s", err.msg);
	if (now >= scan_when_next(&d->when))
		scan(d, now);
	if (now >= d->govern_ns) {
		d->govern_ns = now + SECOND_NS;
		govern(d);
		targets_tend(&d->targets);
		capturing_tend(&d->capturing, &d->targets, &d->keeping);
		tell_numbers(d, now);
	}
	targets_turn(&d->targets);
	tell_scan(d);
	capturing_turn(&d->capturing, &d->targets, &d->keeping);
	log_say_left_out();
	if (d->notify.watchdog_ns && now >= d->watchdog_ns) {
		notify_watchdog(&d->notify);
		d->watchdog_ns = now + d->notify.watchdog_ns;
	}
}

static void loop(struct daemon *d)
{
	struct pollfd p[2 + TARGETS_FDS] = {{.fd = d->signals, .events = POLLIN}};

	notify_ready(&d->notify, "sampling");
	while (!d->stop) {
		uint64_t now = clock_monotonic_ns(), at = scan_when_next(&d->when),
			 next = at < d->govern_ns ? at : d->govern_ns;

		p[1] = (struct pollfd){.fd = d->keeping.control, .events = POLLIN};
		targets_poll(&d->targets, p + 2);
		poll(p, sizeof(p) / sizeof(p[0]), next > now ? (int)((next - now) / 1000000) + 1 : 0);
		take_signals(d);
		if (!d->stop)
			turn(d);
	}
}

int daemon_run(const struct daemon_options *o, struct err *err)
{
	struct daemon d = {.o = o,
			   .signals = -1,
			   .notify = {.fd = -1},
			   .targets = {.ends = -1, .joint = {.admit = -1, .report = -1}},
			   .keeping = {.control = -1, .o = {.store = -1, .listener = -1, .tcp = -1}}};
	int r;

	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	r = begin(&d, err);
	if (r == 0) {
		loop(&d);
		end(&d);
	}
	done(&d);
	return r;
}
