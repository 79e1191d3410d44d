#ifndef JS_BRIDGE_OPTIONS_H
#define JS_BRIDGE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Options of the library:
 *     [early,][quiet,][slashes,][has_run=clock|registers,][stacks=safepoint|signal,][calls=events|inserted,][events=NAME[+NAME...],]
 *     [dump_limit=MB,]
 *     [stream=PATH,][agent=NAME_OR_PATH[:OPTIONS]]
 * agent= takes the rest of the text, because its options may contain commas. A colon may replace any of these '='.
 */
struct options {
	bool early, quiet, slashes;
	bool registers; /* has_run=registers */
	bool signal; /* stacks=signal */
	enum { CALLS_NOT_GIVEN, CALLS_EVENTS, CALLS_INSERTED } calls;
	unsigned dump_limit; /* MB; 0: not given */
	char *events; /* events that will be enabled; NULL: not given */
	char *stream; /* NULL: none */
	char *agent; /* NULL: none */
	char *agent_options; /* NULL: none given */
	char *text; /* backing store of the others */
};

/* -EINVAL, with the reason in `why`; -ENOMEM. `text` may be NULL. */
int options_parse(const char *text, struct options *ret, char *why, size_t size);
void options_done(struct options *o);

#endif
