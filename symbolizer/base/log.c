#include "symbolizer/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/log_limit.h"
#include "symbolizer/base/text.h"

enum { PREFIX_MAX = 24 };

static _Atomic enum log_level level = LOG_LEVEL_NORMAL;
static _Atomic bool live_line, journal;

/* syslog(3) */
enum { PRIORITY_error = 3, PRIORITY_warn = 4, PRIORITY_info = 6, PRIORITY_debug = 7 };

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

/* JOURNAL_STREAM=DEVICE:INODE is of the stream that the service was started with. */
void log_for_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	char own[48];

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	atomic_store_explicit(&journal, strcmp(stream, own) == 0, memory_order_relaxed);
}

static void write_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say_left_out(enum log_limit_place place)
{
	uint64_t n = log_limit_left_out(place);

	if (n)
		write_line("%" PRIu64 " messages were left out: there were too many", n);
}

/* One write(2) for each line, so that lines of several threads do not mix. */
static void write_arguments(int priority, const char *fmt, va_list ap)
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
	len = 0;
	if (atomic_load_explicit(&journal, memory_order_relaxed))
		len = (size_t)snprintf(line, PREFIX_MAX, "<%d>", priority);
	memcpy(line + len, prefix, strlen(prefix));
	len += strlen(prefix);
	len += text_sanitise(line + len, sizeof(raw), raw, (size_t)n);
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0) {
		/* Nowhere left to complain. */
	}
	errno = saved;
}

static void write_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_arguments(PRIORITY_warn, fmt, ap);
	va_end(ap);
}

/* Before the first message after some that were left out, their number. Keeps errno, for %m. */
static bool may_write(void)
{
	int saved = errno;
	bool may;

	say_left_out(log_limit_place());
	may = log_limit_allows();
	errno = saved;
	return may;
}

void log_say_left_out(void)
{
	int saved = errno;

	say_left_out(LOG_LIMIT_OWN);
	say_left_out(LOG_LIMIT_SHARED);
	errno = saved;
}

#define LOGGER(name, least)                                                                                            \
	void log_##name(const char *fmt, ...)                                                                          \
	{                                                                                                              \
		va_list ap;                                                                                            \
		if (log_get_level() < (least) || !may_write())                                                         \
			return;                                                                                        \
		va_start(ap, fmt);                                                                                     \
		write_arguments(PRIORITY_##name, fmt, ap);                                                             \
		va_end(ap);                                                                                            \
	}
LOGGER(error, LOG_LEVEL_QUIET)
LOGGER(warn, LOG_LEVEL_NORMAL)
LOGGER(info, LOG_LEVEL_INFO)
LOGGER(debug, LOG_LEVEL_DEBUG)
