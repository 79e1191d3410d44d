#include "symbolizer/native/names/suffix.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool is_compiler_suffix(const char *s)
{
	static const char *const word[] = {"isra",  "part", "constprop", "cold",     "lto_priv", "llvm", "localalias",
					   "clone", "warm", "hot",       "resolver", "__uniq",   "cfi",  "cfi_jt"};
	size_t i, len = strcspn(s, ".");

	for (i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strlen(word[i]) == len && !strncmp(s, word[i], len))
			return true;
	return false;
}

void cut_suffix(char *name)
{
	char *dot = strchr(name, '.');

	for (; dot; dot = strchr(dot + 1, '.'))
		if (dot > name && is_compiler_suffix(dot + 1)) {
			*dot = 0;
			return;
		}
}
