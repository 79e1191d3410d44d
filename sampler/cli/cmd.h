#ifndef JS_CLI_CMD_H
#define JS_CLI_CMD_H

#include <stdio.h>

struct err;

/* Exit statuses. */
enum { EXIT_WRITTEN = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_GATE = 3, EXIT_UNKNOWN = 127 };

/* One command: argv[0] is its name. Returns the exit status. */
struct cmd {
	const char *name;
	int (*run)(int argc, char **argv);
};

int cmd_record(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_capture(int argc, char **argv);
int cmd_daemon(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_help_on(const char *name); /* what --help of that command prints */

/*
 * The exit status of a command that has printed to stdout; r: 0, or printing failed. A reader that closes the pipe
 * (`| head`) has got what it wanted.
 */
int cmd_end(int r);
int cmd_fail(int status, const struct err *err); /* status, once the message has been printed */
void help_overview(FILE *out); /* lists the commands, one per line */

#endif
