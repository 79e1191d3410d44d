#include <stdio.h>
#include <string.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/options/cmd_docs.h"
#include "sampler/cli/options/completion.h"
#include "sampler/cli/options/options.h"
#include "sampler/output/columns.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/* Width of the left column. The right one is wrapped to fit 80 columns. */
enum { LEFT = 24 };

static void print_option(const struct option_spec *s)
{
	char left[64], text[256];
	char letter[4] = {'-', s->letter, ',', '\0'};

	snprintf(left, sizeof(left), "  %s --%s%s%s", s->letter ? letter : "   ", s->name, s->arg ? " " : "",
		 s->arg ? s->arg : "");
	snprintf(text, sizeof(text), "%s%s%s%s", s->help, s->fallback ? " (default: " : "",
		 s->fallback ? s->fallback : "", s->fallback ? ")" : "");
	if (strlen(left) >= LEFT)
		printf("%s\n%*s", left, LEFT, "");
	else
		printf("%-*s", LEFT, left);
	columns_wrap(stdout, text, LEFT, LEFT, COLUMNS);
}

static void print_statuses(const char *const *statuses)
{
	size_t left = 0;

	for (size_t i = 0; statuses[i]; i += 2)
		if (strlen(statuses[i]) > left)
			left = strlen(statuses[i]);
	left += 4; /* two spaces on each side */
	for (size_t i = 0; statuses[i]; i += 2) {
		printf("  %-*s", (int)left - 2, statuses[i]);
		columns_wrap(stdout, statuses[i + 1], left, left, COLUMNS);
	}
}

static void print_command(const struct cmd_doc *doc)
{
	for (size_t i = 0; doc->usage[i]; i++)
		printf("%s jsampler %s\n", i ? "      " : "usage:", doc->usage[i]);
	putchar('\n');
	columns_wrap(stdout, doc->about, 0, 0, COLUMNS);
	putchar('\n');
	for (const struct option_spec *s = doc->options; s->name; s++)
		if (s->help)
			print_option(s);
	printf("\nExit status:\n");
	print_statuses(doc->statuses);
}

void help_overview(FILE *out)
{
	fprintf(out,
		"jsampler %s: where a JVM's CPU time goes, seen from outside\n\n"
		"  jsampler -p PID                    sample until Ctrl-C\n"
		"  jsampler -p PID -d 30 > f.folded   30 seconds, folded stacks\n\n",
		JS_VERSION);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		fprintf(out, "  jsampler %-10s %s\n", d->name, d->summary);
	fprintf(out, "\n`jsampler help record` lists the options, `jsampler list` the JVMs here.\n");
}

struct help {
	bool man, help;
	const char *shell; /* NULL: --completion was not given */
};

static int parse(int argc, char **argv, struct help *h, struct err *err)
{
	const struct option_spec *s = NULL;
	int r;

	optind = 0;
	while ((r = option_next(argc, argv, help_option_specs, &s, err)) == 0 && s) {
		h->man |= strcmp(s->name, "man") == 0;
		h->help |= strcmp(s->name, "help") == 0;
		if (strcmp(s->name, "completion") == 0)
			h->shell = optarg;
	}
	return r;
}

static int show_completion(const char *shell)
{
	if (completion_print(shell, stdout) == 0)
		return cmd_end(0);
	log_error("--completion %.40s: bash, zsh or fish", shell);
	return EXIT_USAGE;
}

static int show(const struct cmd_doc *doc, bool man)
{
	if (man)
		help_print_man(doc);
	else if (doc)
		print_command(doc);
	else
		help_overview(stdout);
	return cmd_end(0);
}

int cmd_help(int argc, char **argv)
{
	const struct cmd_doc *doc = NULL;
	struct err err = {0};
	struct help h = {0};

	if (parse(argc, argv, &h, &err) < 0)
		return cmd_fail(EXIT_USAGE, &err);
	if (h.shell)
		return show_completion(h.shell);
	if (h.help)
		doc = cmd_doc_find("help");
	if (!h.help && optind < argc) {
		doc = cmd_doc_find(argv[optind]);
		if (!doc || optind + 1 < argc) {
			log_error("no help on '%.80s': `jsampler help` lists the commands", argv[argc - 1]);
			return EXIT_USAGE;
		}
	}
	return show(doc, h.man);
}

int cmd_help_on(const char *name)
{
	return show(cmd_doc_find(name), false);
}
