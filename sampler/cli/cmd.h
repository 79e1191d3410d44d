#ifndef JS_CLI_CMD_H
#define JS_CLI_CMD_H

#include <stdio.h>

/* Exit statuses (DESIGN section 3). */
enum { EXIT_WRITTEN = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_GATE = 3 };

/* One command: argv[0] is its name. Returns the exit status. */
struct cmd {
	const char *name;
	const char *summary; /* for help; NULL: hidden */
	int (*run)(int argc, char **argv);
};

int cmd_record(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_help(int argc, char **argv);

const struct cmd *cmd_table(void); /* ends with a NULL name */
void help_overview(FILE *out); /* the commands, each in a line */

#endif
