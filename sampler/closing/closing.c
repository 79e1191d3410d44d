#include "sampler/closing/closing.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/broker/broker.h"
#include "sampler/closed/closed.h"
#include "sampler/closed/opener.h"
#include "sampler/rights/privs.h"
#include "symbolizer/base/bounded_child.h"
#include "symbolizer/base/caps.h"
#include "symbolizer/base/data_limit.h"
#include "symbolizer/base/err.h"

/* A megabyte of gzip may expand to a gigabyte, and parsing that takes many times as much memory. */
#define SAVED_BYTES (UINT64_C(4) << 30)

enum { DRAIN_NICE = -10 }; /* nice value of the engine's drain thread */

static int begin(enum closed_work work, int socket, struct closed_gaps *ret, struct err *err)
{
	int r = closed_begin(work, socket, ret, err);

	if (r == 0)
		closed_say_gaps(ret);
	return r;
}

int close_with(struct opener *o, struct err *err)
{
	struct closed_gaps gaps;
	int r = opener_start(o, privs_drop_for_files, err);

	data_limit(SAVED_BYTES);
	return r < 0 ? r : begin(CLOSED_FILES, opener_socket(o), &gaps, err);
}

/* --- commands that sample --- */

int closing_init(struct closing *c, struct err *err)
{
	c->opener = opener_new(NULL, 0);
	return c->opener ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* The broker raises priorities if the limit for all cannot be raised. */
static int drop_for_broker(struct err *err)
{
	const struct privs_needs needs = {
		.identity = true, .reading = true, .priority = !privs_allow_priority(DRAIN_NICE)};

	return privs_drop(&needs, err);
}

bool closing_starts_commands(void)
{
	return !(caps_permitted() & cap_bit(CAP_SYS_PTRACE));
}

int closing_start_command(struct closing *c, bool follow, const struct broker_command *command, struct err *err)
{
	c->broker = broker_new(follow);
	if (!c->broker)
		return err_set(err, -ENOMEM, "out of memory");
	broker_starts(c->broker, command);
	return broker_start(c->broker, drop_for_broker, err);
}

static int start_broker(struct closing *c, const struct closing_targets *t, struct err *err)
{
	uint32_t number;
	int r = 0;

	c->broker = broker_new(t->follow);
	if (!c->broker)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < t->n; i++)
		r = broker_add_target(c->broker, t->pids[i], t->command, &number, err);
	if (t->admissions)
		broker_admit_from(c->broker, t->admissions);
	return r < 0 ? r : broker_start(c->broker, drop_for_broker, err);
}

int closing_fork(struct closing *c, const struct closing_targets *t, struct err *err)
{
	int r = c->broker ? 0 : start_broker(c, t, err);

	return r < 0 || !c->opener ? r : opener_start(c->opener, privs_drop_for_files, err);
}

/* A ring that is mapped again counts against the user's limit, and the user may have other rings. */
static void allow_rings(void)
{
	struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &l);
}

int closing_close(struct closing *c, struct err *err)
{
	struct closed_gaps gaps;
	int r;

	allow_rings();
	bounded_child_prepare();
	r = broker_use(c->broker, err);
	if (r == 0)
		r = begin(CLOSED_SAMPLING, -1, &gaps, err);
	c->closed = r == 0;
	c->unfiltered = c->closed && gaps.filter;
	return r;
}

int closing_tracer(int socket, struct err *err)
{
	struct closed_gaps gaps; /* the worker reports the same problems, except this one */
	int r = closed_begin_tracing(socket, &gaps, err);

	if (r == 0 && gaps.ids)
		err_set(err, 0,
			"no CAP_SYS_PTRACE: the process that stops threads keeps root's ids and capabilities, because "
			"it could not stop threads without them");
	return r;
}

void closing_done(struct closing *c)
{
	broker_free(c->broker);
	opener_free(c->opener);
	*c = (struct closing){0};
}

int closing_for_one_process(struct closing *c, pid_t pid, struct err *err)
{
	int r = closing_fork(c, &(struct closing_targets){.pids = &pid, .n = 1}, err);

	return r < 0 ? r : closing_close(c, err);
}

void closing_say_gaps(void)
{
	struct closed_gaps gaps;

	/* Each child has this failure, too, and reports it. */
	if (closed_try(CLOSED_FILES, &gaps, NULL, NULL, NULL) == 0)
		closed_say_gaps(&gaps);
}

void closing_for_names(void)
{
	(void)privs_drop(&(struct privs_needs){.reading = true}, NULL);
}
