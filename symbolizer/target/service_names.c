#include "symbolizer/target/service_names.h"

#include <stdbool.h>
#include <string.h>

#include "symbolizer/target/proc.h"

static bool is_kept(const char *text, size_t len)
{
	static const char *const names[] = {
		"OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=", "POD_NAME=", "POD_NAMESPACE="};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (len >= strlen(names[i]) && memcmp(text, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* The last one may lack its NUL. */
size_t service_names_keep(char *text, size_t len)
{
	size_t kept = 0, n;

	for (size_t at = 0; at < len; at += n) {
		n = strnlen(text + at, len - at);
		n += at + n < len;
		if (!is_kept(text + at, n))
			continue;
		memmove(text + kept, text + at, n);
		kept += n;
	}
	explicit_bzero(text + kept, len - kept);
	return kept;
}

int service_names_read(struct proc *p, char **ret, size_t *ret_len)
{
	int r = proc_read(p, "environ", SERVICE_NAMES_ENVIRONMENT_MAX, ret, ret_len);

	if (r == 0)
		*ret_len = service_names_keep(*ret, *ret_len);
	return r;
}
