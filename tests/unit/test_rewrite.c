/* Calls inserted into class files that are made here, instruction by instruction. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jvm-bridge/host/rewrite/class_file.h"
#include "jvm-bridge/host/rewrite/opcodes.h"
#include "jvm-bridge/host/rewrite/rewrite.h"

/* The constants of each class, and those that are added behind them: see rewrite.c. */
enum { THIS = 2, OBJECT = 4, CODE, NAME, NONE, INIT, SUPER = 10, FRAMES, LINES, MANY, OLD_CONSTANTS };
enum {
	ENTERED = OLD_CONSTANTS + 5,
	LEFT = ENTERED + 3,
	CAUGHT = LEFT + 3,
	THROWABLE = CAUGHT + 2,
	ALLOCATED = THROWABLE + 5,
	ALLOCATED_ALL = ALLOCATED + 3,
	NUMBER
};
enum { FIRST = 70000 }; /* the number given to the method */

#define BYTES_ONLY(...) ((const uint8_t[]){__VA_ARGS__})
#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})
#define CALL(method) OP_LDC_W, 0, NUMBER, OP_INVOKESTATIC, 0, method

struct method {
	unsigned version, name, type, stack, locals;
	const uint8_t *code;
	size_t size;
	const uint8_t *handlers; /* 8 bytes each */
	size_t handlers_size;
	const uint8_t *frames; /* without the number of them */
	size_t frames_size;
	unsigned n_frames;
	const uint8_t *lines;
	size_t lines_size;
	bool allocs; /* INSERT_ALLOCS, not INSERT_CALLS */
	bool object; /* the class has no superclass */
};

static void text(struct writer *w, const char *s)
{
	write_u1(w, 1);
	write_u2(w, (uint32_t)strlen(s));
	write_bytes(w, s, strlen(s));
}

static void one(struct writer *w, unsigned tag, unsigned a)
{
	write_u1(w, tag);
	write_u2(w, a);
}

static void two(struct writer *w, unsigned tag, unsigned a, unsigned b)
{
	one(w, tag, a);
	write_u2(w, b);
}

static void attribute(struct writer *w, unsigned name, unsigned count, const uint8_t *p, size_t size)
{
	write_u2(w, name);
	write_u4(w, (uint32_t)size + 2);
	write_u2(w, count);
	write_bytes(w, p, size);
}

static void code_make(struct writer *w, const struct method *m)
{
	write_u2(w, m->stack);
	write_u2(w, m->locals);
	write_u4(w, (uint32_t)m->size);
	write_bytes(w, m->code, m->size);
	write_u2(w, (uint32_t)(m->handlers_size / 8));
	write_bytes(w, m->handlers, m->handlers_size);
	write_u2(w, (m->frames != NULL) + (m->lines != NULL));
	if (m->lines)
		attribute(w, LINES, (unsigned)m->lines_size / 4, m->lines, m->lines_size);
	if (m->frames)
		attribute(w, FRAMES, m->n_frames, m->frames, m->frames_size);
}

static struct writer class_make(const struct method *m)
{
	struct writer w = {0}, code = {0};

	write_u4(&w, 0xcafebabe);
	write_u4(&w, m->version);
	write_u2(&w, OLD_CONSTANTS);
	text(&w, "T");
	one(&w, 7, 1);
	text(&w, "java/lang/Object");
	one(&w, 7, 3);
	text(&w, "Code");
	text(&w, "m");
	text(&w, "()V");
	text(&w, "<init>");
	two(&w, 12, INIT, NONE);
	two(&w, 10, OBJECT, 9);
	text(&w, "StackMapTable");
	text(&w, "LineNumberTable");
	text(&w, "(IJ[[Ljava/lang/String;)V");
	write_u2(&w, 0x21);
	write_u2(&w, THIS);
	write_u2(&w, m->object ? 0 : OBJECT);
	write_u4(&w, 0);
	write_u2(&w, 1);
	write_u2(&w, 1);
	write_u2(&w, m->name ? m->name : NAME);
	write_u2(&w, m->type ? m->type : NONE);
	write_u2(&w, 1);
	code_make(&code, m);
	write_u2(&w, CODE);
	write_u4(&w, (uint32_t)code.size);
	write_bytes(&w, code.p, code.size);
	write_u2(&w, 0);
	free(code.p);
	return w;
}

/* The class with calls; free(). *code: the Code attribute's contents. */
static uint8_t *changed(const struct method *m, struct reader *code, unsigned left_out)
{
	struct writer w = class_make(m);
	struct rewriting r;
	struct class_file c;
	uint8_t *out;
	size_t size, at;

	assert_int_equal(rewriting_begin(&r, m->allocs ? INSERT_ALLOCS : INSERT_CALLS, w.p, w.size), 0);
	assert_int_equal(r.left_out, left_out);
	assert_int_equal(r.methods, 1 - left_out);
	size = rewriting_size(&r);
	out = malloc(size);
	rewriting_write(&r, FIRST, out);
	rewriting_done(&r);
	free(w.p);
	assert_int_equal(class_file_open(&c, out, size), 0);
	assert_int_equal(c.n_constants, OLD_CONSTANTS + 22 + (m->allocs ? 0 : 1 - left_out));
	if (!left_out && !m->allocs)
		assert_int_equal(get_u4(out + c.constants[NUMBER] + 1), FIRST);
	at = c.body + 6 + 4 + 2 + 6 + 2 + 2;
	*code = (struct reader){.p = out + at + 4, .size = get_u4(out + at)};
	assert_int_equal(at + 4 + code->size + 2, size);
	class_file_done(&c);
	return out;
}

static void is_next(struct reader *r, const uint8_t *p, size_t n)
{
	const uint8_t *got = read_bytes(r, n);

	assert_non_null(got);
	assert_memory_equal(got, p, n);
}

/* What follows the number of something of that size. */
static void is_counted(struct reader *r, uint32_t n, const uint8_t *p, size_t size)
{
	assert_int_equal(read_u2(r), n);
	is_next(r, p, size);
}

static void code_is(struct reader *r, unsigned stack, const uint8_t *p, size_t n)
{
	assert_int_equal(read_u2(r), stack);
	read_u2(r);
	assert_int_equal(read_u4(r), n);
	is_next(r, p, n);
}

/* A method that cannot fail gets no handler, and no frame. */
static void simple(void **state)
{
	const struct method m = {50, .stack = 0, .locals = 1, BYTES(OP_RETURN)};
	struct reader r;
	uint8_t *out = changed(&m, &r, 0);

	(void)state;
	code_is(&r, 2, BYTES(CALL(ENTERED), CALL(LEFT), OP_RETURN));
	assert_int_equal(read_u4(&r), 0);
	assert_int_equal(r.at, r.size);
	free(out);
}

/* iload_0; ifne 0; a call that throws; areturn: a branch to the beginning does not enter again. */
static void covered(void **state)
{
	const struct method m = {52,
				 .stack = 1,
				 .locals = 1,
				 BYTES(0x1a, 0x9a, 0xff, 0xff, 0x01, 0xb0),
				 .frames = BYTES(0),
				 .n_frames = 1,
				 .lines = BYTES(0, 0, 0, 10, 0, 4, 0, 11)};
	struct reader r;
	uint8_t *out = changed(&m, &r, 0);

	(void)state;
	code_is(&r, 2, BYTES(CALL(ENTERED), 0x1a, 0x9a, 0xff, 0xff, 0x01, CALL(LEFT), 0xb0, CALL(LEFT), OP_ATHROW));
	/* All but the call of `left` at 11 and the return; the handler is at 18. */
	is_counted(&r, 1, BYTES(0, 6, 0, 11, 0, 18, 0, 0));
	assert_int_equal(read_u2(&r), 2);
	is_next(&r, BYTES(0, LINES, 0, 0, 0, 10));
	is_counted(&r, 2, BYTES(0, 0, 0, 10, 0, 10, 0, 11));
	is_next(&r, BYTES(0, OLD_CONSTANTS + 14, 0, 0, 0, 15));
	is_counted(&r, 2, BYTES(251, 0, 6, 255, 0, 11, 0, 0, 0, 1, 7, 0, THROWABLE));
	assert_int_equal(r.at, r.size);
	free(out);
}

/* nop; aload_0; invokespecial super(); nop; return. */
static void constructor(void **state)
{
	struct method m = {52,         INIT,        MANY,
			   .stack = 1, .locals = 4, BYTES(0, 0x2a, OP_INVOKESPECIAL, 0, SUPER, 0, OP_RETURN)};
	struct reader r;
	uint8_t *out = changed(&m, &r, 0);

	(void)state;
	code_is(&r, 2,
		BYTES(CALL(ENTERED), 0, 0x2a, OP_INVOKESPECIAL, 0, SUPER, 0, CALL(LEFT), OP_RETURN, CALL(LEFT),
		      OP_ATHROW));
	is_counted(&r, 1, BYTES(0, 11, 0, 12, 0, 19, 0, 0));
	free(out);
}

/*
 * iload_1; ifne 9; aload_0; super(); return; 9: aload_0; super(); nop; return. The frame at 9 says that `this` is not
 * initialized there, whatever came before.
 */
static void constructor_frames(void **state)
{
	const struct method m = {52,
				 INIT,
				 MANY,
				 .stack = 1,
				 .locals = 5,
				 BYTES(0x1b, 0x9a, 0, 8, 0x2a, OP_INVOKESPECIAL, 0, SUPER, OP_RETURN, 0x2a,
				       OP_INVOKESPECIAL, 0, SUPER, 0, OP_RETURN),
				 .frames = BYTES(255, 0, 9, 0, 4, 6, 1, 4, 7, 0, OBJECT, 0, 0),
				 .n_frames = 1};
	struct method same = m;
	struct reader r;
	uint8_t *out = changed(&m, &r, 0);

	(void)state;
	read_bytes(&r, 4);
	read_bytes(&r, read_u4(&r));
	/* 6: iload_1, ifne, aload_0, super(), 14: left, return, 21: aload_0, super(), 25: nop, 26: left, return, 33. */
	is_counted(&r, 1, BYTES(0, 25, 0, 26, 0, 33, 0, 0));
	free(out);
	/* The same frame, told against the arguments. */
	same.frames = BYTES_ONLY(9);
	same.frames_size = 1;
	out = changed(&same, &r, 0);
	read_bytes(&r, 4);
	read_bytes(&r, read_u4(&r));
	is_counted(&r, 1, BYTES(0, 25, 0, 26, 0, 33, 0, 0));
	free(out);
	/* Without any frame nothing is known behind the branch. */
	same.frames = NULL;
	out = changed(&same, &r, 0);
	read_bytes(&r, 4);
	read_bytes(&r, read_u4(&r));
	assert_int_equal(read_u2(&r), 0);
	free(out);
}

/* A handler reports that it caught; the object that `new` makes at 0 is still named after its `new`. */
static void handlers(void **state)
{
	const struct method m = {51,
				 .stack = 2,
				 .locals = 1,
				 BYTES(OP_NEW, 0, OBJECT, 0x57, OP_RETURN, OP_RETURN),
				 .handlers = BYTES(0, 0, 0, 4, 0, 5, 0, 0),
				 .frames = BYTES(255, 0, 5, 0, 1, 8, 0, 0, 0, 1, 7, 0, OBJECT),
				 .n_frames = 1};
	struct reader r;
	uint8_t *out = changed(&m, &r, 0);

	(void)state;
	code_is(&r, 3,
		BYTES(CALL(ENTERED), OP_NEW, 0, OBJECT, 0x57, CALL(LEFT), OP_RETURN, CALL(CAUGHT), CALL(LEFT),
		      OP_RETURN, CALL(LEFT), OP_ATHROW));
	is_counted(&r, 3, BYTES(0, 6, 0, 10, 0, 17, 0, 0, 0, 6, 0, 10, 0, 30, 0, 0, 0, 17, 0, 23, 0, 30, 0, 0));
	assert_int_equal(read_u2(&r), 1);
	read_bytes(&r, 6);
	is_counted(&r, 2, BYTES(255, 0, 17, 0, 1, 8, 0, 6, 0, 1, 7, 0, OBJECT, 255, 0, 12));
	free(out);
}

/* An array made between a branch and its target, arrays in an array, a clone of an array; nothing at the beginning. */
static void allocations(void **state)
{
	struct method m = {46, .stack = 2, .locals = 1,
			   BYTES(0x1a, 0x9a, 0, 6, 0x04, OP_NEWARRAY, 10, 0x04, 0x04, OP_MULTIANEWARRAY, 0, THIS, 2,
				 OP_INVOKEVIRTUAL, 0, SUPER, 0xb0),
			   .allocs = true};
	struct reader r;
	uint8_t *out = changed(&m, &r, 0);

	(void)state;
	code_is(&r, 3,
		BYTES(0x1a, 0x9a, 0, 10, 0x04, OP_NEWARRAY, 10, OP_DUP, OP_INVOKESTATIC, 0, ALLOCATED, 0x04, 0x04,
		      OP_MULTIANEWARRAY, 0, THIS, 2, OP_DUP, OP_INVOKESTATIC, 0, ALLOCATED_ALL, OP_INVOKEVIRTUAL, 0,
		      SUPER, 0xb0));
	assert_int_equal(read_u4(&r), 0);
	assert_int_equal(r.at, r.size);
	free(out);
}

/* iload_0; ifne 8; iconst_1; newarray; pop; 8: return: the frame moves with its instruction. */
static void allocation_frames(void **state)
{
	const struct method m = {52,
				 .stack = 1,
				 .locals = 1,
				 BYTES(0x1a, 0x9a, 0, 7, 0x04, OP_NEWARRAY, 10, 0x57, OP_RETURN),
				 .frames = BYTES(8),
				 .n_frames = 1,
				 .allocs = true};
	struct reader r;
	uint8_t *out = changed(&m, &r, 0);

	(void)state;
	code_is(&r, 2,
		BYTES(0x1a, 0x9a, 0, 11, 0x04, OP_NEWARRAY, 10, OP_DUP, OP_INVOKESTATIC, 0, ALLOCATED, 0x57,
		      OP_RETURN));
	assert_int_equal(read_u2(&r), 0);
	assert_int_equal(read_u2(&r), 1);
	is_next(&r, BYTES(0, OLD_CONSTANTS + 14, 0, 0, 0, 5));
	is_counted(&r, 1, BYTES(251, 0, 12));
	assert_int_equal(r.at, r.size);
	free(out);
}

/* A constant pool that ends with a Methodref, the 6th. */
static bool is_maker(const char *class_name, const char *name, const char *type)
{
	struct writer w = {0};
	struct class_file c;
	bool is;

	write_u4(&w, 0xcafebabe);
	write_u4(&w, 52);
	write_u2(&w, 7);
	text(&w, class_name);
	one(&w, 7, 1);
	text(&w, name);
	text(&w, type);
	two(&w, 12, 3, 4);
	two(&w, 10, 2, 5);
	assert_int_equal(class_file_open(&c, w.p, w.size), 0);
	is = class_names_maker(&c, 6);
	assert_false(class_names_maker(&c, 5));
	assert_false(class_names_maker(&c, 7));
	class_file_done(&c);
	free(w.p);
	return is;
}

/* Methods that C2 of JDK 8 to 15 replaces by an allocation, and some that resemble them. */
static void makers(void **state)
{
	static const char copy[] = "([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;";
	static const char range[] = "([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object;";
	static const char clone[] = "()Ljava/lang/Object;", product[] = "([II[II[I)[I";

	(void)state;
	assert_true(is_maker("java/lang/Object", "clone", clone));
	assert_true(is_maker("[I", "clone", clone));
	assert_true(is_maker("[[LT;", "clone", clone));
	assert_true(is_maker("java/util/Arrays", "copyOf", copy));
	assert_true(is_maker("java/util/Arrays", "copyOfRange", range));
	assert_true(is_maker("java/lang/reflect/Array", "newArray", "(Ljava/lang/Class;I)Ljava/lang/Object;"));
	assert_true(is_maker("sun/misc/Unsafe", "allocateInstance", "(Ljava/lang/Class;)Ljava/lang/Object;"));
	assert_true(is_maker("jdk/internal/misc/Unsafe", "allocateInstance", "(Ljava/lang/Class;)Ljava/lang/Object;"));
	assert_true(is_maker("jdk/internal/misc/Unsafe", "allocateUninitializedArray0",
			     "(Ljava/lang/Class;I)Ljava/lang/Object;"));
	assert_true(is_maker("java/lang/StringUTF16", "toBytes", "([CII)[B"));
	assert_true(is_maker("java/math/BigInteger", "multiplyToLen", product));
	assert_true(is_maker("java/math/BigInteger", "implMultiplyToLen", product));
	assert_false(is_maker("T", "clone", clone));
	assert_false(is_maker("java/util/Arrays", "copyOf", range));
	assert_false(is_maker("java/lang/StringUTF16", "toBytes", "(C)[B"));
	assert_false(is_maker("java/lang/Object", "toString", clone));
}

/* java.lang.Object's constructor; others are left as they are. */
static void object_made(void **state)
{
	struct method m = {46, INIT, .stack = 0, .locals = 1, BYTES(OP_RETURN), .allocs = true, .object = true};
	struct writer w;
	struct rewriting r;
	struct reader code;
	uint8_t *out = changed(&m, &code, 0);

	(void)state;
	code_is(&code, 2, BYTES(OP_ALOAD_0, OP_INVOKESTATIC, 0, ALLOCATED, OP_RETURN));
	free(out);
	m.object = false;
	w = class_make(&m);
	assert_int_equal(rewriting_begin(&r, INSERT_ALLOCS, w.p, w.size), 0);
	assert_int_equal(r.methods + r.left_out, 0);
	rewriting_done(&r);
	free(w.p);
}

/* Switches get new padding; wide branches and subroutines of old classes. */
static void branches(void **state)
{
	const struct method m = {46, .stack = 1, .locals = 1,
				 BYTES(0x1a, OP_LOOKUPSWITCH, 0, 0, 0, 0, 0, 24, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 19,
				       OP_GOTO_W, 0, 0, 0, 5, OP_JSR, 0, 3, 0x4b, OP_RET, 0)};
	struct reader r;
	uint8_t *out = changed(&m, &r, 0);

	(void)state;
	/* From the switch at 1: 19 is the goto_w at 20, 24 the jsr at 25. */
	code_is(&r, 2,
		BYTES(CALL(ENTERED), 0x1a, OP_LOOKUPSWITCH, 0, 0, 0, 22, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 17, OP_GOTO_W,
		      0, 0, 0, 5, OP_JSR, 0, 3, 0x4b, OP_RET, 0, CALL(LEFT), OP_ATHROW));
	is_counted(&r, 1, BYTES(0, 6, 0, 35, 0, 35, 0, 0));
	/* Old classes have no frames. */
	assert_int_equal(read_u2(&r), 0);
	free(out);
}

/* What would be too large, what branches too far, what is no bytecode: copied. */
static void left_out(void **state)
{
	enum { BIG = 65530, FAR = 32770 };
	uint8_t *code = calloc(BIG, 1);
	struct method m = {46, .stack = 1, .locals = 1, .code = code, .size = BIG};
	struct writer after = {0};
	struct reader r;
	uint8_t *out;

	(void)state;
	code[BIG - 1] = OP_RETURN;
	out = changed(&m, &r, 1);
	code_make(&after, &m);
	assert_int_equal(r.size, after.size);
	assert_memory_equal(r.p, after.p, r.size);
	free(out);
	free(after.p);
	/* 32767 is reached just so, and not with a call in between. */
	m.size = FAR;
	memcpy(code, (const uint8_t[]){OP_GOTO, 0x7f, 0xff, OP_RETURN}, 4);
	free(changed(&m, &r, 1));
	code[3] = 0;
	free(changed(&m, &r, 0));
	code[3] = 0xfe;
	free(changed(&m, &r, 1));
	code[3] = 0;
	put_u2(code + 1, 0x7fff - 2 * 0x7fff);
	free(changed(&m, &r, 1));
	free(code);
	/* Frames between instructions, and of an unknown kind. */
	m = (struct method){52,           .stack = 1, .locals = 1, BYTES(0x10, 0, 0x57, OP_RETURN), .frames = BYTES(1),
			    .n_frames = 1};
	free(changed(&m, &r, 1));
	m.frames = (const uint8_t[]){200};
	free(changed(&m, &r, 1));
	m.frames = (const uint8_t[]){2};
	free(changed(&m, &r, 0));
}

/* Each part of a class file, and each with one wrong byte: nothing is read beyond the end, under ASan. */
static void damaged(void **state)
{
	const struct method m = {51,
				 INIT,
				 .stack = 2,
				 .locals = 1,
				 BYTES(0x2a, OP_INVOKESPECIAL, 0, SUPER, OP_NEW, 0, OBJECT, 0x57, OP_RETURN, OP_RETURN),
				 .handlers = BYTES(0, 4, 0, 8, 0, 9, 0, 0),
				 .frames = BYTES(255, 0, 9, 0, 1, 7, 0, OBJECT, 0, 1, 7, 0, OBJECT),
				 .n_frames = 1,
				 .lines = BYTES(0, 0, 0, 10)};
	struct writer w = class_make(&m);
	struct rewriting r;
	unsigned good = 0;

	(void)state;
	for (size_t n = 0; n < w.size; n++) {
		uint8_t *part = memcpy(malloc(n + 1), w.p, n);

		assert_int_equal(rewriting_begin(&r, INSERT_CALLS, part, n), -EINVAL);
		rewriting_done(&r);
		free(part);
	}
	for (size_t i = 0; i < w.size; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			uint8_t *out;

			w.p[i] ^= (uint8_t)(1 << bit);
			if (!rewriting_begin(&r, INSERT_CALLS, w.p, w.size)) {
				out = malloc(rewriting_size(&r));
				rewriting_write(&r, FIRST, out);
				free(out);
				good++;
			}
			rewriting_done(&r);
			w.p[i] ^= (uint8_t)(1 << bit);
		}
	assert_true(good > w.size);
	free(w.p);
}

/* No room for the constants, versions before 45.3, and the class that the calls are in. */
static void limits(void **state)
{
	const struct method m = {46, .stack = 0, .locals = 1, BYTES(OP_RETURN)};
	struct writer w = class_make(&m);
	struct rewriting r;

	(void)state;
	put_u2(w.p + 6, 44);
	assert_int_equal(rewriting_begin(&r, INSERT_CALLS, w.p, w.size), -EINVAL);
	rewriting_done(&r);
	put_u2(w.p + 6, 45);
	assert_int_equal(rewriting_begin(&r, INSERT_CALLS, w.p, w.size), -EINVAL);
	rewriting_done(&r);
	put_u2(w.p + 4, 3);
	assert_int_equal(rewriting_begin(&r, INSERT_CALLS, w.p, w.size), 0);
	rewriting_done(&r);
	free(w.p);
	assert_int_equal(calls_class_write(&w), 0);
	assert_int_equal(rewriting_begin(&r, INSERT_CALLS, w.p, w.size), 0);
	assert_int_equal(r.methods + r.left_out, 0);
	rewriting_done(&r);
	free(w.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple),      cmocka_unit_test(covered),
		cmocka_unit_test(constructor), cmocka_unit_test(constructor_frames),
		cmocka_unit_test(handlers),    cmocka_unit_test(branches),
		cmocka_unit_test(allocations), cmocka_unit_test(allocation_frames),
		cmocka_unit_test(makers),      cmocka_unit_test(object_made),
		cmocka_unit_test(left_out),    cmocka_unit_test(damaged),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
