#include "symbolizer/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/text.h"

enum { PREFIX_MAX = 16 };

static _Atomic enum log_level level = LOG_LEVEL_NORMAL;
static _Atomic bool live_line;

void log_set_level(enum log_level l)
{
	atomic_store_explicit(&level, l, memory_order_relaxed);
}

enum log_level log_get_level(void)
{
	return atomic_load_explicit(&level, memory_order_relaxed);
}

void log_set_live_line(bool shown)
{
	atomic_store_explicit(&live_line, shown, memory_order_relaxed);
}

/* One write(2) for each line, so that lines of several threads do not mix. */
static void write_line(const char *fmt, va_list ap)
{
	const char *prefix =
		atomic_load_explicit(&live_line, memory_order_relaxed) ? "\r\033[Kjsampler: " : "jsampler: ";
	char raw[1000], line[PREFIX_MAX + sizeof(raw) + 1];
	int saved = errno, n;
	size_t len;

	n = vsnprintf(raw, sizeof(raw), fmt, ap);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(raw)) {
		memcpy(raw + sizeof(raw) - 4, "...", 4);
		n = sizeof(raw) - 1;
	}
	if (n > 0 && raw[n - 1] == '\n')
		n--;
	len = strlen(prefix);
	memcpy(line, prefix, len);
	len += text_sanitise(line + len, sizeof(raw), raw, (size_t)n);
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0) {
		/* Nowhere left to complain. */
	}
	errno = saved;
}

#define LOGGER(name, least)                                                                                            \
	void log_##name(const char *fmt, ...)                                                                          \
	{                                                                                                              \
		va_list ap;                                                                                            \
		if (log_get_level() < (least))                                                                         \
			return;                                                                                        \
		va_start(ap, fmt);                                                                                     \
		write_line(fmt, ap);                                                                                   \
		va_end(ap);                                                                                            \
	}
LOGGER(error, LOG_LEVEL_QUIET)
LOGGER(warn, LOG_LEVEL_NORMAL)
LOGGER(info, LOG_LEVEL_INFO)
LOGGER(debug, LOG_LEVEL_DEBUG)
