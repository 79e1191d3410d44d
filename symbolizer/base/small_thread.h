#ifndef JS_BASE_SMALL_THREAD_H
#define JS_BASE_SMALL_THREAD_H

/* Starts a detached thread with a stack of 256 KiB, for waiting. 0 or -errno. */
int small_thread_start(void *(*body)(void *), void *arg);

#endif
