#include <stdio.h>
#include <string.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/options.h"
#include "symbolizer/base/log.h"

/* Width of the left column; the right one wraps so that 80 columns suffice. */
enum { LEFT = 24, WIDTH = 79 };

static void print_wrapped(const char *text)
{
	int col = LEFT;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (col > LEFT && col + word + 1 > WIDTH) {
			printf("\n%*s", LEFT, "");
			col = LEFT;
		}
		col += printf("%s%.*s", col > LEFT ? " " : "", word, text);
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_option(const struct option_spec *s)
{
	char left[64], text[256];
	char letter[4] = {'-', s->letter, ',', '\0'};

	snprintf(left, sizeof(left), "  %s --%s%s%s", s->letter ? letter : "   ", s->name,
		 s->arg ? " " : "", s->arg ? s->arg : "");
	snprintf(text, sizeof(text), "%s%s%s%s%s", s->help, s->fallback ? " (default: " : "",
		 s->fallback ? s->fallback : "", s->fallback ? ")" : "",
		 s->later ? " (not in this build)" : "");
	if (strlen(left) >= LEFT)
		printf("%s\n%*s", left, LEFT, "");
	else
		printf("%-*s", LEFT, left);
	print_wrapped(text);
}

static void print_record(void)
{
	printf("usage: jsampler [record] -p PID[,PID...] [options]\n"
	       "       jsampler [record] [options] NAME        main class or jar of a running JVM\n"
	       "       jsampler [record] [options] -- COMMAND [ARG...]\n\n"
	       "Samples the threads of running processes from outside, without an agent.\n\n");
	for (const struct option_spec *s = record_option_specs(); s->name; s++)
		if (s->help)
			print_option(s);
	printf("\nExit status: 0 written, 1 failed, 2 wrong usage.\n");
}

static void print_overview(void)
{
	printf("jsampler %s: where a JVM's CPU time goes, seen from outside\n\n"
	       "  jsampler -p PID                    sample until Ctrl-C\n"
	       "  jsampler -p PID -d 30 > f.folded   30 seconds, folded stacks\n\n",
	       JS_VERSION);
	for (const struct cmd *c = cmd_table(); c->name; c++)
		if (c->summary)
			printf("  jsampler %-10s %s\n", c->name, c->summary);
	printf("\n`jsampler help record` lists the options.\n");
}

int cmd_help(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "record") == 0)
		print_record();
	else if (argc > 1 && strcmp(argv[1], "help") != 0) {
		log_error("no help on '%s'", argv[1]);
		return EXIT_USAGE;
	} else
		print_overview();
	return EXIT_WRITTEN;
}
