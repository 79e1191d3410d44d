#ifndef JS_CLI_OPTIONS_COMPLETION_H
#define JS_CLI_OPTIONS_COMPLETION_H

#include <stdio.h>

struct buf;
struct cmd_doc;
struct option_spec;

/*
 * Prints a completion script for a shell, made from the tables that --help shows. 0, or -EINVAL: not "bash", "zsh" or
 * "fish". Errors stick to the stream.
 */
int completion_print(const char *shell, FILE *out);

/* How an argument is completed. */
enum completion_kind {
	COMPLETION_NONE, /* the option takes no argument */
	COMPLETION_FREE, /* nothing to offer: a number, an expression */
	COMPLETION_WORDS,
	COMPLETION_FILE,
	COMPLETION_PID, /* of a JVM */
	COMPLETION_COMMAND, /* of jsampler */
};

/* words (may be NULL): for COMPLETION_WORDS, separated by spaces. */
enum completion_kind completion_of_option(const struct option_spec *s, struct buf *words);
enum completion_kind completion_of_arguments(const struct cmd_doc *doc);

void completion_print_bash(FILE *out);
void completion_print_zsh(FILE *out);
void completion_print_fish(FILE *out);

#endif
