#include "sampler/engine/engine_thread.h"

#include <signal.h>

int engine_thread_start(pthread_t *ret, const char *name, size_t stack_bytes, void *(*body)(void *),
			void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, &attr, body, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (r == 0)
		pthread_setname_np(*ret, name);
	return -r;
}
