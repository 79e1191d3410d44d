#ifndef JS_KEEPER_INTAKE_H
#define JS_KEEPER_INTAKE_H

#include <stdint.h>

struct err;
struct store;

/* From the worker's messages to the store. The worker may have been taken over: nothing it sends does more than waste room. */
struct intake;

struct intake *intake_new(struct store *s); /* NULL: out of memory; s is borrowed */
void intake_free(struct intake *in);

/* Reads from this socket from now on, and owns it; what is left of the last one is dropped. -1: none. 0 or -ENOMEM. */
int intake_feed(struct intake *in, int socket);
int intake_socket(const struct intake *in); /* to poll for input; -1: there is none, or it has ended */

/*
 * Reads and stores what has come, but not for long. 1: there may be more; 0: not now; -EPIPE: the other end has closed it; -EPROTO: it
 * breaks a rule, err says which, and it is closed.
 */
int intake_read(struct intake *in, struct err *err);

/* Makes what was stored durable; to be called once for each step of the store. */
void intake_flush(struct intake *in);
/* Adds up and forgets (store_tend()); to be called every minute or so. */
void intake_tend(struct intake *in);

#endif
