#include "sampler/cli/options/cmd_docs.h"
#include "sampler/cli/options/completion.h"
#include "sampler/cli/options/options.h"
#include "symbolizer/base/buf.h"

/* Finds the command in a line; $1: the word to complete. bash splits words at "=". */
static const char head[] = "# bash completion for jsampler. Made by `jsampler help --completion bash`.\n"
			   "\n"
			   "_jsampler_offer() {\n"
			   "\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
			   "}\n"
			   "\n"
			   "_jsampler_files() {\n"
			   "\tcompopt -o filenames 2>/dev/null\n"
			   "\t_jsampler_offer -f\n"
			   "}\n"
			   "\n"
			   "_jsampler_pids() {\n"
			   "\t_jsampler_offer -W \"$(jsampler list 2>/dev/null | awk 'NR > 1 { print $1 }')\"\n"
			   "}\n"
			   "\n"
			   "_jsampler() {\n"
			   "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=record i\n"
			   "\tCOMPREPLY=()\n"
			   "\tif [[ $cur == '=' ]]; then\n"
			   "\t\tcur=\n"
			   "\telif [[ $prev == '=' ]] && ((COMP_CWORD > 1)); then\n"
			   "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
			   "\tfi\n";

static void put_commands(FILE *out)
{
	const char *sep = "";

	for (const struct cmd_doc *d = cmd_docs(); d->name; d++, sep = " ")
		fprintf(out, "%s%s", sep, d->name);
}

/* After "--", record takes a command and its arguments. */
static void put_command_choice(FILE *out)
{
	fputs("\tcase ${COMP_WORDS[1]} in\n\t", out);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		fprintf(out, "%s%s", d == cmd_docs() ? "" : " | ", d->name);
	fputs(") ((COMP_CWORD == 1)) || command=${COMP_WORDS[1]} ;;\n\tesac\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\t[[ $command == record && ${COMP_WORDS[i]} == -- ]] || continue\n"
	      "\t\tif ((i == COMP_CWORD - 1)); then _jsampler_offer -c; else _jsampler_files; fi\n"
	      "\t\treturn\n"
	      "\tdone\n",
	      out);
}

static void put_action(FILE *out, enum completion_kind kind, const char *words)
{
	static const char *const actions[] = {
		[COMPLETION_NONE] = "",
		[COMPLETION_FREE] = "",
		[COMPLETION_FILE] = "_jsampler_files",
		[COMPLETION_PID] = "_jsampler_pids",
	};

	if (kind == COMPLETION_WORDS)
		fprintf(out, "_jsampler_offer -W '%s'", words);
	else if (kind == COMPLETION_COMMAND) {
		fputs("_jsampler_offer -W '", out);
		put_commands(out);
		fputs("'", out);
	} else if (*actions[kind]) {
		fputs(actions[kind], out);
	}
}

/* If the previous word is an option with an argument, it decides. */
static void put_value(FILE *out, const struct cmd_doc *d, const struct option_spec *s)
{
	struct buf words = {0};
	enum completion_kind kind = completion_of_option(s, &words);

	if (kind != COMPLETION_NONE) {
		if (s->letter)
			fprintf(out, "\t'%s -%c' | ", d->name, s->letter);
		else
			fputc('\t', out);
		fprintf(out, "'%s --%s')\n\t\t", d->name, s->name);
		put_action(out, kind, words.data ? words.data : "");
		fputs(kind == COMPLETION_FREE ? "return\n\t\t;;\n" : "\n\t\treturn\n\t\t;;\n", out);
	}
	buf_done(&words);
}

static void put_options(FILE *out, const struct cmd_doc *d)
{
	fprintf(out, "\t'%s -'*) _jsampler_offer -W '", d->name);
	for (const struct option_spec *s = d->options; s->name; s++) {
		if (!s->help)
			continue;
		if (s->letter)
			fprintf(out, "-%c ", s->letter);
		fprintf(out, "--%s ", s->name);
	}
	fputs("' ;;\n", out);
}

static void put_arguments(FILE *out, const struct cmd_doc *d)
{
	enum completion_kind kind = completion_of_arguments(d);

	if (kind == COMPLETION_FREE)
		return;
	fprintf(out, "\t'%s '*) ", d->name);
	put_action(out, kind, "");
	fputs(" ;;\n", out);
}

void completion_print_bash(FILE *out)
{
	fputs(head, out);
	put_command_choice(out);
	fputs("\tcase \"$command $prev\" in\n", out);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		for (const struct option_spec *s = d->options; s->name; s++)
			put_value(out, d, s);
	fputs("\tesac\n\tif ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then\n\t\t_jsampler_offer -W '", out);
	put_commands(out);
	fputs("'\n\t\treturn\n\tfi\n\tcase \"$command $cur\" in\n", out);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		put_options(out, d);
	for (const struct cmd_doc *d = cmd_docs(); d->name; d++)
		put_arguments(out, d);
	fputs("\tesac\n}\n\ncomplete -F _jsampler jsampler\n", out);
}
