#include "tests/integration/jvm_target.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/base/map.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"

struct jvm_symbol {
	char *name;
	uint64_t addr;
	UT_hash_handle hh;
};

struct jvm_symbols {
	struct jvm_symbol *head;
	uint64_t bias;
};

static void symbol_add(struct jvm_symbols *s, const char *name, uint64_t value)
{
	struct jvm_symbol *e = NULL;

	HASH_FIND_STR(s->head, name, e);
	if (e || value == 0)
		return;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->name = strdup(name);
	e->addr = value + s->bias;
	HASH_ADD_KEYPTR(hh, s->head, e->name, strlen(e->name), e);
}

static void symbols_read(struct jvm_symbols *s, Elf *elf)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr sh;
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);

			if (name && GELF_ST_TYPE(sym.st_info) == STT_OBJECT)
				symbol_add(s, name, sym.st_value);
		}
	}
}

static int symbols_open(struct jvm_target *t, const struct mapping *m)
{
	int fd = open(m->path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	t->symbols = calloc(1, sizeof(*t->symbols));
	if (!elf || !t->symbols)
		return -ENOEXEC;
	/* The first segment of a shared library stands at address 0 of the file. */
	t->symbols->bias = m->start;
	symbols_read(t->symbols, elf);
	elf_end(elf);
	close(fd);
	return 0;
}

static int libjvm_open(struct jvm_target *t, struct err *err)
{
	struct maps *maps;
	int r = maps_open(t->proc, NULL, &maps, err);

	if (r)
		return r;
	r = -ENOENT;
	for (size_t i = 0; i < maps_count(maps) && r == -ENOENT; i++) {
		const struct mapping *m = maps_at(maps, i);
		size_t len = strlen(m->path);

		if (len >= 10 && strcmp(m->path + len - 10, "/libjvm.so") == 0)
			r = symbols_open(t, m);
	}
	maps_close(maps);
	return r ? err_set(err, r, "no libjvm.so") : 0;
}

int jvm_target_open(pid_t pid, struct jvm_target *ret)
{
	struct err err = {0};
	int r;

	memset(ret, 0, sizeof(*ret));
	r = proc_open(pid, &ret->proc, &err);
	if (r == 0)
		r = mem_live_open(ret->proc, &ret->mem, &err);
	if (r == 0)
		r = libjvm_open(ret, &err);
	if (r) {
		fprintf(stderr, "PID %d: %s\n", (int)pid, err.msg);
		jvm_target_close(ret);
	}
	return r;
}

void jvm_target_close(struct jvm_target *t)
{
	struct jvm_symbol *e, *next;

	mem_free(t->mem);
	proc_close(t->proc);
	if (!t->symbols)
		return;
	HASH_ITER(hh, t->symbols->head, e, next)
	{
		HASH_DEL(t->symbols->head, e);
		free(e->name);
		free(e);
	}
	free(t->symbols);
}

bool jvm_target_symbol(void *ctx, const char *name, uint64_t *ret)
{
	struct jvm_target *t = ctx;
	struct jvm_symbol *e = NULL;

	HASH_FIND_STR(t->symbols->head, name, e);
	if (e)
		*ret = e->addr;
	return e != NULL;
}
