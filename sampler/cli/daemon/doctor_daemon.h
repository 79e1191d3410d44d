#ifndef JS_CLI_DOCTOR_DAEMON_H
#define JS_CLI_DOCTOR_DAEMON_H

struct checks;

/*
 * Checks whether there is a daemon, whether it answers, how large its history is, and whether it has gaps. socket NULL:
 * the default one.
 */
void doctor_daemon(struct checks *c, const char *socket);

#endif
