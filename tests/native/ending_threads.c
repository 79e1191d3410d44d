/* ending_threads SECONDS: threads that start and end all the time, as fast as they can. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { AT_ONCE = 4, STACK_BYTES = 64 << 10 };

static void *end(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	pthread_t threads[AT_ONCE];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (time(NULL) < until) {
		for (int i = 0; i < AT_ONCE; i++)
			if (pthread_create(&threads[i], &attr, end, NULL))
				return 1;
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
