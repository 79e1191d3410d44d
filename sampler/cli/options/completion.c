#include "sampler/cli/options/completion.h"

#include <errno.h>
#include <string.h>

#include "sampler/cli/options/cmd_docs.h"
#include "sampler/cli/options/options.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/buf.h"

/* "text|json" and "a, b" as words. */
static void add_words(struct buf *words, const char *list)
{
	for (size_t n; *list; list += n + strspn(list + n, "|, ")) {
		n = strcspn(list, "|, ");
		if (words->len)
			buf_add_z(words, " ");
		buf_add(words, list, n);
	}
}

static enum completion_kind complete_words(struct buf *words, const char *list)
{
	if (words)
		add_words(words, list);
	return COMPLETION_WORDS;
}

enum completion_kind completion_of_option(const struct option_spec *s, struct buf *words)
{
	char names[128];

	if (!s->arg)
		return COMPLETION_NONE;
	if (strchr(s->arg, '|'))
		return complete_words(words, s->arg);
	if (strcmp(s->arg, "FORMAT") == 0) {
		writer_names(names, sizeof(names));
		return complete_words(words, names);
	}
	if (strcmp(s->arg, "FILE") == 0)
		return COMPLETION_FILE;
	return strcmp(s->arg, "PID") == 0 ? COMPLETION_PID : COMPLETION_FREE;
}

/* Derived from the usage line. */
enum completion_kind completion_of_arguments(const struct cmd_doc *doc)
{
	const char *usage = doc->usage[0];

	if (strcmp(doc->name, "help") == 0)
		return COMPLETION_COMMAND;
	if (strcmp(doc->name, "record") == 0)
		return COMPLETION_PID;
	return strstr(usage, "FILE") || strstr(usage, "BEFORE") ? COMPLETION_FILE : COMPLETION_FREE;
}

int completion_print(const char *shell, FILE *out)
{
	static const struct {
		const char *shell;
		void (*print)(FILE *out);
	} shells[] = {
		{"bash", completion_print_bash},
		{"zsh", completion_print_zsh},
		{"fish", completion_print_fish},
	};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shell, shells[i].shell) != 0)
			continue;
		shells[i].print(out);
		return 0;
	}
	return -EINVAL;
}
