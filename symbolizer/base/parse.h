#ifndef JS_BASE_PARSE_H
#define JS_BASE_PARSE_H

#include <stdint.h>

/*
 * Parses an unsigned number that ends at or before `end`, in base 10 or 16 (either case, no "0x"), and moves *s past
 * its digits. -EINVAL: no digit, -ERANGE: more than 64 bits; *ret is then untouched.
 */
int parse_digits(const char **s, const char *end, unsigned base, uint64_t *ret);

/*
 * Numbers typed by a user. -EINVAL: the string is not a single number; -ERANGE: out of range. *ret is untouched on
 * failure.
 */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/* Examples: "30", "30s", "5m", "1h", "10ms", "500us", "2.5s", ".5". A bare number is seconds. -ERANGE for 0. */
int parse_duration(const char *s, uint64_t *ret_ns);

/* The same, and whole days, which may be 0: "3d". max_days: at most UINT64_MAX ns. */
int parse_span(const char *s, uint64_t max_days, uint64_t *ret_ns);

/* Examples: "512M", "64k", "1G", "4096". Units are powers of 1024. -ERANGE for 0. */
int parse_size(const char *s, uint64_t *ret_bytes);

#endif
