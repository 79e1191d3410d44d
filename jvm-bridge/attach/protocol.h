#ifndef JS_ATTACH_PROTOCOL_H
#define JS_ATTACH_PROTOCOL_H

#include <stddef.h>

struct buf;

/*
 * The bytes of HotSpot's attach protocol (hotspot.md 12; src/hotspot/share/services/attachListener.cpp).
 * Version 1 is understood by JDK 8 to 27, version 2 from 24 on. One command a connection.
 */
enum {
	ATTACH_ARGS_V1 = 3, /* always as many, empty or not */
	ATTACH_ARG_V1 = 1024, /* bytes of one; a longer one ends the connection without an answer */
	ATTACH_ARGS = 8,
	ATTACH_BYTES_V2 = 256 << 10, /* of a whole request */
};

/* A command with its arguments. -E2BIG: does not fit that version. */
int attach_request_v1(struct buf *b, const char *command, const char *const *args, size_t n);
int attach_request_v2(struct buf *b, const char *command, const char *const *args, size_t n);

/* The number on an answer's first line; *ret_text: behind it. -EPIPE: the JVM closed without an
 * answer; -EPROTO: that is none. `answer` is NUL-terminated. */
int attach_answer_code(const char *answer, int *ret, const char **ret_text);

/* The highest version that an answer to `getversion` tells of. */
int attach_answer_version(const char *answer);

/*
 * The answer to `load`. 0: the library is loaded, *ret what its Agent_OnAttach returned; -ENOEXEC:
 * it is not, `why` is the JVM's reason on one line ("" where it gives none: JDK 8); else as above.
 */
int attach_answer_load(const char *answer, int *ret, char *why, size_t size);

#endif
