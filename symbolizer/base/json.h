#ifndef JS_BASE_JSON_H
#define JS_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes JSON to a stream, including commas. The caller pairs json_open() and json_close(), and in an object writes a
 * key before each value. Write errors stay in the stream (ferror()). Zero-initialise, set `out`, and for output that
 * people read also `indent`: each element then has a line of its own.
 */
struct json {
	FILE *out;
	unsigned indent; /* spaces per level; 0: line breaks only where json_line() asks for them */
	unsigned depth;
	bool comma; /* the next element is neither the first nor preceded by a key */
	bool key; /* a key precedes the next element */
	bool line; /* the next element begins a line */
};

/* '{' or '['; '"' for text that the caller writes to the stream itself. */
void json_open(struct json *j, char bracket);
void json_close(struct json *j, char bracket);

/* Without indent: makes the next element or closing bracket begin a line. */
void json_line(struct json *j);

void json_key(struct json *j, const char *key); /* must need no escaping */
void json_uint(struct json *j, uint64_t value);
void json_int(struct json *j, int64_t value);
void json_bool(struct json *j, bool value);
void json_raw(struct json *j, const char *s); /* a number, or null; written unchanged */

/*
 * Text, which may come from a target: sanitised (text.h), with `<`, `>` and `&` escaped, so that within <script>
 * neither `</script>` nor `<!--` can appear. NULL is "".
 */
void json_text(struct json *j, const char *s);

/* A key and its value. */
void json_member_open(struct json *j, const char *key, char bracket);
void json_member_bool(struct json *j, const char *key, bool value);
void json_member_uint(struct json *j, const char *key, uint64_t value);
void json_member_text(struct json *j, const char *key, const char *s);

#endif
