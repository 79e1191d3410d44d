#ifndef JS_SESSION_DESCRIPTORS_H
#define JS_SESSION_DESCRIPTORS_H

struct err;

/* Raises this program's own soft limit to the hard one, where that is permitted. */
void descriptors_raise(void);
/* Are there enough left for what is opened while sampling: the target's libraries, /proc? -EMFILE. */
int descriptors_check(struct err *err);

#endif
