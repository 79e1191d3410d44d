#ifndef JS_BASE_JSON_H
#define JS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes JSON to a stream, commas included. The caller opens and closes in pairs, and in an object writes a key
 * before each value. Errors of the stream stay with it (ferror()). Zero-initialise, set `out`, and `indent` if people
 * may read the output: each element has a line of its own then.
 */
struct json {
	FILE *out;
	unsigned indent; /* blanks for each level; 0: lines only where json_line() asks for them */
	unsigned depth;
	bool comma; /* the next element is neither the first nor preceded by a key */
	bool key; /* a key precedes the next element */
	bool line; /* the next element begins a line */
};

/* '{' or '['; '"' for a text that the caller writes to the stream. */
void json_open(struct json *j, char bracket);
void json_close(struct json *j, char bracket);

/* Without indent: the next element or closing bracket begins a line. */
void json_line(struct json *j);

void json_key(struct json *j, const char *key); /* nothing in it is escaped */
void json_uint(struct json *j, uint64_t value);
void json_int(struct json *j, int64_t value);
void json_bool(struct json *j, bool value);
void json_raw(struct json *j, const char *s); /* written as it is: a number, or null */

/* Text, which may come from a target: made fit to show (text.h), and `<`, `>` and `&` are escaped, so that within
 * <script> neither `</script>` nor `<!--` can appear. NULL is "". */
void json_text(struct json *j, const char *s);

/* A key and its value. */
void json_member_bool(struct json *j, const char *key, bool value);
void json_member_uint(struct json *j, const char *key, uint64_t value);
void json_member_text(struct json *j, const char *key, const char *s);

#endif
