#ifndef JS_RIGHTS_DESCRIPTORS_H
#define JS_RIGHTS_DESCRIPTORS_H

struct err;

/* Raises this program's soft limit to the hard one, if that is permitted. */
void descriptors_raise(void);
/*
 * Checks that enough descriptors are left for what is opened while sampling: libraries of the target, /proc. 0 or
 * -EMFILE.
 */
int descriptors_check(struct err *err);

#endif
