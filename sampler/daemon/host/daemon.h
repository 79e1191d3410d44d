#ifndef JS_HOST_DAEMON_H
#define JS_HOST_DAEMON_H

struct err;

/*
 * The daemon's first process: reads the configuration, finds JVMs, and starts the others: a keeper (keeper.h), and for
 * each JVM a worker (watch.h) with its broker. It parses nothing that a target or a worker wrote, and restarts
 * processes that have ended.
 */
struct daemon_options {
	const char *config; /* path; NULL: /etc/jsampler/jsampler.conf, or the defaults if there is none */
};

/* Runs until SIGTERM or SIGINT. To be called while there is only one thread. 0, or -errno: it could not start. */
int daemon_run(const struct daemon_options *o, struct err *err);

/* Only reads the configuration, and prints every problem. -EINVAL: there are some. */
int daemon_check(const struct daemon_options *o);

#endif
