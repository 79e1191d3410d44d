#ifndef JS_CLI_WHEN_H
#define JS_CLI_WHEN_H

#include <stdint.h>

/*
 * Parses a time as typed by a user: how long ago (30m, 2h, 3d: as parse_duration(), and days), a time of the last 24
 * hours (3:07, 03:07:30), or a date with or without a time (2026-11-24, "2026-11-24 03:07", 2026-11-24T03:07:30Z). It
 * is local time unless it ends with Z. now_ns and *ret: CLOCK_REALTIME. -EINVAL.
 */
int when_parse(const char *text, uint64_t now_ns, uint64_t *ret);

#endif
