#include "symbolizer/hotspot/flags.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/cstrs.h"
#include "symbolizer/hotspot/hs_private.h"

enum { FLAGS_MAX = 8192 };

/* JVMFlag::_type is a number from 17 on (runtime/flags/jvmFlag.hpp: bool, int, uint, intx, uintx,
 * uint64_t, size_t, double, ccstr, ccstrlist), a text before. */
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

static void flags_fill(struct hotspot *hs, const uint8_t *raw, size_t n, const char **texts)
{
	const struct hs_layout *l = &hs->l;

	for (size_t i = 0; i < n; i++) {
		struct bytes b = {raw + i * l->size.flag, l->size.flag};

		hs->flags[i] = (struct vm_flag){
			.name = texts[2 * i],
			.addr = bytes_get(b, l->flag_addr),
			.origin = (uint8_t)(bytes_get(b, l->flag_origin) & 15),
			.width = l->flag_type_is_text ? width_by_text(texts[2 * i + 1]) :
							width_by_number(bytes_get(b, l->flag_type)),
		};
	}
	hs->n_flags = n;
}

static int flags_read(struct hotspot *hs)
{
	const struct hs_layout *l = &hs->l;
	uint8_t *raw CLEANUP(free_at_exit) = NULL;
	uint64_t *at CLEANUP(free_at_exit) = NULL;
	const char **texts CLEANUP(free_at_exit) = NULL;
	uint64_t array, n;

	if (!hs_get(hs, 0, l->flags_array, &array) || !hs_get(hs, 0, l->flags_count, &n) ||
		n == 0 || n > FLAGS_MAX)
		return -ENOENT;
	raw = malloc(n * l->size.flag);
	at = calloc(2 * n, sizeof(*at));
	texts = calloc(2 * n, sizeof(*texts));
	hs->flags = calloc(n, sizeof(*hs->flags));
	if (!raw || !at || !texts || !hs->flags)
		return -ENOMEM;
	if (!hs_read_fresh(hs, array, raw, (uint32_t)(n * l->size.flag)))
		return -EFAULT;
	for (uint64_t i = 0; i < n; i++) {
		struct bytes b = {raw + i * l->size.flag, l->size.flag};

		at[2 * i] = bytes_get(b, l->flag_name);
		at[2 * i + 1] = l->flag_type_is_text ? bytes_get(b, l->flag_type) : 0;
	}
	if (cstrs_read(hs->mem, at, 2 * n, &hs->flag_arena, texts) < 0)
		return -ENOMEM;
	flags_fill(hs, raw, n, texts);
	return 0;
}

static const struct vm_flag *flag_find(struct hotspot *hs, const char *name)
{
	if (!hs->flags && flags_read(hs) < 0)
		return NULL;
	for (size_t i = 0; i < hs->n_flags; i++)
		if (hs->flags[i].name && strcmp(hs->flags[i].name, name) == 0)
			return &hs->flags[i];
	return NULL;
}

int hotspot_flag(struct hotspot *hs, const char *name, uint64_t *ret, int *ret_origin)
{
	const struct vm_flag *f = flag_find(hs, name);
	uint64_t v = 0;

	if (!f)
		return -ENOENT;
	if (!addr_ok(f->addr) || !mem_read(hs->mem, f->addr, &v, f->width))
		return -EFAULT;
	*ret = v;
	if (ret_origin)
		*ret_origin = f->origin;
	return 0;
}

bool hs_flag_true(struct hotspot *hs, const char *name)
{
	uint64_t v;

	return hotspot_flag(hs, name, &v, NULL) == 0 && v != 0;
}
