#include "jvm-bridge/hprof/base/hprof.h"

#include <stdarg.h>
#include <stdio.h>

struct hprof hprof = {.file = 1};

void hprof_error(const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (int i = 0; i < n && i < (int)sizeof(line) - 1; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = '?';
	fprintf(stderr, "HPROF ERROR: %s\n", line);
}
