/* The records of heap dumps, with the references still empty. */
#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/dumps/dump.h"
#include "jvm-bridge/host/dumps/dump_write.h"

size_t class_record_size(const struct class_layout *c)
{
	return CLASS_AT_INTERFACES + 8 * (size_t)c->n_interfaces + 2 + c->static_bytes;
}

void class_record(char *p, const struct class_layout *c)
{
	char *at = p + CLASS_AT_INTERFACES;

	put_pointer(put_u1(p, JVMPI_GC_CLASS_DUMP), c->id);
	put_pointer(p + CLASS_AT_SUPER, c->super ? c->super->id : NULL);
	put_u4(p + CLASS_AT_SIZE, c->bytes);
	for (jint i = 0; i < c->n_interfaces; i++)
		at = put_pointer(at, c->interfaces[i]);
	/* no constant pool, like HotSpot's own dumps */
}

void instance_record(char *p, const struct object_id *id, const struct class_layout *c)
{
	p = put_pointer(put_u1(p, JVMPI_GC_INSTANCE_DUMP), id);
	put_u4(put_pointer(p, c->id), c->bytes);
}

void objects_record(char *p, const struct object_id *id, const struct class_layout *c, jint length)
{
	p = put_pointer(put_u1(p, JVMPI_GC_OBJ_ARRAY_DUMP), id);
	put_pointer(put_u4(p, (uint32_t)length), c->element_class);
}

void primitives_record(char *p, const struct object_id *id, char type, jint length)
{
	p = put_pointer(put_u1(p, JVMPI_GC_PRIM_ARRAY_DUMP), id);
	put_u1(put_u4(p, (uint32_t)length), (unsigned)jvmpi_type(type));
}
