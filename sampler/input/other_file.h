#ifndef JS_INPUT_OTHER_FILE_H
#define JS_INPUT_OTHER_FILE_H

#include <stddef.h>

/*
 * For a file that is not a profile: what it is, judging by its first OTHER_FILE_HEAD bytes, and what to do, as text
 * that follows "'NAME' is "; NULL: unknown.
 */
const char *other_file_advice(const char *head, size_t len);

enum { OTHER_FILE_HEAD = 256 };

#endif
