#ifndef JS_BASE_JSON_H
#define JS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * JSON, written to a stream as it comes. Commas are put where they belong; the caller opens and closes in
 * pairs, and in an object writes a key before each value. Errors of the stream stick to it (ferror()).
 * Zero but for `out`.
 */
struct json {
	FILE *out;
	bool comma; /* the next element is not the first, and no key stands before it */
	bool line; /* it begins a line */
};

/* '{' or '['; '"' for a text that the caller writes to the stream. */
void json_open(struct json *j, char bracket);
void json_close(struct json *j, char bracket);

/* The next element, or closing bracket, begins a line. */
void json_line(struct json *j);

void json_key(struct json *j, const char *key); /* nothing in it is escaped */
void json_uint(struct json *j, uint64_t value);
void json_int(struct json *j, int64_t value);

/* Text, which may come from a target: made fit to show (text.h). NULL is "". */
void json_text(struct json *j, const char *s);

/* A key and its value. */
void json_member_uint(struct json *j, const char *key, uint64_t value);
void json_member_text(struct json *j, const char *key, const char *s);

/*
 * The text alone, quoted. Besides what JSON asks for, `<`, `>` and `&` are escaped: within <script> neither
 * `</script>` nor `<!--` can appear.
 */
void json_put_text(FILE *out, const char *s, size_t len);

#endif
