#include "sampler/cli/options/cmd_docs.h"
#include "sampler/cli/options/completion.h"
#include "sampler/cli/options/options.h"
#include "symbolizer/base/buf.h"

static void put_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

static void put_commands(FILE *out)
{
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		fprintf(out, " %s", d->name);
}

static void put_value(FILE *out, enum completion_kind kind, const char *words)
{
	switch (kind) {
	case COMPLETION_NONE: break;
	case COMPLETION_FILE: fputs(" -r -F", out); break;
	case COMPLETION_WORDS:
		fputs(" -x -a ", out);
		put_quoted(out, words);
		break;
	case COMPLETION_PID: fputs(" -x -a '(__jsampler_pids)'", out); break;
	default: fputs(" -x", out); break;
	}
}

static void put_option(FILE *out, const struct cmd_doc *d, const struct option_spec *s)
{
	struct buf words = {0};
	enum completion_kind kind = completion_of_option(s, &words);

	fprintf(out, "complete -c jsampler -n '__jsampler_is %s'", d->name);
	if (s->letter)
		fprintf(out, " -s %c", s->letter);
	fprintf(out, " -l %s", s->name);
	put_value(out, kind, words.data ? words.data : "");
	fputs(" -d ", out);
	put_quoted(out, s->help);
	fputc('\n', out);
	buf_done(&words);
}

static void put_arguments(FILE *out, const struct cmd_doc *d)
{
	enum completion_kind kind = completion_of_arguments(d);

	if (kind == COMPLETION_FREE)
		return;
	fprintf(out, "complete -c jsampler -n '__jsampler_is %s'", d->name);
	if (kind == COMPLETION_COMMAND) {
		fputs(" -a '", out);
		put_commands(out);
		fputs("'\n", out);
	} else {
		fputs(kind == COMPLETION_FILE ? " -F\n" : " -a '(__jsampler_pids)'\n", out);
	}
}

void completion_print_fish(FILE *out)
{
	fputs("# fish completion for jsampler. Made by `jsampler help --completion fish`.\n\n"
	      "function __jsampler_pids\n"
	      "\tjsampler list 2>/dev/null | awk 'NR > 1 { print $1 \"\\t\" $NF }'\n"
	      "end\n\n"
	      "function __jsampler_is\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tif test (count $words) -gt 1; and contains -- $words[2]",
	      out);
	put_commands(out);
	fputs("\n\t\ttest $words[2] = $argv[1]\n"
	      "\telse\n"
	      "\t\ttest $argv[1] = record\n"
	      "\tend\n"
	      "end\n\n"
	      "complete -c jsampler -f\n",
	      out);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++) {
		fprintf(out, "complete -c jsampler -n 'test (count (commandline -opc)) -eq 1' -a %s -d ", d->name);
		put_quoted(out, d->summary);
		fputc('\n', out);
	}
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++) {
		for (const struct option_spec *s = d->options; s->name; s++)
			if (s->help)
				put_option(out, d, s);
		put_arguments(out, d);
	}
}
