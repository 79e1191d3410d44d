#ifndef JS_DOCTOR_CHECKS_CLOSED_H
#define JS_DOCTOR_CHECKS_CLOSED_H

#include <sys/types.h>

struct checks;

/* Tries in a child how far this host allows closing a process that parses (sampler/closed/closed.h); and one that stops threads. */
void check_closed(struct checks *c);
void check_closed_tracer(struct checks *c);

/* When a child reports, by a check of this name, that it is closed: what /proc says about it. */
#define CHECK_CLOSED_CHILD "closed child"
void check_closed_child(struct checks *c, pid_t child);

#endif
