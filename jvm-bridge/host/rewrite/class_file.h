#ifndef JS_BRIDGE_CLASS_FILE_H
#define JS_BRIDGE_CLASS_FILE_H

#include "jvm-bridge/host/rewrite/bytes.h"

/* A class file (JVM specification, chapter 4): its constant pool, looked up by index. */
enum { CONSTANTS_MAX = 65535, FRAMES_VERSION = 50 /* from here on, methods with branches have a StackMapTable */ };

struct class_file {
	const uint8_t *data;
	size_t size;
	unsigned version; /* major */
	unsigned n_constants; /* one more than the last index */
	uint32_t *constants; /* where each begins; 0: not an index */
	size_t body; /* access flags and what follows */
};

/* data is kept, not copied. class_file_done() in any case. -EINVAL: not a class file that we know; -ENOMEM. */
int class_file_open(struct class_file *c, const uint8_t *data, size_t size);
void class_file_done(struct class_file *c);
/* A CONSTANT_Utf8. .bad: not one. */
struct reader class_text(const struct class_file *c, unsigned index);
bool class_text_is(const struct class_file *c, unsigned index, const char *text);
bool class_names_constructor(const struct class_file *c, unsigned index); /* a CONSTANT_Methodref of <init> */
/* A CONSTANT_Methodref of a method in whose place compiled code may make the object itself. */
bool class_names_maker(const struct class_file *c, unsigned index);

#endif
