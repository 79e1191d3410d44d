#include <string.h>

#include "sampler/cli/options/cmd_docs.h"
#include "sampler/cli/options/completion.h"
#include "sampler/cli/options/options.h"
#include "symbolizer/base/buf.h"

/* For single quotes; characters special to _arguments or _describe get a backslash. */
static void put_escaped(FILE *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		else if (strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void put_action(FILE *out, enum completion_kind kind, const char *words)
{
	switch (kind) {
	case COMPLETION_WORDS: fprintf(out, "(%s)", words); break;
	case COMPLETION_FILE: fputs("_files", out); break;
	case COMPLETION_PID: fputs("_jsampler_pids", out); break;
	case COMPLETION_COMMAND: fputs("_jsampler_commands", out); break;
	default: fputc(' ', out); break;
	}
}

/* '*{-o+,--output=}[help]:FILE:_files': "+" and "=" mean that the argument may be in the same word. */
static void put_option(FILE *out, const struct option_spec *s)
{
	struct buf words = {0};
	enum completion_kind kind = completion_of_option(s, &words);
	const char *plus = kind == COMPLETION_NONE ? "" : "+", *equals = kind == COMPLETION_NONE ? "" : "=";

	fputs(" \\\n\t\t\t'*'", out);
	if (s->letter)
		fprintf(out, "{-%c%s,--%s%s}", s->letter, plus, s->name, equals);
	else
		fprintf(out, "--%s%s", s->name, equals);
	fputs("'[", out);
	put_escaped(out, s->help, "[]:\\");
	fputc(']', out);
	if (kind != COMPLETION_NONE) {
		fputc(':', out);
		put_escaped(out, s->arg, ":\\");
		fputc(':', out);
		put_action(out, kind, words.data ? words.data : "");
	}
	fputc('\'', out);
	buf_done(&words);
}

static void put_command(FILE *out, const struct cmd_doc *d)
{
	enum completion_kind kind = completion_of_arguments(d);

	fprintf(out, "\t%s)\n\t\t_arguments -s", d->name);
	for (const struct option_spec *s = d->options; s->name; s++)
		if (s->help)
			put_option(out, s);
	if (strcmp(d->name, "record") == 0)
		fputs(" \\\n\t\t\t'(-)*:: :_normal' \\\n\t\t\t'1: :_jsampler_pids'", out);
	else if (kind != COMPLETION_FREE) {
		fputs(" \\\n\t\t\t'*: :", out);
		put_action(out, kind, "");
		fputc('\'', out);
	}
	fputs("\n\t\t;;\n", out);
}

void completion_print_zsh(FILE *out)
{
	fputs("#compdef jsampler\n"
	      "# Made by `jsampler help --completion zsh`.\n\n"
	      "_jsampler_pids() {\n"
	      "\tlocal -a pids\n"
	      "\tpids=(${(f)\"$(jsampler list 2>/dev/null | awk 'NR > 1 { print $1 \":\" $NF }')\"})\n"
	      "\t_describe -t processes 'running JVM' pids\n"
	      "}\n\n"
	      "_jsampler_commands() {\n\tlocal -a commands\n\tcommands=(\n",
	      out);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++) {
		fprintf(out, "\t\t'%s:", d->name);
		put_escaped(out, d->summary, ":\\");
		fputs("'\n", out);
	}
	fputs("\t)\n\t_describe -t commands command commands\n}\n\n"
	      "_jsampler() {\n"
	      "\tlocal command=record\n"
	      "\tif ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
	      "\t\t_jsampler_commands\n\t\treturn\n\tfi\n"
	      "\tcase $words[2] in\n\t",
	      out);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		fprintf(out, "%s%s", d == cmd_docs() ? "" : "|", d->name);
	fputs(")\n\t\tcommand=$words[2]\n\t\tshift words\n\t\t((CURRENT--))\n\t\t;;\n\tesac\n"
	      "\tcase $command in\n",
	      out);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		put_command(out, d);
	fputs("\tesac\n}\n\n_jsampler \"$@\"\n", out);
}
