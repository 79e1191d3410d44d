#ifndef JS_HPROF_COMMANDS_H
#define JS_HPROF_COMMANDS_H

/*
 * net=host:port: a thread that executes commands from the other end. A command is u1 type, u4 serial number, u4
 * length of the rest, big-endian. Call at JVM_INIT_DONE. 0, or -EAGAIN: the thread cannot be created.
 */
int commands_start(void);

#endif
