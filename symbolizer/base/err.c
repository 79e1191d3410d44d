#include "symbolizer/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	e->code = code;
	return code;
}

int err_wrap(struct err *e, int code, const char *fmt, ...)
{
	char context[sizeof(e->msg)], old[sizeof(e->msg)];
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	memcpy(old, e->msg, sizeof(old));
	old[sizeof(old) - 1] = '\0';
	/* Truncates: the end of a chain of contexts matters least. */
	if (snprintf(e->msg, sizeof(e->msg), "%s: %s", context, old) < 0)
		e->msg[0] = '\0';
	e->code = code;
	return code;
}
