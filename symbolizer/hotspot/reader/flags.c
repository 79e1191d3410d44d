#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/reader/cstrs.h"
#include "symbolizer/hotspot/reader/jvm.h"

enum { FLAGS_MAX = 8192 };

/* One entry of the JVM's flag table. */
struct vm_flag {
	const char *name;
	uint64_t addr; /* of the value */
	uint8_t width, origin;
};

/*
 * JVMFlag::_type is a string up to JDK 16, and a number from 17 on (runtime/flags/jvmFlag.hpp: bool, int, uint, intx,
 * uintx, uint64_t, size_t, double, ccstr, ccstrlist).
 */
static uint8_t width_by_number(uint64_t type)
{
	return type == 0 ? 1 : type <= 2 ? 4 : 8;
}

static uint8_t width_by_text(const char *type)
{
	if (!type)
		return 8;
	return strcmp(type, "bool") == 0 ? 1 : strcmp(type, "int") == 0 || strcmp(type, "uint") == 0 ? 4 : 8;
}

static void flags_fill(struct jvm *jvm, const uint8_t *raw, size_t n, const char **texts)
{
	const struct hs_layout *l = &jvm->l;

	for (size_t i = 0; i < n; i++) {
		struct bytes b = {raw + i * l->size.flag, l->size.flag};

		jvm->flags[i] = (struct vm_flag){
			.name = texts[2 * i],
			.addr = bytes_get(b, l->flag_addr),
			.origin = (uint8_t)(bytes_get(b, l->flag_origin) & 15),
			.width = l->flag_type_is_text ? width_by_text(texts[2 * i + 1]) :
							width_by_number(bytes_get(b, l->flag_type)),
		};
	}
	jvm->n_flags = n;
}

static int flags_read(struct jvm *jvm)
{
	const struct hs_layout *l = &jvm->l;
	uint8_t *raw CLEANUP(free_at_exit) = NULL;
	uint64_t *at CLEANUP(free_at_exit) = NULL;
	const char **texts CLEANUP(free_at_exit) = NULL;
	uint64_t array, n;

	if (!jvm_get(jvm, 0, l->flags_array, &array) || !jvm_get(jvm, 0, l->flags_count, &n) || n == 0 || n > FLAGS_MAX)
		return -ENOENT;
	raw = malloc(n * l->size.flag);
	at = calloc(2 * n, sizeof(*at));
	texts = calloc(2 * n, sizeof(*texts));
	jvm->flags = calloc(n, sizeof(*jvm->flags));
	if (!raw || !at || !texts || !jvm->flags)
		return -ENOMEM;
	if (!jvm_read_fresh(jvm, array, raw, (uint32_t)(n * l->size.flag)))
		return -EFAULT;
	for (uint64_t i = 0; i < n; i++) {
		struct bytes b = {raw + i * l->size.flag, l->size.flag};

		at[2 * i] = bytes_get(b, l->flag_name);
		at[2 * i + 1] = l->flag_type_is_text ? bytes_get(b, l->flag_type) : 0;
	}
	if (cstrs_read(jvm->mem, at, 2 * n, &jvm->flag_arena, texts) < 0)
		return -ENOMEM;
	flags_fill(jvm, raw, n, texts);
	return 0;
}

static const struct vm_flag *flag_find(struct jvm *jvm, const char *name)
{
	if (!jvm->flags && flags_read(jvm) < 0)
		return NULL;
	for (size_t i = 0; i < jvm->n_flags; i++)
		if (jvm->flags[i].name && strcmp(jvm->flags[i].name, name) == 0)
			return &jvm->flags[i];
	return NULL;
}

int jvm_flag(struct jvm *jvm, const char *name, uint64_t *ret, int *ret_origin)
{
	const struct vm_flag *f = flag_find(jvm, name);
	uint64_t v = 0;

	if (!f)
		return -ENOENT;
	if (!addr_ok(f->addr) || !mem_read(jvm->mem, f->addr, &v, f->width))
		return -EFAULT;
	*ret = v;
	if (ret_origin)
		*ret_origin = f->origin;
	return 0;
}

bool jvm_flag_true(struct jvm *jvm, const char *name)
{
	uint64_t v;

	return jvm_flag(jvm, name, &v, NULL) == 0 && v != 0;
}
