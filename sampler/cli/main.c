#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/habits.h"
#include "sampler/session/privs.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

static const struct cmd cmds[] = {
	{"record", "sample running processes, or a command", cmd_record},
	{"report", "text views of saved profiles: methods, calls, lines, tiers", cmd_report},
	{"diff", "what grew, what shrank between sets of profiles; a gate", cmd_diff},
	{"convert", "merge saved profiles, change their format", cmd_convert},
	{"list", "JVMs on this host", cmd_list},
	{"doctor", "what works here, what does not, and the remedy", cmd_doctor},
	{"snapshot", NULL, cmd_snapshot},
	{"replay", NULL, cmd_replay},
	{"help", "what there is, and how to use it", cmd_help},
	{NULL, NULL, NULL},
};

const struct cmd *cmd_table(void)
{
	return cmds;
}

static const struct cmd *find_cmd(const char *name)
{
	for (const struct cmd *c = cmds; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/*
 * Where stdin, stdout or stderr is closed, the next file or event to be opened would take its number,
 * and get what is written there. What is put in its place can be neither read nor written, as before.
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
	/* A closed pipe, a file over RLIMIT_FSIZE: errors of write(2), said like any other. */
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
	if (habits_check_command(argv[1], &e) < 0) {
		log_error("%s", e.msg);
		return EXIT_USAGE;
	}
	return cmd_record(argc, argv);
}
