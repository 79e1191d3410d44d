#ifndef JS_CLI_DOCTOR_DAEMON_H
#define JS_CLI_DOCTOR_DAEMON_H

struct checks;

/* Is there a daemon, does it answer, how large is its history, and has it gaps? socket NULL: the usual one. */
void doctor_daemon(struct checks *c, const char *socket);

#endif
