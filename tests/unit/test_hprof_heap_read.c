#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "jvm-bridge/host/dumps/dump_write.h"
#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/tables/heap_read.h"

enum { MARKER = 0x1000, OTHER = 0x2000, POINT = 0x3000, OBJECT = 0x4000, RECORDS = 16 };

struct hprof hprof;

static char said[256];
static jobjectID asked; /* of RequestEvent */

static struct {
	char bytes[4096];
	char *end;
} dump;

static struct {
	struct heap_record at[RECORDS];
	int n, stop; /* stop: the record that f refuses; 0: none */
} got;

void hprof_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

static void *id_of(uintptr_t id)
{
	return (void *)id;
}

static jint request(jint type, void *arg)
{
	(void)type;
	asked = arg;
	return JVMPI_FAIL;
}

static JVMPI_Interface jvmpi = {.RequestEvent = request};

static void load(uintptr_t id, const char *name, jint interfaces, JVMPI_Field *statics, jint n_statics)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_CLASS_LOAD};
	char copy[16];

	snprintf(copy, sizeof(copy), "%s", name);
	e.u.class_load.class_id = id_of(id);
	e.u.class_load.class_name = copy;
	e.u.class_load.num_interfaces = interfaces;
	e.u.class_load.statics = statics;
	e.u.class_load.num_static_fields = n_statics;
	class_loaded(&e);
}

static char **at(void)
{
	return &dump.end;
}

static void class_put(uintptr_t id, int interfaces, size_t statics_size)
{
	char *p = put_pointer(put_u1(*at(), JVMPI_GC_CLASS_DUMP), id_of(id));

	for (int i = 0; i < 6; i++)
		p = put_pointer(p, NULL);
	p = put_u4(p, 12);
	for (int i = 0; i < interfaces; i++)
		p = put_pointer(p, id_of(OTHER));
	p = put_big(p, 0, 2);
	memset(p, 0, statics_size);
	*at() = p + statics_size;
}

static void instance_put(uintptr_t of)
{
	char *p = put_pointer(put_pointer(put_u1(*at(), JVMPI_GC_INSTANCE_DUMP), id_of(OBJECT)), id_of(of));

	*at() = put_u4(put_u4(p, 4), 0x01020304);
}

static void primitives_put(unsigned type, uint32_t n, size_t bytes)
{
	char *p = put_u4(put_pointer(put_u1(*at(), JVMPI_GC_PRIM_ARRAY_DUMP), id_of(OBJECT)), n);

	*at() = put_big(put_u1(p, type), 7, bytes);
}

static const struct object *made[] = {(const struct object *)&dump};

static bool keep(const struct heap_record *r, void *arg)
{
	(void)arg;
	assert_true(got.n < RECORDS);
	assert_ptr_equal(r->made, r->number ? NULL : made[0]); /* known of the first record only */
	got.at[got.n++] = *r;
	return got.n != got.stop;
}

static bool read_all(bool primitives)
{
	struct heap_dump d = {.begin = (unsigned char *)dump.bytes,
			      .end = (unsigned char *)dump.end,
			      .primitives = primitives,
			      .made = made,
			      .n_made = 1};

	memset(&got, 0, offsetof(__typeof__(got), stop));
	said[0] = 0;
	return heap_read(&d, keep, NULL);
}

static int begin(void **state)
{
	(void)state;
	hprof.jvmpi = &jvmpi;
	dump.end = dump.bytes;
	got.stop = 0;
	return 0;
}

static int forget(void **state)
{
	(void)state;
	class_unloaded(id_of(MARKER));
	class_unloaded(id_of(POINT));
	return 0;
}

/* interface Marker extends Other {}: asked about before it is linked, the JVM knows nothing of it but its name. */
static void linked_later(void **state)
{
	(void)state;
	load(MARKER, "Marker", 0, NULL, 0);
	load(MARKER, "Marker", 1, NULL, 0);
	class_put(MARKER, 1, 0);
	*at() = put_pointer(put_u1(*at(), JVMPI_GC_ROOT_STICKY_CLASS), id_of(MARKER));
	assert_true(read_all(true));
	assert_int_equal(got.n, 2);
	assert_ptr_equal(got.at[1].id, id_of(MARKER));
}

static void each_record(void **state)
{
	static char names[2][4] = {"on", "all"}, signatures[2][4] = {"I", "[J"};
	JVMPI_Field statics[] = {{names[0], signatures[0]}, {names[1], signatures[1]}};

	(void)state;
	load(POINT, "Point", 2, statics, 2);
	*at() = put_u4(put_pointer(put_pointer(put_u1(*at(), JVMPI_GC_ROOT_JAVA_FRAME), id_of(OBJECT)), id_of(5)), 9);
	class_put(POINT, 2, 4 + 8);
	instance_put(POINT);
	primitives_put(JVMPI_SHORT, 3, 6);
	assert_true(read_all(true));
	assert_int_equal(got.n, 4);
	assert_true(got.at[0].depth == 9 && got.at[0].env == id_of(5) && got.at[0].id == id_of(OBJECT));
	assert_true(got.at[1].class && got.at[1].bytes == 12 && !strcmp(got.at[1].class->name, "Point"));
	assert_ptr_equal(got.at[2].class, got.at[1].class);
	assert_int_equal(got.at[2].values[3], 4);
	assert_true(got.at[3].n == 3 && got.at[3].type == (unsigned)JVMPI_SHORT && got.at[3].values[5] == 7);
}

/* Level 1 has references only. */
static void without_primitives(void **state)
{
	static char names[2][4] = {"on", "all"}, signatures[2][4] = {"I", "[J"};
	JVMPI_Field statics[] = {{names[0], signatures[0]}, {names[1], signatures[1]}};

	(void)state;
	load(POINT, "Point", 0, statics, 2);
	class_put(POINT, 0, 8);
	primitives_put(JVMPI_SHORT, 3, 0);
	assert_true(read_all(false));
	assert_int_equal(got.n, 2);
}

static void unknown_classes(void **state)
{
	(void)state;
	instance_put(0x7777);
	*at() = put_pointer(put_u1(*at(), JVMPI_GC_ROOT_UNKNOWN), id_of(OBJECT));
	assert_true(read_all(true));
	assert_ptr_equal(asked, id_of(0x7777));
	assert_int_equal(got.n, 1); /* the instance is left out */
	class_put(0x7777, 0, 0);
	assert_false(read_all(true));
	assert_non_null(strstr(said, "byte 34 on: record 0x20 of an unknown class"));
}

/* Wherever a dump breaks off inside a record, and of lengths that no dump has. */
static void broken(void **state)
{
	char *whole;

	(void)state;
	load(POINT, "Point", 2, NULL, 0);
	class_put(POINT, 2, 0);
	whole = dump.end;
	for (dump.end = dump.bytes + 1; dump.end < whole; dump.end++) {
		assert_false(read_all(true));
		assert_int_equal(got.n, 0);
	}
	dump.end = dump.bytes;
	primitives_put(JVMPI_LONG, UINT32_MAX, 8);
	assert_false(read_all(true));
	dump.end = put_pointer(put_u1(dump.bytes, 0x99), NULL);
	assert_false(read_all(true));
	assert_non_null(strstr(said, "record 0x99"));
}

static void refused(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		*at() = put_pointer(put_u1(*at(), JVMPI_GC_ROOT_UNKNOWN), id_of(OBJECT));
	got.stop = 2;
	assert_false(read_all(true));
	assert_int_equal(got.n, 2);
	assert_string_equal(said, "");
}

static void types(void **state)
{
	static const char letters[] = "ZCFDBSIJ";
	static const size_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8};
	struct heap_dump d = {.primitives = true};

	(void)state;
	for (unsigned i = 0; letters[i]; i++) {
		assert_int_equal(heap_type(letters[i]), (unsigned)JVMPI_BOOLEAN + i);
		assert_int_equal(heap_value_size(&d, letters[i]), sizes[i]);
	}
	assert_int_equal(heap_type('L'), JVMPI_CLASS);
	assert_int_equal(heap_type(0), JVMPI_CLASS);
	d.primitives = false;
	assert_int_equal(heap_value_size(&d, 'J'), 0);
	assert_int_equal(heap_value_size(&d, '['), sizeof(jobjectID));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, forget)
	const struct CMUnitTest tests[] = {
		TEST(linked_later), TEST(each_record), TEST(without_primitives), TEST(unknown_classes), TEST(broken),
		TEST(refused),      TEST(types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
