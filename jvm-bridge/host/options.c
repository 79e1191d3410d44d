#include "jvm-bridge/host/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int value_set(char **slot, char *value, const char *name, char *why, size_t size)
{
	if (!*value) {
		snprintf(why, size, "%s= is empty", name);
		return -EINVAL;
	}
	if (*slot) {
		snprintf(why, size, "%s= is given twice", name);
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

static int item_parse(struct options *o, char *item, char *why, size_t size)
{
	if (!strcmp(item, "early"))
		o->early = true;
	else if (!strcmp(item, "quiet"))
		o->quiet = true;
	else if (!strcmp(item, "slashes"))
		o->slashes = true;
	else if (!strcmp(item, "has_run=registers"))
		o->registers = true;
	else if (!strcmp(item, "has_run=clock"))
		o->registers = false;
	else if (!strncmp(item, "stream=", 7))
		return value_set(&o->stream, item + 7, "stream", why, size);
	else {
		snprintf(why, size, "'%.200s' is no option (early, quiet, slashes, has_run=clock|registers, stream=PATH, agent=NAME)", item);
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
		if (!strncmp(at, "agent=", 6)) {
			r = agent_set(ret, at + 6, why, size);
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
