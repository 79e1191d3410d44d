#ifndef JS_BASE_SMALL_THREAD_H
#define JS_BASE_SMALL_THREAD_H

/* Starts a thread that waits for something, with a stack of 256 KiB, and that nobody waits for. 0 or -errno. */
int small_thread_start(void *(*body)(void *), void *arg);

#endif
