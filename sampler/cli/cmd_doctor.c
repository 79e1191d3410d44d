#include <errno.h>
#include <string.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/daemon/doctor_daemon.h"
#include "sampler/cli/options/options.h"
#include "sampler/cli/targets/find_target.h"
#include "sampler/doctor/checks.h"
#include "sampler/doctor/checks_print.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"

struct doctor_options {
	pid_t pid; /* 0: none */
	const char *name; /* an argument that is not a PID */
	bool json, no_attach, help;
	const char *socket; /* of the daemon; NULL: not given */
};

static int parse_pid(const char *text, struct doctor_options *o, struct err *err)
{
	uint64_t pid;

	if (o->pid || o->name)
		return err_set(err, -EINVAL, "one process at a time: '%.80s' is one too many", text);
	if (parse_u64(text, 1, INT32_MAX, &pid) < 0)
		return err_set(err, -EINVAL, "'%.80s' is not a PID", text);
	o->pid = (pid_t)pid;
	return 0;
}

static int parse_one(const struct option_spec *s, struct doctor_options *o, struct err *err)
{
	if (strcmp(s->name, "pid") == 0)
		return parse_pid(optarg, o, err);
	if (strcmp(s->name, "format") == 0) {
		o->json = strcmp(optarg, "json") == 0;
		if (!o->json && strcmp(optarg, "text") != 0)
			return err_set(err, -EINVAL, "-f %.80s: text or json", optarg);
	}
	if (strcmp(s->name, "socket") == 0)
		o->socket = optarg;
	o->json |= strcmp(s->name, "json") == 0;
	o->no_attach |= strcmp(s->name, "no-attach") == 0;
	o->help |= strcmp(s->name, "help") == 0;
	return 0;
}

static int parse(int argc, char **argv, struct doctor_options *o, struct err *err)
{
	const struct option_spec *s = NULL;
	uint64_t pid;
	int r;

	optind = 0;
	while ((r = option_next(argc, argv, doctor_option_specs, &s, err)) == 0 && s) {
		r = parse_one(s, o, err);
		if (r < 0)
			return r;
	}
	for (; r == 0 && optind < argc; optind++) {
		if (o->pid || o->name || parse_u64(argv[optind], 1, INT32_MAX, &pid) == 0)
			r = parse_pid(argv[optind], o, err);
		else
			o->name = argv[optind];
	}
	return r;
}

static int print(const struct checks *c, bool json)
{
	int status;

	if (!json)
		checks_print_text(c);
	status = cmd_end(json ? checks_print_json(c) : 0);
	if (status != EXIT_WRITTEN)
		return status;
	return checks_count(c, CHECK_FAIL) ? EXIT_FAILED : EXIT_WRITTEN;
}

static int diagnose(const struct doctor_options *o)
{
	const struct checks_options co = {.attach = !o->no_attach};
	struct checks c = {0};
	int status;

	checks_host(&c);
	doctor_daemon(&c, o->socket);
	if (o->pid)
		checks_target(&c, o->pid, &co);
	status = print(&c, o->json);
	checks_done(&c);
	return status;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options o = {0};
	struct err err = {0};
	int r = parse(argc, argv, &o, &err);

	if (r == 0 && o.help)
		return cmd_help_on("doctor");
	if (r == 0 && o.name)
		r = find_target(o.name, &o.pid, &err);
	if (r < 0)
		return cmd_fail(r == -EINVAL ? EXIT_USAGE : EXIT_FAILED, &err);
	return diagnose(&o);
}
