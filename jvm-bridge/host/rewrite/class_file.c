/* The constant pool of a class file. */
#include "jvm-bridge/host/rewrite/class_file.h"

#include <errno.h>

enum { MAGIC = 0xcafebabe, OLDEST = 45, UTF8 = 1, LONG = 5, DOUBLE = 6, CLASS = 7, METHODREF = 10 };
enum { NAME_AND_TYPE = 12, TAGS = 21 };

/* Bytes after the tag; 0: CONSTANT_Utf8, or unknown. */
static const uint8_t sizes[TAGS] = {
	[3] = 4,         [4] = 4,  [LONG] = 8,          [DOUBLE] = 8, [CLASS] = 2, [8] = 2,  [9] = 4,
	[METHODREF] = 4, [11] = 4, [NAME_AND_TYPE] = 4, [15] = 3,     [16] = 2,    [17] = 4, [18] = 4,
	[19] = 2,        [20] = 2};

static void constants_find(struct class_file *c, struct reader *r)
{
	for (unsigned i = 1; i < c->n_constants && !r->bad; i++) {
		unsigned tag;

		c->constants[i] = (uint32_t)r->at;
		tag = read_u1(r);
		if (tag >= TAGS || (!sizes[tag] && tag != UTF8))
			r->bad = true;
		else
			read_bytes(r, tag == UTF8 ? read_u2(r) : sizes[tag]);
		i += tag == LONG || tag == DOUBLE;
	}
}

int class_file_open(struct class_file *c, const uint8_t *data, size_t size)
{
	struct reader r = {.p = data, .size = size};
	uint32_t minor;

	*c = (struct class_file){.data = data, .size = size};
	if (read_u4(&r) != MAGIC)
		return -EINVAL;
	minor = read_u2(&r);
	c->version = read_u2(&r);
	c->n_constants = read_u2(&r);
	/* Before 45.3 code had shorter fields. */
	if (r.bad || c->version < OLDEST || (c->version == OLDEST && minor < 3) || !c->n_constants)
		return -EINVAL;
	c->constants = calloc(c->n_constants, sizeof(*c->constants));
	if (!c->constants)
		return -ENOMEM;
	constants_find(c, &r);
	c->body = r.at;
	return r.bad ? -EINVAL : 0;
}

void class_file_done(struct class_file *c)
{
	free(c->constants);
	*c = (struct class_file){0};
}

/* A constant of that tag; .bad: not one. */
static struct reader constant(const struct class_file *c, unsigned index, unsigned tag)
{
	struct reader r = {.p = c->data, .size = c->size};

	if (index >= c->n_constants || !c->constants[index])
		return (struct reader){.bad = true};
	r.at = c->constants[index];
	r.bad = read_u1(&r) != tag;
	return r;
}

struct reader class_text(const struct class_file *c, unsigned index)
{
	struct reader r = constant(c, index, UTF8);
	uint32_t n = read_u2(&r);

	return read_part(&r, n);
}

bool class_text_is(const struct class_file *c, unsigned index, const char *text)
{
	struct reader r = class_text(c, index);

	return !r.bad && r.size == strlen(text) && !memcmp(r.p, text, r.size);
}

bool class_names_constructor(const struct class_file *c, unsigned index)
{
	struct reader r = constant(c, index, METHODREF);

	read_u2(&r);
	r = constant(c, r.bad ? 0 : read_u2(&r), NAME_AND_TYPE);
	return !r.bad && class_text_is(c, read_u2(&r), "<init>");
}

/* src/hotspot/share/opto/library_call.cpp, JDK 8 and 11 */
static const struct maker {
	const char *class_name, *name, *type;
} makers[] = {
	{"java/lang/Object", "clone", "()Ljava/lang/Object;"},
	{"[", "clone", "()Ljava/lang/Object;"}, /* of any array */
	{"java/util/Arrays", "copyOf", "([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;"},
	{"java/util/Arrays", "copyOfRange", "([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object;"},
	{"java/lang/reflect/Array", "newArray", "(Ljava/lang/Class;I)Ljava/lang/Object;"},
	{"java/lang/StringUTF16", "toBytes", "([CII)[B"},
	{"java/math/BigInteger", "multiplyToLen", "([II[II[I)[I"},
	{"java/math/BigInteger", "implMultiplyToLen", "([II[II[I)[I"},
	{"sun/misc/Unsafe", "allocateInstance", "(Ljava/lang/Class;)Ljava/lang/Object;"},
	{"jdk/internal/misc/Unsafe", "allocateInstance", "(Ljava/lang/Class;)Ljava/lang/Object;"},
	{"jdk/internal/misc/Unsafe", "allocateUninitializedArray0", "(Ljava/lang/Class;I)Ljava/lang/Object;"},
};

static bool is_of_maker(const struct class_file *c, unsigned class_name, const struct maker *m)
{
	struct reader r = class_text(c, class_name);

	if (*m->class_name == '[')
		return !r.bad && r.size && *r.p == '[';
	return class_text_is(c, class_name, m->class_name);
}

bool class_names_maker(const struct class_file *c, unsigned index)
{
	struct reader r = constant(c, index, METHODREF), klass, what;
	unsigned class_name, name, type;

	klass = constant(c, r.bad ? 0 : read_u2(&r), CLASS);
	what = constant(c, r.bad ? 0 : read_u2(&r), NAME_AND_TYPE);
	class_name = klass.bad ? 0 : read_u2(&klass);
	name = what.bad ? 0 : read_u2(&what);
	type = what.bad ? 0 : read_u2(&what);
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
		if (class_text_is(c, name, makers[i].name) && class_text_is(c, type, makers[i].type) &&
		    is_of_maker(c, class_name, &makers[i]))
			return true;
	return false;
}
