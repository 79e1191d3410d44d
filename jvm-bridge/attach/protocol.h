#ifndef JS_ATTACH_PROTOCOL_H
#define JS_ATTACH_PROTOCOL_H

#include <stddef.h>

struct buf;

/*
 * The encoding of HotSpot's attach protocol (JDK src/hotspot/share/services/attachListener.cpp;
 * os/linux/attachListener_linux.cpp, 17; os/posix/attachListener_posix.cpp, 25). JDK 8 to 27 understand version 1, JDK
 * 24 and later version 2. One command per connection.
 */
enum {
	ATTACH_ARGS_V1 = 3, /* always this many, empty or not */
	ATTACH_ARG_V1 = 1024, /* bytes per argument; a longer one ends the connection without an answer */
	ATTACH_ARGS = 8,
	ATTACH_BYTES_V2 = 256 << 10, /* whole request */
};

/* A command with its arguments. -E2BIG: does not fit that version. */
int attach_request_v1(struct buf *b, const char *command, const char *const *args, size_t n);
int attach_request_v2(struct buf *b, const char *command, const char *const *args, size_t n);

/*
 * *ret: the number on the answer's first line; *ret_text: what follows that line. -EPIPE: the JVM closed without an
 * answer; -EPROTO: not an answer. `answer` is NUL-terminated.
 */
int attach_answer_code(const char *answer, int *ret, const char **ret_text);

/* The highest version in an answer to `getversion`. */
int attach_answer_version(const char *answer);

/*
 * Parses the answer to `load`. 0: the library is loaded, *ret is what its Agent_OnAttach returned; -ENOEXEC: not
 * loaded, `why` is the JVM's reason on one line ("" if it gives none: JDK 8); other errors as above.
 */
int attach_answer_load(const char *answer, int *ret, char *why, size_t size);

#endif
