#ifndef JS_TARGET_KERNEL_SETTING_H
#define JS_TARGET_KERNEL_SETTING_H

#include <stdint.h>

/*
 * A number in /proc/sys/kernel, read by the deputy if there is one. Returns `fallback` if it does not exist or cannot
 * be read.
 */
int64_t kernel_setting(const char *name, int64_t fallback);

#endif
