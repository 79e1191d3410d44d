#include "symbolizer/hotspot/objects/java_objects.h"
#include "symbolizer/hotspot/reader/utf8.h"

/* java.lang.Thread and java.lang.String. */

/* Longer names are truncated, since they come from the target. */
enum { NAME_MAX_CHARS = 4096 };

/* Learned from the first Thread and the first String. */
static bool offsets_read(struct java_objects *o, uint64_t thread)
{
	struct java_offsets *f = &o->java;
	uint64_t klass = klass_find_super(o->jvm, oop_klass(o->jvm, thread), "java/lang/Thread"), name;

	if (!klass)
		return false;
	f->thread_name = klass_field_offset(o->jvm, klass, "name", "Ljava/lang/String;");
	f->thread_eetop = klass_field_offset(o->jvm, klass, "eetop", "J");
	if (f->thread_name < 0 || f->thread_eetop < 0 || !oop_load(o->jvm, thread + (uint64_t)f->thread_name, &name))
		return false;
	klass = oop_klass(o->jvm, name);
	if (!klass || !klass_name_is(o->jvm, klass, "java/lang/String"))
		return false;
	f->string_klass = klass;
	f->string_coder = klass_field_offset(o->jvm, klass, "coder", "B");
	/* JDK 8 has char[] and no coder. */
	f->string_value = klass_field_offset(o->jvm, klass, "value", f->string_coder < 0 ? "[C" : "[B");
	f->known = f->string_value >= 0;
	return f->known;
}

static uint64_t array_length_offset(const struct heap_mode *m)
{
	if (m->compact_headers)
		return 8;
	return m->narrow_klasses ? 12 : 16;
}

/* Elements follow the length. With full-width class pointers they were 8-aligned up to JDK 22. */
static uint64_t array_data(const struct jvm *jvm, uint64_t length_at)
{
	return length_at == 16 && jvm->version.major < 23 ? 24 : length_at + 4;
}

static bool string_read(struct java_objects *o, uint64_t string, char *buf, size_t size)
{
	uint8_t bytes[2 * NAME_MAX_CHARS], coder = 1;
	uint64_t array, length_at = array_length_offset(&o->jvm->heap_mode);
	uint32_t length;

	/* The collector may have moved it, so that something else is there. */
	if (oop_klass(o->jvm, string) != o->java.string_klass)
		return false;
	if (!oop_load(o->jvm, string + (uint64_t)o->java.string_value, &array) ||
	    !mem_read_u32(o->jvm->mem, array + length_at, &length))
		return false;
	if (o->java.string_coder >= 0 &&
	    (!mem_read_u8(o->jvm->mem, string + (uint64_t)o->java.string_coder, &coder) || coder > 1))
		return false;
	/* The length is in bytes, except for JDK 8's char[]. */
	if (o->java.string_coder < 0)
		length = length < NAME_MAX_CHARS ? 2 * length : sizeof(bytes);
	if (length > (coder ? sizeof(bytes) : NAME_MAX_CHARS))
		length = coder ? sizeof(bytes) : NAME_MAX_CHARS;
	if (length && !mem_read(o->jvm->mem, array + array_data(o->jvm, length_at), bytes, length))
		return false;
	if (coder)
		utf8_from_utf16(buf, size, bytes, length / 2);
	else
		utf8_from_latin1(buf, size, bytes, length);
	return true;
}

bool java_thread_known(struct java_objects *o, uint64_t thread)
{
	return o->java.known || offsets_read(o, thread);
}

bool java_thread_name(struct java_objects *o, uint64_t thread, char *buf, size_t size)
{
	uint64_t name;

	return java_thread_known(o, thread) && oop_load(o->jvm, thread + (uint64_t)o->java.thread_name, &name) &&
	       string_read(o, name, buf, size);
}

bool java_thread_eetop(struct java_objects *o, uint64_t thread, uint64_t *ret)
{
	return java_thread_known(o, thread) && mem_read_u64(o->jvm->mem, thread + (uint64_t)o->java.thread_eetop, ret);
}

/* Learned from the first Thread. */
static bool status_offset_read(struct java_objects *o, uint64_t thread)
{
	struct java_offsets *f = &o->java;
	uint64_t klass = klass_find_super(o->jvm, oop_klass(o->jvm, thread), "java/lang/Thread"), holder;

	if (!klass)
		return false;
	f->thread_holder = klass_field_offset(o->jvm, klass, "holder", "Ljava/lang/Thread$FieldHolder;");
	if (f->thread_holder < 0) {
		f->status = klass_field_offset(o->jvm, klass, "threadStatus", "I");
	} else {
		if (!oop_load(o->jvm, thread + (uint64_t)f->thread_holder, &holder))
			return false;
		klass = holder ? oop_klass(o->jvm, holder) : 0;
		f->status = klass ? klass_field_offset(o->jvm, klass, "threadStatus", "I") : -1;
	}
	f->status_known = f->status >= 0;
	return f->status_known;
}

bool java_thread_status(struct java_objects *o, uint64_t thread, uint32_t *ret)
{
	if (!o->java.status_known && !status_offset_read(o, thread))
		return false;
	if (o->java.thread_holder >= 0 &&
	    (!oop_load(o->jvm, thread + (uint64_t)o->java.thread_holder, &thread) || !thread))
		return false;
	return mem_read_u32(o->jvm->mem, thread + (uint64_t)o->java.status, ret);
}
