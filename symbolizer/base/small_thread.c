#include "symbolizer/base/small_thread.h"

#include <pthread.h>

enum { STACK_BYTES = 256 << 10 };

int small_thread_start(void *(*body)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, body, arg);
	pthread_attr_destroy(&attr);
	return -r;
}
