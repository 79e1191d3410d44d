#ifndef JS_CONFIG_CONFIG_FILES_H
#define JS_CONFIG_CONFIG_FILES_H

#include <stddef.h>

/*
 * Reads the file, then those ending in .conf in conf.d next to it, sorted by name. Only regular files owned by root
 * or by the current user and not writable by everybody are read, because they decide where the daemon writes as root.
 */
void config_files_read(const char *path, void (*text)(void *ctx, const char *file, const char *text, size_t len),
		       void (*problem)(void *ctx, const char *problem), void *ctx);

#endif
