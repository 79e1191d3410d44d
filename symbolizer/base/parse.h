#ifndef JS_BASE_PARSE_H
#define JS_BASE_PARSE_H

#include <stdint.h>

/*
 * The unsigned number in front of `end`, in base 10 or 16 (either case, no "0x"); *s moves past its digits. -EINVAL: no
 * digit, -ERANGE: more than 64 bits; *ret is untouched then.
 */
int parse_digits(const char **s, const char *end, unsigned base, uint64_t *ret);

/*
 * Numbers typed by a user. -EINVAL: the whole string is not one number; -ERANGE: it is out of range. *ret is untouched
 * on failure.
 */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/* "30", "30s", "5m", "1h", "10ms", "500us", "2.5s", ".5" -> nanoseconds; a bare number is seconds. > 0. */
int parse_duration(const char *s, uint64_t *ret_ns);

/* "512M", "64k", "1G", "4096" -> bytes, factors of 1024. > 0. */
int parse_size(const char *s, uint64_t *ret_bytes);

#endif
