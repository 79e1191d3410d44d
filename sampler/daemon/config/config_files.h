#ifndef JS_CONFIG_CONFIG_FILES_H
#define JS_CONFIG_CONFIG_FILES_H

#include <stddef.h>

/*
 * Reads the file and those that end in .conf in conf.d beside it, in the order of their names. Only regular files of root, or of
 * whoever runs this, that not everybody may write: what is in them decides where the daemon writes as root.
 */
void config_files_read(const char *path, void (*text)(void *ctx, const char *file, const char *text, size_t len),
		       void (*problem)(void *ctx, const char *problem), void *ctx);

#endif
