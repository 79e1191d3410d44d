#ifndef JS_INPUT_OTHER_FILE_H
#define JS_INPUT_OTHER_FILE_H

#include <stddef.h>

/*
 * Of a file that is no profile, by how it begins (OTHER_FILE_HEAD bytes are enough): what it is and what
 * to do, to stand behind "'NAME' is "; NULL: not known.
 */
const char *other_file_advice(const char *head, size_t len);

enum { OTHER_FILE_HEAD = 256 };

#endif
