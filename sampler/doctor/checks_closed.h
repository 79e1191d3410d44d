#ifndef JS_DOCTOR_CHECKS_CLOSED_H
#define JS_DOCTOR_CHECKS_CLOSED_H

#include <sys/types.h>

struct checks;

/* Tries in a child how far this host lets a process that parses be closed (sampler/closed/closed.h). */
void check_closed(struct checks *c);

/* What /proc says of a child that has told, by a check of this name, that it is closed. */
#define CHECK_CLOSED_CHILD "closed child"
void check_closed_child(struct checks *c, pid_t child);

#endif
