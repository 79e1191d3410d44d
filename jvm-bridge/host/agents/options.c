#include "jvm-bridge/host/agents/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int value_set(char **slot, char *value, const char *name, char *why, size_t size)
{
	if (!*value) {
		snprintf(why, size, "%s= has no value", name);
		return -EINVAL;
	}
	if (*slot) {
		snprintf(why, size, "%s= is given more than once", name);
		return -EINVAL;
	}
	*slot = value;
	return 0;
}

static int agent_set(struct options *o, char *value, char *why, size_t size)
{
	char *colon = strchr(value, ':');

	if (colon) {
		*colon = 0;
		o->agent_options = colon + 1;
	}
	return value_set(&o->agent, value, "agent", why, size);
}

/* jcmd takes what follows an argument's first '=' as the value of an option of its own; hence also "key:value". */
static char *value_of(char *item, const char *key)
{
	size_t n = strlen(key);

	return !strncmp(item, key, n) && (item[n] == '=' || item[n] == ':') ? item + n + 1 : NULL;
}

enum { DUMP_MAX_MB = 1 << 20 };

/* Not strtoul(): its symbol differs between glibc versions. */
static bool megabytes(const char *value, unsigned *ret)
{
	*ret = 0;
	do {
		if (*value < '0' || *value > '9' || *ret > DUMP_MAX_MB)
			return false;
		*ret = *ret * 10 + (unsigned)(*value - '0');
	} while (*++value);
	return *ret && *ret <= DUMP_MAX_MB;
}

static int item_parse(struct options *o, char *item, char *why, size_t size)
{
	char *stream = value_of(item, "stream"), *has_run = value_of(item, "has_run"),
	     *stacks = value_of(item, "stacks");
	char *events = value_of(item, "events"), *dump_limit = value_of(item, "dump_limit"),
	     *calls = value_of(item, "calls");

	if (!strcmp(item, "early"))
		o->early = true;
	else if (!strcmp(item, "quiet"))
		o->quiet = true;
	else if (!strcmp(item, "slashes"))
		o->slashes = true;
	else if (has_run && !strcmp(has_run, "registers"))
		o->registers = true;
	else if (has_run && !strcmp(has_run, "clock"))
		o->registers = false;
	else if (stacks && !strcmp(stacks, "signal"))
		o->signal = true;
	else if (stacks && !strcmp(stacks, "safepoint"))
		o->signal = false;
	else if (calls && !strcmp(calls, "events"))
		o->calls = CALLS_EVENTS;
	else if (calls && !strcmp(calls, "inserted"))
		o->calls = CALLS_INSERTED;
	else if (stream)
		return value_set(&o->stream, stream, "stream", why, size);
	else if (dump_limit && megabytes(dump_limit, &o->dump_limit))
		return 0;
	else if (events)
		return value_set(&o->events, events, "events", why, size);
	else {
		snprintf(why, size,
			 "unknown option '%.200s' (early, quiet, slashes, has_run=clock|registers, "
			 "stacks=safepoint|signal, "
			 "calls=events|inserted, events=NAME, dump_limit=MB, stream=PATH, agent=NAME)",
			 item);
		return -EINVAL;
	}
	return 0;
}

int options_parse(const char *text, struct options *ret, char *why, size_t size)
{
	char *at, *comma;
	int r = 0;

	*ret = (struct options){0};
	if (!text || !*text)
		return 0;
	ret->text = strdup(text);
	if (!ret->text) {
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	for (at = ret->text; at && !r; at = comma) {
		char *agent = value_of(at, "agent");

		if (agent) {
			r = agent_set(ret, agent, why, size);
			break;
		}
		comma = strchr(at, ',');
		if (comma)
			*comma++ = 0;
		r = item_parse(ret, at, why, size);
	}
	if (r)
		options_done(ret);
	return r;
}

void options_done(struct options *o)
{
	free(o->text);
	*o = (struct options){0};
}
