#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sampler/cli/options/cmd_docs.h"
#include "sampler/cli/options/options.h"

/*
 * Manual pages in man(7) format, from the tables that --help shows. The build appends what tables
 * lack (examples, files, notes) from packaging/man/NAME.roff.
 */

/* Hyphens are meant literally, not as in prose; a dot at the start of a line would be a request. */
static void put_text(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (p == text && (*p == '.' || *p == '\''))
			fputs("\\&", stdout);
		if (*p == '-')
			fputs("\\-", stdout);
		else if (*p == '\\')
			fputs("\\e", stdout);
		else if (*p == '`')
			fputs("\\(ga", stdout);
		else if (*p == '\'')
			fputs("\\(aq", stdout);
		else
			putchar(*p);
	}
}

static void put_upper(const char *text)
{
	for (; *text; text++)
		putchar(*text == '-' ? '-' : toupper((unsigned char)*text));
}

static void put_option(const struct option_spec *s)
{
	printf(".TP\n");
	if (s->letter)
		printf("\\fB\\-%c\\fR, ", s->letter);
	printf("\\fB\\-\\-");
	put_text(s->name);
	printf("\\fR");
	if (s->arg)
		printf(" \\fI%s\\fR", s->arg);
	putchar('\n');
	put_text(s->help);
	if (s->fallback) {
		printf(" (default: ");
		put_text(s->fallback);
		putchar(')');
	}
	putchar('\n');
}

static void put_usage(const char *line)
{
	printf(".br\n.B jsampler\n");
	put_text(line);
	putchar('\n');
}

/* The daemon is for administrators. */
static int section_of(const char *command)
{
	return strcmp(command, "daemon") == 0 ? 8 : 1;
}

static void put_head(const char *suffix, const char *summary)
{
	printf(".TH JSAMPLER%s", *suffix ? "-" : "");
	put_upper(suffix);
	printf(" %d \"\" \"jsampler %s\" \"jsampler manual\"\n.SH NAME\njsampler%s%s \\- ", section_of(suffix),
	       JS_VERSION, *suffix ? "\\-" : "", suffix);
	put_text(summary);
	/* Do not fill or hyphenate usage lines. */
	printf("\n.SH SYNOPSIS\n.nh\n.ad l\n");
}

static void put_overview(void)
{
	put_head("", "where a JVM's CPU time goes, seen from outside");
	put_usage("-p PID[,PID...] [-d TIME] [-o FILE] [options]");
	put_usage("[options] -- COMMAND [ARG...]");
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		put_usage(d->usage[0]);
	printf(".SH COMMANDS\n");
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++) {
		printf(".TP\n.B %s\n", d->name);
		put_text(d->summary);
		printf("; see \\fBjsampler\\-%s\\fR(1)\n", d->name);
	}
}

static void put_command(const struct cmd_doc *doc)
{
	put_head(doc->name, doc->summary);
	for (size_t i = 0; doc->usage[i]; i++)
		put_usage(doc->usage[i]);
	printf(".SH DESCRIPTION\n");
	put_text(doc->about);
	printf("\n.SH OPTIONS\n");
	for (const struct option_spec *s = doc->options; s->name; s++)
		if (s->help)
			put_option(s);
	printf(".SH EXIT STATUS\n");
	for (size_t i = 0; doc->statuses[i]; i += 2) {
		printf(".TP\n.B %s\n", doc->statuses[i]);
		put_text(doc->statuses[i + 1]);
		putchar('\n');
	}
}

void help_print_man(const struct cmd_doc *doc)
{
	if (doc)
		put_command(doc);
	else
		put_overview();
}
