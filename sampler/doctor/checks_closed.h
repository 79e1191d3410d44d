#ifndef JS_DOCTOR_CHECKS_CLOSED_H
#define JS_DOCTOR_CHECKS_CLOSED_H

struct checks;

/* Tries in a child how far this host lets a process that parses saved files be closed (sampler/closed/closed.h). */
void check_closed(struct checks *c);

#endif
