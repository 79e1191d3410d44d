#ifndef JS_HPROF_COMMANDS_H
#define JS_HPROF_COMMANDS_H

/*
 * net=host:port: what the other end asks for, by a thread of its own. Each command: u1 type, u4 serial number, u4 length of
 * the rest, big-endian. To be called at JVM_INIT_DONE. 0, or -EAGAIN: there can be no such thread.
 */
int commands_start(void);

#endif
