/* Loads each file, as a JVM does: every symbol is there. Exit status 1: the last line says what is not. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW)) {
			puts(dlerror());
			return 1;
		}
	return 0;
}
