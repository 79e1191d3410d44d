#ifndef JS_KEEPER_INTAKE_H
#define JS_KEEPER_INTAKE_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct captures;
struct ring;
struct store;

/*
 * Takes the workers' messages into the store and the ring. A worker may have been taken over; what it sends can do no
 * more harm than waste space.
 */
struct intake;

enum { INTAKE_FEEDS = 1024 };

struct intake *intake_new(struct store *s, struct captures *c,
			  struct ring *r); /* NULL: out of memory; all are borrowed */
void intake_free(struct intake *in);

/*
 * Takes over this socket, and reads from it from now on. capture: what comes belongs to this capture instead of to the
 * history; 0: none. 0; -ENOMEM; -EMFILE: there are too many. On failure, the socket is closed.
 */
int intake_feed(struct intake *in, int socket, uint64_t capture);

/* The feeds, to be polled for input, at most INTAKE_FEEDS. Returns how many there are. */
size_t intake_poll(const struct intake *in, struct pollfd *ret);

/*
 * Reads and stores what has come from feed i of the last intake_poll(), for a limited time. A feed that breaks a rule
 * is closed.
 */
void intake_read(struct intake *in, size_t i);

/*
 * Records for how long nothing was stored into this history, because the daemon was stopped, upgraded, or ended
 * unexpectedly.
 */
void intake_note_absence(struct intake *in);

/* Makes what was stored durable; to be called once for each step of the store. */
void intake_flush(struct intake *in);
void intake_end(struct intake *in); /* the same at the end, when the daemon is stopped on purpose */
/* Maintains the store (store_tend()); to be called about once a minute. */
void intake_tend(struct intake *in);

#endif
