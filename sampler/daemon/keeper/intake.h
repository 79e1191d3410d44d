#ifndef JS_KEEPER_INTAKE_H
#define JS_KEEPER_INTAKE_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct captures;
struct ring;
struct store;

/* From the workers' messages to the store and the ring. A worker may have been taken over: nothing it sends does more than waste room. */
struct intake;

enum { INTAKE_FEEDS = 512 };

struct intake *intake_new(struct store *s, struct captures *c,
			  struct ring *r); /* NULL: out of memory; all are borrowed */
void intake_free(struct intake *in);

/*
 * Reads from this socket, too, from now on, and owns it. capture: what it brings is a piece of this one, and not part of the history; 0:
 * none. 0; -ENOMEM; -EMFILE: there are too many. Closed on failure.
 */
int intake_feed(struct intake *in, int socket, uint64_t capture);

/* The feeds, to be polled for input, at most INTAKE_FEEDS. Returns how many there are. */
size_t intake_poll(const struct intake *in, struct pollfd *ret);

/* Reads and stores what has come from feed i of the last intake_poll(), but not for long. One that breaks a rule is closed. */
void intake_read(struct intake *in, size_t i);

/* Notes the time since another one has stored into the same history: a daemon was stopped, upgraded, or ended unexpectedly. */
void intake_note_absence(struct intake *in);

/* Makes what was stored durable; to be called once for each step of the store. */
void intake_flush(struct intake *in);
void intake_end(struct intake *in); /* likewise, when the daemon is stopped, which is not a fault */
/* Adds up and forgets (store_tend()); to be called every minute or so. */
void intake_tend(struct intake *in);

#endif
