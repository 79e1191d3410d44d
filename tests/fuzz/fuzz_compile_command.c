/* -XX:CompileCommand, as it is in the target's memory, and a method's names: three lines, then the commands. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/hotspot/methods/compile_state.h"
#include "symbolizer/hotspot/methods/method.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of its own, so that a read behind its end is seen. */
static char *next_line(char **rest)
{
	char *line = *rest ? strsep(rest, "\n") : NULL;

	return strdup(line ? line : "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text;
	char *class_name, *name, *signature, *commands;
	const char *found;
	size_t len = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	class_name = next_line(&rest);
	name = next_line(&rest);
	signature = next_line(&rest);
	commands = strdup(rest ? rest : "");
	found = compile_command_exclude(
		commands, &(struct hs_method){.class_name = class_name, .name = name, .signature = signature}, &len);
	if (found && (found < commands || len > strlen(found) || memchr(found, '\n', len)))
		abort();
	free(class_name);
	free(name);
	free(signature);
	free(commands);
	free(text);
	return 0;
}
