#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sampler/broker/broker.h"
#include "sampler/cli/cmd.h"
#include "sampler/cli/filters.h"
#include "sampler/cli/options/hints.h"
#include "sampler/cli/options/options.h"
#include "sampler/cli/options/version.h"
#include "sampler/cli/outputs.h"
#include "sampler/cli/summary.h"
#include "sampler/cli/targets/child.h"
#include "sampler/cli/targets/find_target.h"
#include "sampler/cli/targets/interrupt.h"
#include "sampler/cli/targets/overdue.h"
#include "sampler/cli/targets/runs.h"
#include "sampler/closing/closing.h"
#include "sampler/output/columns.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/deputy.h"

enum {
	LIVE_LINE_MS = 250,
	SOON_MS = 200, /* a command that ends within this time is not mentioned */
	AFTER_COMMAND_MS = 500, /* likewise processes that the command leaves behind */
};

/* Everything that one `record` owns; freed in one place. */
struct record {
	struct record_options o;
	struct outputs outs;
	struct child child;
	struct child_parent parent; /* if it is not this process's child */
	bool has_child, over; /* over: the command has ended */
	uint64_t outlived; /* when the command ended; 0: still running, or nothing left to mention */
	struct closing closing;
	struct runs *runs;
	struct buf command_line;
	int signals; /* signalfd */
};

static void record_done(struct record *rec)
{
	runs_close(rec->runs);
	outputs_done(&rec->outs);
	closing_done(&rec->closing);
	if (rec->signals >= 0)
		close(rec->signals);
	buf_done(&rec->command_line);
}

static void set_log_level(const struct record_options *o)
{
	enum log_level level = LOG_LEVEL_NORMAL;

	if (o->quiet)
		level = LOG_LEVEL_QUIET;
	else if (o->verbose)
		level = o->verbose > 1 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	log_set_level(level);
}

/* SIGCHLD announces the end of the command. */
static int block_signals(struct record *rec, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(err, -errno, "cannot block signals: %m");
	rec->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return rec->signals < 0 ? err_set(err, -errno, "cannot wait for signals: %m") : 0;
}

static bool follows(const struct record_options *o)
{
	return o->children || (o->command && !o->no_children);
}

static int start_below_broker(struct record *rec, struct err *err)
{
	int r = child_prepare(rec->o.command, &rec->child, &rec->parent, err);
	const struct broker_command c = {
		.start = child_parent_start,
		.watch = child_parent_watch,
		.end = child_parent_end,
		.ctx = &rec->parent,
		.keep = rec->parent.end,
	};

	if (r == 0)
		r = closing_start_command(&rec->closing, follows(&rec->o), &c, err);
	return r < 0 ? r : child_know(&rec->child, &rec->parent, err);
}

static int start_command(struct record *rec, struct err *err)
{
	int r = closing_starts_commands() ? start_below_broker(rec, err) :
					    child_start(rec->o.command, &rec->child, err);

	rec->has_child = r == 0;
	if (r == 0) {
		rec->o.pids[0] = rec->child.pid;
		rec->o.n_pids = 1;
	}
	return r;
}

static int choose_targets(struct record *rec, struct err *err)
{
	struct record_options *o = &rec->o;
	int r;

	if (o->target_name) {
		r = find_target(o->target_name, &o->pids[0], err);
		o->n_pids = r == 0;
		if (r == -ENOENT && hints_is_command(o->target_name))
			return err_set(err, r,
				       "no JVM runs the main class or jar '%.80s'; to start a program of that name, "
				       "use: jsampler -- %.80s",
				       o->target_name, o->target_name);
		return r;
	}
	return o->command ? start_command(rec, err) : 0;
}

/* Sets what does not depend on options alone. */
static void complete_options(struct record *rec)
{
	struct record_options *o = &rec->o;
	struct session_options *so = &o->session;

	so->engine_options.starting = so->launched = rec->has_child;
	so->profile.states = strcmp(so->engine_options.event, "wall") == 0;
	so->show.process_root = o->n_pids > 1;
	so->apart = o->pids;
	so->n_apart = o->n_pids;
	so->follow = follows(o);
	so->jsampler_command = rec->command_line.data;
}

static int send_signal(void *broker, int signal)
{
	return broker_signal(broker, signal);
}

/* From here on, signals are for the command. */
static int start_signals(struct record *rec, struct err *err)
{
	const struct closing *c = &rec->closing;

	if (rec->has_child)
		interrupt_set_command(rec->child.pid, c->closed ? send_signal : NULL, c->broker);
	return interrupt_start(c->closed, err);
}

/* Opens everything, then gives up the rights to open more. */
static int open_and_close(struct record *rec, struct err *err)
{
	struct record_options *o = &rec->o;
	const struct closing_targets targets = {
		.pids = o->pids, .n = o->n_pids, .command = rec->has_child, .follow = o->session.follow};
	int r = closing_init(&rec->closing, err);

	if (r == 0 && outputs_hand_over(&rec->outs, rec->closing.opener) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = closing_fork(&rec->closing, &targets, err);
	o->session.engine_options.confine_tracer = closing_tracer;
	if (r == 0)
		r = runs_open(o->pids, o->n_pids, &o->session, &rec->runs, err);
	return r < 0 ? r : closing_close(&rec->closing, err);
}

static int start(struct record *rec, struct err *err)
{
	int r;

	complete_options(rec);
	r = open_and_close(rec, err);
	if (r == 0)
		r = start_signals(rec, err);
	if (r == 0)
		interrupt_set_phase(INTERRUPT_SAMPLING);
	if (r == 0)
		r = runs_start(rec->runs, rec->o.duration_ns, err);
	if (r == 0 && rec->has_child)
		r = child_release(&rec->child, rec->o.command[0], err);
	return r;
}

static void take_child_signal(struct record *rec)
{
	struct signalfd_siginfo info;

	(void)!read(rec->signals, &info, sizeof(info));
	if (rec->has_child && !rec->outlived && !rec->over && child_is_over(&rec->child)) {
		rec->over = true;
		rec->outlived = clock_monotonic_ns();
	}
}

/* -1: SIGCHLD tells its end, or the end is known. */
static int command_end_fd(const struct record *rec)
{
	return rec->has_child && !rec->over ? child_end_fd(&rec->child) : -1;
}

static void live_line(const struct record *rec, uint64_t elapsed_ns)
{
	struct session_live l = runs_live(rec->runs);

	summary_live_line(elapsed_ns, &l, deputy_and_own_cpu_ns() + l.helper_cpu_ns);
}

/* Processes that a command leaves behind, such as a daemon, may run forever. */
static void say_outlived(struct record *rec, uint64_t start_ns)
{
	uint64_t ended_ns = rec->outlived;

	if (!ended_ns || clock_monotonic_ns() - ended_ns < AFTER_COMMAND_MS * UINT64_C(1000000))
		return;
	rec->outlived = 0;
	if (!runs_live(rec->runs).children)
		return;
	log_warn("'%s' ended after %.1f s, but processes that it started are still running; they are sampled until "
		 "they end or until Ctrl-C (--no-children leaves them out)",
		 rec->o.command[0], (double)(ended_ns - start_ns) / 1e9);
}

/* Some threads will never end, so they cannot be joined. */
static _Noreturn void give_up(struct record *rec)
{
	log_error("sampling cannot end, because reading a sampled process blocks (its memory or its execve(2) may be "
		  "waiting for a file system that does not respond); nothing is written");
	outputs_done(&rec->outs);
	_exit(EXIT_FAILED);
}

/* Called after writing what could be sampled: hanging threads cannot be joined. */
static _Noreturn void exit_without_hung_threads(struct record *rec, int r, const struct err *err)
{
	if (r < 0)
		log_error("%s", err->msg);
	outputs_done(&rec->outs);
	_exit(EXIT_FAILED);
}

/* false: some sessions do not end. */
static bool wait_for_end(struct record *rec)
{
	bool seen = isatty(STDERR_FILENO) && !rec->o.quiet, live = seen && columns_live_terminal(), hang = false;
	uint64_t start_ns = clock_monotonic_ns();
	struct overdue overdue = {0};
	struct pollfd fds[4] = {
		{.fd = runs_done_fd(rec->runs), .events = POLLIN},
		{.fd = rec->signals, .events = POLLIN},
		{.fd = interrupt_fd(), .events = POLLIN},
		{.fd = -1, .events = POLLIN},
	};

	if (seen && !live && !rec->o.duration_ns)
		log_warn("sampling; press Ctrl-C to stop");
	if (rec->o.duration_ns)
		overdue_expect(&overdue, start_ns + rec->o.duration_ns);
	while (!(fds[0].revents & POLLIN)) {
		int pause = live ? LIVE_LINE_MS : rec->outlived ? AFTER_COMMAND_MS : -1;
		int n;

		fds[3].fd = command_end_fd(rec);
		n = poll(fds, 4, overdue_pause_ms(&overdue, pause));
		if (n < 0 && errno != EINTR)
			break;
		say_outlived(rec, start_ns);
		if (fds[1].revents & POLLIN || fds[3].revents)
			take_child_signal(rec);
		if (fds[2].revents & POLLIN) {
			fds[2].fd = -1;
			overdue_expect(&overdue, clock_monotonic_ns());
			runs_stop(rec->runs);
		}
		hang = overdue_check(&overdue, clock_monotonic_ns(), deputy_and_own_cpu_ns());
		if (hang)
			break;
		if (live)
			live_line(rec, clock_monotonic_ns() - start_ns);
	}
	if (live)
		summary_live_line_clear();
	return !hang;
}

/* The profile of all processes, and, if an output is per process, one for each. */
struct results {
	struct named_profile *all;
	struct named_profile *each[MAX_PIDS];
};

static void results_done(struct results *res)
{
	named_profile_free(res->all);
	for (size_t i = 0; i < MAX_PIDS; i++)
		named_profile_free(res->each[i]);
}

static int filter_each(const struct record_options *o, struct results *res, struct err *err)
{
	int r = filters_apply(o, 0, &res->all, err);

	for (size_t i = 0; r == 0 && i < o->n_pids; i++)
		if (res->each[i])
			r = filters_apply_quietly(o, 0, &res->each[i], err);
	return r;
}

static void end_naming(void *runs)
{
	runs_end_naming(runs);
}

static int write_results(struct record *rec, struct err *err)
{
	CLEANUP(results_done) struct results res = {0};
	const struct writer_options wo = {.annotate = !rec->o.no_annotate, .lines = rec->o.session.show.lines};
	struct session_summary sum;
	int r;

	interrupt_set_naming(end_naming, rec->runs);
	r = runs_result(rec->runs, outputs_are_split(&rec->outs) ? res.each : NULL, &res.all, err);
	interrupt_set_naming(NULL, NULL);
	if (r == 0)
		runs_forget_stacks(rec->runs);
	if (r == 0)
		r = filter_each(&rec->o, &res, err);
	if (r == 0)
		r = outputs_write(&rec->outs, res.all, res.each, &wo, err);
	if (r < 0)
		return r;
	sum = runs_summary(rec->runs);
	if (!rec->o.quiet)
		summary_print(&sum, res.all, &rec->outs, rec->closing.unfiltered, rec->o.verbose);
	return 0;
}

static void check_slices(const struct record *rec)
{
	for (size_t i = 0; i < rec->outs.n; i++)
		if (rec->outs.list[i].writer == &writer_html || strcmp(rec->outs.list[i].writer->name, "pprof") == 0)
			return;
	if (rec->o.session.slice_ns)
		log_warn("--slices: time slices are kept in .html and .pb.gz only");
}

static int join_and_write(struct record *rec, struct err *err)
{
	struct err late = {0};
	int r = runs_join(rec->runs, &late);

	if (r < 0 && !runs_live(rec->runs).samples)
		return err_set(err, r, "%s", late.msg);
	if (r < 0)
		log_warn("%s: writing what was sampled until then", late.msg);
	return write_results(rec, err);
}

static int record(struct record *rec, struct err *err)
{
	int r = block_signals(rec, err);
	bool all;

	if (r == 0)
		r = choose_targets(rec, err);
	if (r == 0)
		r = outputs_open(&rec->o, rec->o.pids, rec->o.n_pids, &rec->outs, err);
	if (r == 0)
		check_slices(rec);
	if (r == 0)
		r = start(rec, err);
	if (r < 0)
		return r;
	all = wait_for_end(rec);
	interrupt_set_phase(INTERRUPT_FINISHING);
	if (!all && runs_abandon(rec->runs) == 0)
		give_up(rec);
	r = join_and_write(rec, err);
	if (!all)
		exit_without_hung_threads(rec, r, err);
	return r;
}

/* The message says that descriptors ran out; this says what to do. */
static const char *limit_hint(int r, const char *msg)
{
	return r == -EMFILE && !strstr(msg, "ulimit") ? "; raise the limit with ulimit -n" : "";
}

/* Until the command has ended, signals are for it. Returns its exit status. */
static int wait_for_command(struct record *rec)
{
	struct pollfd fds[2] = {{.fd = rec->signals, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
	int status, limit_ms = SOON_MS;

	child_abandon(&rec->child);
	interrupt_set_phase(INTERRUPT_WAITING);
	while (!child_ended(&rec->child, &status)) {
		fds[1].fd = child_end_fd(&rec->child);
		if (poll(fds, 2, limit_ms) > 0) {
			take_child_signal(rec);
		} else if (limit_ms >= 0) {
			log_warn("waiting for '%s' (PID %d) to end", rec->o.command[0], (int)rec->child.pid);
			limit_ms = -1;
		}
	}
	interrupt_set_command(0, NULL, NULL);
	if (status != CHILD_STATUS_UNKNOWN)
		return status;
	log_warn("the exit status of '%s' is not known%s", rec->o.command[0],
		 rec->child.end >= 0 ? ": the process of jsampler that started it was killed" : "");
	return EXIT_UNKNOWN;
}

static int finish(struct record *rec, int r, const struct err *err)
{
	int status = EXIT_WRITTEN;

	if (r < 0)
		log_error("%s%s", err->msg, limit_hint(r, err->msg));
	if (rec->has_child)
		status = wait_for_command(rec);
	if (r < 0)
		status = r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	record_done(rec);
	return status;
}

/*
 * jsampler's own command line, for profiles. Of a command that it starts, only the name is included, unless
 * --command-line is given.
 */
static void note_command_line(struct record *rec, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		bool arguments = rec->o.command && argv + i > rec->o.command;

		if (arguments && !rec->o.session.command_line) {
			buf_add_z(&rec->command_line, " ...");
			return;
		}
		buf_printf(&rec->command_line, "%s%s", i ? " " : "", argv[i]);
	}
}

int cmd_record(int argc, char **argv)
{
	struct record rec = {.signals = -1};
	struct err err = {0};

	if (record_options_parse(argc, argv, &rec.o, &err) < 0)
		return cmd_fail(EXIT_USAGE, &err);
	if (rec.o.help || rec.o.version) {
		if (rec.o.help)
			return cmd_help_on("record");
		version_print();
		return cmd_end(0);
	}
	set_log_level(&rec.o);
	note_command_line(&rec, argc, argv);
	return finish(&rec, record(&rec, &err), &err);
}
