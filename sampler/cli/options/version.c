#include <stdio.h>

#include "sampler/cli/options/commit.h" /* made by scripts/commit.cmake, at each build */
#include "sampler/cli/options/version.h"

void version_print(void)
{
	printf("jsampler %s\n"
	       "commit: %s\n"
	       "build: %s\n"
	       "libraries: %s\n",
	       JS_VERSION, JS_COMMIT, JS_BUILD, JS_LIBRARIES);
}
