#include "sampler/doctor/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/text.h"
#include "symbolizer/base/vec.h"

const char *check_level_name(enum check_level level)
{
	static const char *const names[CHECK_LEVELS] = {"ok", "skip", "warn", "fail"};

	return names[level];
}

static void set_text(char *dst, size_t size, const char *fmt, va_list ap)
{
	vsnprintf(dst, size, fmt, ap);
	text_sanitise(dst, size, dst, strlen(dst));
}

void checks_add(struct checks *c, enum check_level level, const char *name, const char *fmt, ...)
{
	struct check check = {.level = level};
	va_list ap;

	snprintf(check.name, sizeof(check.name), "%s", name);
	va_start(ap, fmt);
	set_text(check.text, sizeof(check.text), fmt, ap);
	va_end(ap);
	/* Without memory, a check is missing, but what is shown is still true. */
	(void)!vec_push(c, check);
}

void checks_remedy(struct checks *c, const char *fmt, ...)
{
	struct check *last = c->n ? &c->v[c->n - 1] : NULL;
	va_list ap;

	if (!last)
		return;
	va_start(ap, fmt);
	set_text(last->remedy, sizeof(last->remedy), fmt, ap);
	va_end(ap);
}

size_t checks_count(const struct checks *c, enum check_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].level == level;
	return n;
}

void checks_done(struct checks *c)
{
	free(c->v);
	*c = (struct checks){0};
}
