#include "symbolizer/hotspot/hs_private.h"

/* java.lang.Thread objects. The proof that one is the right one: its eetop is the JavaThread*. */

/* Longer names are cut: they come from the target. */
enum { NAME_MAX_CHARS = 4096 };

bool thread_oop(struct hotspot *hs, const struct hs_thread *t, uint64_t *ret)
{
	uint64_t slot = t->addr + hs->l.jt_thread_obj.at;

	/* An oop up to 16, a pointer to the slot with the oop from then on. */
	if (hs->l.jt_thread_obj.handle && (!mem_read_u64(hs->mem, slot, &slot) || !object_ok(slot)))
		return false;
	return oop_from_slot(hs, slot, ret);
}

/* From the first Thread and the first String met. */
static bool offsets_read(struct hotspot *hs, uint64_t thread)
{
	struct java_offsets *o = &hs->java;
	uint64_t klass = klass_find_super(hs, oop_klass(hs, thread), "java/lang/Thread"), name;

	if (!klass)
		return false;
	o->thread_name = klass_field_offset(hs, klass, "name", "Ljava/lang/String;");
	o->thread_eetop = klass_field_offset(hs, klass, "eetop", "J");
	if (o->thread_name < 0 || o->thread_eetop < 0 ||
		!oop_load(hs, thread + (uint64_t)o->thread_name, &name))
		return false;
	klass = oop_klass(hs, name);
	if (!klass || !klass_name_is(hs, klass, "java/lang/String"))
		return false;
	o->string_klass = klass;
	o->string_coder = klass_field_offset(hs, klass, "coder", "B");
	/* JDK 8: char[], no coder. */
	o->string_value = klass_field_offset(hs, klass, "value", o->string_coder < 0 ? "[C" : "[B");
	o->known = o->string_value >= 0;
	return o->known;
}

static uint64_t array_length_offset(const struct heap_mode *m)
{
	if (m->compact_headers)
		return 8;
	return m->narrow_klasses ? 12 : 16;
}

/* Elements follow the length; with whole class pointers they were 8-aligned up to JDK 22. */
static uint64_t array_data(struct hotspot *hs, uint64_t length_at)
{
	return length_at == 16 && hs->version.major < 23 ? 24 : length_at + 4;
}

static bool string_read(struct hotspot *hs, uint64_t string, char *buf, size_t size)
{
	uint8_t bytes[2 * NAME_MAX_CHARS], coder = 1;
	uint64_t array, length_at = array_length_offset(&hs->heap_mode);
	uint32_t length;

	/* The collector may have moved it, and something else be there. */
	if (oop_klass(hs, string) != hs->java.string_klass)
		return false;
	if (!oop_load(hs, string + (uint64_t)hs->java.string_value, &array) ||
		!mem_read_u32(hs->mem, array + length_at, &length))
		return false;
	if (hs->java.string_coder >= 0 &&
		(!mem_read_u8(hs->mem, string + (uint64_t)hs->java.string_coder, &coder) || coder > 1))
		return false;
	/* In bytes, but for JDK 8's characters. */
	if (hs->java.string_coder < 0)
		length = length < NAME_MAX_CHARS ? 2 * length : sizeof(bytes);
	if (length > (coder ? sizeof(bytes) : NAME_MAX_CHARS))
		length = coder ? sizeof(bytes) : NAME_MAX_CHARS;
	if (length && !mem_read(hs->mem, array + array_data(hs, length_at), bytes, length))
		return false;
	if (coder)
		utf8_from_utf16(buf, size, bytes, length / 2);
	else
		utf8_from_latin1(buf, size, bytes, length);
	return true;
}

bool thread_oop_name(struct hotspot *hs, uint64_t thread, char *buf, size_t size)
{
	uint64_t name;

	return (hs->java.known || offsets_read(hs, thread)) &&
		oop_load(hs, thread + (uint64_t)hs->java.thread_name, &name) &&
		string_read(hs, name, buf, size);
}

bool hs_thread_name(struct hotspot *hs, const struct hs_thread *t, char *buf, size_t size)
{
	uint64_t thread, eetop, name;

	if (size == 0 || !hs->l.jt_thread_obj.ok || !heap_mode_read(hs) || !thread_oop(hs, t, &thread))
		return false;
	if (!hs->java.known && !offsets_read(hs, thread)) {
		if (!hs->java.tried)
			hs_note(hs, "the fields of java.lang.Thread were not found: threads have "
				    "the kernel's names");
		hs->java.tried = true;
		return false;
	}
	return mem_read_u64(hs->mem, thread + (uint64_t)hs->java.thread_eetop, &eetop) &&
		eetop == t->addr && oop_load(hs, thread + (uint64_t)hs->java.thread_name, &name) &&
		string_read(hs, name, buf, size);
}
