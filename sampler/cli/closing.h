#ifndef JS_CLI_CLOSING_H
#define JS_CLI_CLOSING_H

struct err;
struct opener;

/*
 * For commands that only read and write saved files: starts the opener, which knows all inputs and outputs, and
 * closes this process (sampler/closed/closed.h). Call before the first byte of input is parsed. 0 or -errno.
 */
int close_with(struct opener *o, struct err *err);

#endif
