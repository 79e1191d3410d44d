/* Two seconds of one function, for a libc that is not glibc. */
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) void spin_here(void)
{
	for (clock_t end = clock() + 2 * CLOCKS_PER_SEC; clock() < end;)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
}

int main(void)
{
	spin_here();
	return 0;
}
