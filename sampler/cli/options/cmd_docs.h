#ifndef JS_CLI_OPTIONS_CMD_DOCS_H
#define JS_CLI_OPTIONS_CMD_DOCS_H

struct option_spec;

/* The documentation of a command for help and its manual page; the options come from the command's table. */
struct cmd_doc {
	const char *name, *summary;
	const char *const *usage; /* lines that follow "jsampler", NULL-terminated */
	const char *about; /* sentences */
	const struct option_spec *options;
	const char *const *statuses; /* "0", "what it means", ..., NULL */
};

const struct cmd_doc *cmd_docs(void); /* ends with a NULL name */
const struct cmd_doc *cmd_doc_find(const char *name); /* NULL: not found */

void help_print_man(const struct cmd_doc *doc); /* NULL: page of jsampler itself */

#endif
