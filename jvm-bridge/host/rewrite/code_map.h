#ifndef JS_BRIDGE_CODE_MAP_H
#define JS_BRIDGE_CODE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvm-bridge/host/rewrite/class_file.h"

/*
 * Where the instructions of a method are once calls have been inserted. With `calls`: one at the beginning of the
 * method, one before each return, one at the beginning of each exception handler, and a handler of our own at the end.
 * With `allocs`: one after each instruction that makes an array, or calls a method that makes an object itself, and
 * with `object_init` one at the beginning.
 */
enum {
	CODE_MAX = 65535, /* bytes */
	CALL_SIZE = 6, /* ldc_w, invokestatic */
	ALLOC_SIZE = 4, /* dup or aload_0, invokestatic */
	OWN_HANDLER_SIZE = CALL_SIZE + 1, /* athrow */
};

enum {
	AT_INSTRUCTION = 1,
	AT_HANDLER = 2, /* an exception handler begins here */
	AT_COVERED = 4, /* our own handler may cover the instruction */
	AT_MADE = 8, /* behind the instruction a new object is on the stack */
};

struct insertions {
	bool calls, allocs;
	bool object_init; /* the method is the constructor of java.lang.Object */
};

struct code_map {
	const uint8_t *code;
	size_t size;
	struct insertions in;
	uint8_t *flags; /* of each byte */
	/* Where the calls inserted before the instruction begin, or it itself; [size]: the end. Valid at instructions. */
	uint32_t *to;
};

/* Bounds the instructions of `code` and lays them out anew with what is in m->in. handlers: the exception table, n
 * entries. code_map_done() in any case. -EINVAL: not valid bytecode; -E2BIG: too large when calls are inserted; -ENOMEM. */
int code_map_make(struct code_map *m, const struct class_file *c, struct reader code, const uint8_t *handlers,
		  size_t n);
void code_map_done(struct code_map *m);
bool map_is_at(const struct code_map *m, size_t at); /* an instruction begins there */
size_t map_inserted(const struct code_map *m, size_t at); /* bytes before the instruction */
size_t map_begin(const struct code_map *m); /* bytes at the method's beginning */
size_t map_instruction(const struct code_map *m, size_t at); /* its own new place */

#endif
