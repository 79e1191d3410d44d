#ifndef JS_BASE_ERR_H
#define JS_BASE_ERR_H

/*
 * Errors.
 *
 * The return value is for the program: 0, or a negative errno.
 * `struct err` is for the user: what failed, on what, and what to do about it.
 * Callers that do not need it pass NULL. It owns no memory; put it on the stack.
 */
struct err {
	int code;
	char msg[400];
};

/* Fills *e (may be NULL) and returns `code`, so that a caller can fail in one line. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Prepends context to the message: "PID 4711: <msg>". Returns code. */
int err_wrap(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
