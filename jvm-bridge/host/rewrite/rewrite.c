/* Inserting calls into the methods of a class file. */
#include "jvm-bridge/host/rewrite/rewrite.h"

#include <errno.h>

#include "jvm-bridge/host/rewrite/code.h"

enum {
	CONSTANT_UTF8 = 1,
	CONSTANT_INTEGER = 3,
	CONSTANT_CLASS = 7,
	CONSTANT_METHODREF = 10,
	CONSTANT_NAME_AND_TYPE = 12
};

/* The constants that are added, in this order; then the numbers. */
enum {
	ADD_CLASS_NAME,
	ADD_CLASS,
	ADD_TYPE,
	ADD_ENTERED, /* of each method its name, its name and type, and it */
	ADD_LEFT = ADD_ENTERED + 3,
	ADD_CAUGHT = ADD_LEFT + 3,
	ADD_THROWABLE_NAME = ADD_CAUGHT + 3,
	ADD_THROWABLE,
	ADD_FRAMES,
	ADD_ALLOC_TYPE,
	ADD_ALLOCATED,
	ADD_ALLOCATED_ALL = ADD_ALLOCATED + 3,
	ADDED = ADD_ALLOCATED_ALL + 3,
};

enum { HEAD_VERSION = 8 /* magic, versions */, INTEGER_SIZE = 5, PUBLIC_FINAL = 0x31, PUBLIC_STATIC_NATIVE = 0x109 };

static void utf8_write(struct writer *w, const char *text)
{
	write_u1(w, CONSTANT_UTF8);
	write_u2(w, (uint32_t)strlen(text));
	write_bytes(w, text, strlen(text));
}

static void class_write(struct writer *w, unsigned name)
{
	write_u1(w, CONSTANT_CLASS);
	write_u2(w, name);
}

static void pair_write(struct writer *w, unsigned tag, unsigned first, unsigned second)
{
	write_u1(w, tag);
	write_u2(w, first);
	write_u2(w, second);
}

static void method_write(struct writer *w, unsigned base, unsigned at, const char *name, unsigned type)
{
	utf8_write(w, name);
	pair_write(w, CONSTANT_NAME_AND_TYPE, base + at, base + type);
	pair_write(w, CONSTANT_METHODREF, base + ADD_CLASS, base + at + 1);
}

/* base: the index of the first. */
static void constants_write(struct writer *w, unsigned base)
{
	utf8_write(w, CALLS_CLASS);
	class_write(w, base + ADD_CLASS_NAME);
	utf8_write(w, CALLS_TYPE);
	method_write(w, base, ADD_ENTERED, CALLS_ENTERED, ADD_TYPE);
	method_write(w, base, ADD_LEFT, CALLS_LEFT, ADD_TYPE);
	method_write(w, base, ADD_CAUGHT, CALLS_CAUGHT, ADD_TYPE);
	utf8_write(w, "java/lang/Throwable");
	class_write(w, base + ADD_THROWABLE_NAME);
	utf8_write(w, "StackMapTable");
	utf8_write(w, CALLS_ALLOC_TYPE);
	method_write(w, base, ADD_ALLOCATED, CALLS_ALLOCATED, ADD_ALLOC_TYPE);
	method_write(w, base, ADD_ALLOCATED_ALL, CALLS_ALLOCATED_ALL, ADD_ALLOC_TYPE);
}

static unsigned arguments_count(struct reader type)
{
	unsigned n = 0;
	uint32_t c = read_u1(&type);

	while (c && (c = read_u1(&type)) && c != ')') {
		while (c == '[')
			c = read_u1(&type);
		if (c == 'L')
			while (c && c != ';')
				c = read_u1(&type);
		n++;
	}
	return n;
}

/* A Code attribute with its calls, or as it was. */
static int code_or_copy(struct rewriting *r, const struct class_file *c, struct reader code,
			const struct method_kind *kind)
{
	unsigned base = c->n_constants, number = base + ADDED + r->numbers;
	const struct call_constants calls = {.entered = base + ADD_ENTERED + 2,
					     .left = base + ADD_LEFT + 2,
					     .caught = base + ADD_CAUGHT + 2,
					     .throwable = base + ADD_THROWABLE,
					     .allocated = base + ADD_ALLOCATED + 2,
					     .allocated_all = base + ADD_ALLOCATED_ALL + 2,
					     .frames = base + ADD_FRAMES,
					     .number = number};
	size_t before = r->body.size;
	int bad = number >= CONSTANTS_MAX ? -E2BIG : 0;

	write_u4(&r->body, 0);
	if (!bad)
		bad = code_rewrite(c, code, kind, &calls, &r->body);
	if (bad == -ENOMEM || r->body.failed)
		return -ENOMEM;
	if (!bad) {
		put_u4(r->body.p + before, (uint32_t)(r->body.size - before - 4));
		r->methods++;
		r->numbers += kind->in.calls;
		return 0;
	}
	r->body.size = before;
	r->left_out += bad != -ENOENT;
	write_u4(&r->body, (uint32_t)code.size);
	write_bytes(&r->body, code.p, code.size);
	return 0;
}

static int attributes_copy(struct rewriting *r, const struct class_file *c, struct reader *in,
			   const struct method_kind *kind)
{
	uint32_t n = read_u2(in);
	int bad = 0;

	write_u2(&r->body, n);
	for (; n && !in->bad && !bad; n--) {
		uint32_t name = read_u2(in), size = read_u4(in);
		struct reader one = read_part(in, size);

		write_u2(&r->body, name);
		if (kind && !one.bad && class_text_is(c, name, "Code")) {
			bad = code_or_copy(r, c, one, kind);
			continue;
		}
		write_u4(&r->body, size);
		write_bytes(&r->body, one.p, one.size);
	}
	return in->bad ? -EINVAL : bad;
}

static int members_copy(struct rewriting *r, const struct class_file *c, struct reader *in, bool methods)
{
	uint32_t n = read_u2(in);
	int bad = 0;

	write_u2(&r->body, n);
	for (; n && !in->bad && !bad; n--) {
		uint32_t flags = read_u2(in), name = read_u2(in), type = read_u2(in);
		struct method_kind kind = {
			.in = {.calls = r->what & INSERT_CALLS, .allocs = r->what & INSERT_ALLOCS},
			.constructor = methods && class_text_is(c, name, "<init>"),
		};

		if (kind.constructor)
			kind.arguments = arguments_count(class_text(c, type));
		kind.in.object_init = kind.constructor && r->is_object;
		write_u2(&r->body, flags);
		write_u2(&r->body, name);
		write_u2(&r->body, type);
		bad = attributes_copy(r, c, in, methods ? &kind : NULL);
	}
	return in->bad ? -EINVAL : bad;
}

static int body_copy(struct rewriting *r, const struct class_file *c)
{
	struct reader in = {.p = c->data, .size = c->size, .at = c->body};
	const uint8_t *start = read_bytes(&in, 6); /* flags, this, super */
	uint32_t n = read_u2(&in);
	const uint8_t *interfaces = read_bytes(&in, 2 * (size_t)n);
	int bad;

	if (in.bad)
		return -EINVAL;
	r->is_object = !get_u2(start + 4); /* no superclass */
	write_bytes(&r->body, start, 6);
	write_u2(&r->body, n);
	write_bytes(&r->body, interfaces, 2 * (size_t)n);
	bad = members_copy(r, c, &in, false);
	if (!bad)
		bad = members_copy(r, c, &in, true);
	if (!bad)
		bad = attributes_copy(r, c, &in, NULL);
	if (!bad && in.at != in.size)
		bad = -EINVAL;
	return bad;
}

int rewriting_begin(struct rewriting *r, unsigned what, const uint8_t *data, size_t size)
{
	struct class_file c;
	int bad;

	*r = (struct rewriting){.what = what};
	bad = class_file_open(&c, data, size);
	if (!bad && c.n_constants + ADDED >= CONSTANTS_MAX)
		bad = -E2BIG;
	if (!bad)
		bad = body_copy(r, &c);
	if (!bad)
		constants_write(&r->constants, c.n_constants);
	r->head = (struct reader){.p = data, .size = c.body};
	r->n_constants = c.n_constants + ADDED + r->numbers;
	class_file_done(&c);
	return !bad && (r->body.failed || r->constants.failed) ? -ENOMEM : bad;
}

size_t rewriting_size(const struct rewriting *r)
{
	return r->head.size + r->constants.size + INTEGER_SIZE * (size_t)r->numbers + r->body.size;
}

void rewriting_write(const struct rewriting *r, uint32_t first, uint8_t *to)
{
	memcpy(to, r->head.p, r->head.size);
	put_u2(to + HEAD_VERSION, r->n_constants);
	to += r->head.size;
	memcpy(to, r->constants.p, r->constants.size);
	to += r->constants.size;
	for (unsigned i = 0; i < r->numbers; i++, to += INTEGER_SIZE) {
		*to = CONSTANT_INTEGER;
		put_u4(to + 1, first + i);
	}
	memcpy(to, r->body.p, r->body.size);
}

void rewriting_done(struct rewriting *r)
{
	free(r->constants.p);
	free(r->body.p);
	*r = (struct rewriting){0};
}

/* CALLS_CLASS. */

enum { OF_CLASS_NAME = 1, OF_CLASS, OF_OBJECT_NAME, OF_OBJECT, OF_METHODS /* of each its name and its type */ };
enum { MAGIC = 0xcafebabe, VERSION = 49 };

static const struct {
	const char *name, *type;
} natives[] = {{CALLS_ENTERED, CALLS_TYPE},
	       {CALLS_LEFT, CALLS_TYPE},
	       {CALLS_CAUGHT, CALLS_TYPE},
	       {CALLS_ALLOCATED, CALLS_ALLOC_TYPE},
	       {CALLS_ALLOCATED_ALL, CALLS_ALLOC_TYPE}};

enum { NATIVES = sizeof(natives) / sizeof(*natives) };

int calls_class_write(struct writer *w)
{
	*w = (struct writer){0};
	write_u4(w, MAGIC);
	write_u4(w, VERSION);
	write_u2(w, OF_METHODS + 2 * NATIVES);
	utf8_write(w, CALLS_CLASS);
	class_write(w, OF_CLASS_NAME);
	utf8_write(w, "java/lang/Object");
	class_write(w, OF_OBJECT_NAME);
	for (unsigned i = 0; i < NATIVES; i++) {
		utf8_write(w, natives[i].name);
		utf8_write(w, natives[i].type);
	}
	write_u2(w, PUBLIC_FINAL);
	write_u2(w, OF_CLASS);
	write_u2(w, OF_OBJECT);
	write_u4(w, 0); /* interfaces, fields */
	write_u2(w, NATIVES);
	for (unsigned i = 0; i < NATIVES; i++) {
		write_u2(w, PUBLIC_STATIC_NATIVE);
		write_u2(w, OF_METHODS + 2 * i);
		write_u2(w, OF_METHODS + 2 * i + 1);
		write_u2(w, 0);
	}
	write_u2(w, 0);
	return w->failed ? -ENOMEM : 0;
}
