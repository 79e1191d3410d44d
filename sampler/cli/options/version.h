#ifndef JS_CLI_OPTIONS_VERSION_H
#define JS_CLI_OPTIONS_VERSION_H

/* `jsampler --version`: the number, the commit, and how it was built. */
void version_print(void);

#endif
