#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/options/options.h"
#include "sampler/daemon/host/daemon.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

struct daemon_args {
	struct daemon_options o;
	bool check, help;
	int verbose;
};

static int parse(int argc, char **argv, struct daemon_args *a, struct err *err)
{
	const struct option_spec *s = NULL;
	int r;

	optind = 0;
	while ((r = option_next(argc, argv, daemon_option_specs, &s, err)) == 0 && s) {
		a->help |= strcmp(s->name, "help") == 0;
		a->check |= strcmp(s->name, "check") == 0;
		a->verbose += strcmp(s->name, "verbose") == 0;
		if (strcmp(s->name, "config") == 0)
			a->o.config = optarg;
	}
	if (r == 0 && optind < argc)
		r = err_set(err, -EINVAL,
			    "daemon takes no argument '%.80s': rules in its configuration select what is sampled",
			    argv[optind]);
	return r;
}

int cmd_daemon(int argc, char **argv)
{
	struct daemon_args a = {0};
	struct err err = {0};
	int r;

	if (parse(argc, argv, &a, &err) < 0)
		return cmd_fail(EXIT_USAGE, &err);
	if (a.help)
		return cmd_help_on("daemon");
	if (a.verbose)
		log_set_level(a.verbose > 1 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	if (a.check)
		return daemon_check(&a.o) < 0 ? EXIT_USAGE : cmd_end(0);
	log_for_journal();
	r = daemon_run(&a.o, &err);
	if (r < 0)
		log_error("%s", err.msg);
	return r == 0 ? EXIT_WRITTEN : r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}
