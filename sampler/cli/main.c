#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/options/hints.h"
#include "sampler/rights/privs.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

static const struct cmd cmds[] = {
	{"record", cmd_record},     {"report", cmd_report}, {"diff", cmd_diff},     {"convert", cmd_convert},
	{"capture", cmd_capture},   {"list", cmd_list},     {"daemon", cmd_daemon}, {"doctor", cmd_doctor},
	{"snapshot", cmd_snapshot}, {"replay", cmd_replay}, {"help", cmd_help},     {NULL, NULL},
};

int cmd_fail(int status, const struct err *err)
{
	log_error("%s", err->msg);
	return status;
}

int cmd_end(int r)
{
	if (r == 0 && (fflush(stdout) == 0 || errno == EPIPE))
		return EXIT_WRITTEN;
	log_error("cannot write to stdout: %m");
	return EXIT_FAILED;
}

static const struct cmd *find_cmd(const char *name)
{
	for (const struct cmd *c = cmds; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/*
 * If stdin, stdout or stderr is closed, the next file or event opened would get its number, and receive what is
 * written there. The placeholder can be neither read nor written, like a closed descriptor.
 */
static void keep_numbers(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
	const struct cmd *c = argc > 1 ? find_cmd(argv[1]) : NULL;
	struct err e = {0};

	keep_numbers();
	privs_guard_memory();
	/* A closed pipe or a file over RLIMIT_FSIZE become errors of write(2), which are reported like others. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (c)
		return c->run(argc - 1, argv + 1);
	if (argc < 2) {
		help_overview(stderr);
		return EXIT_USAGE;
	}
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return cmd_help(1, argv);
	if (hints_check_command(argv[1], &e) < 0)
		return cmd_fail(EXIT_USAGE, &e);
	return cmd_record(argc, argv);
}
