/*
 * Prints the native stacks of all threads of a process that stands still:
 *
 *     native_stacks PID
 *
 * Each thread is stopped while it is walked. A walk ends at compiled Java code, which no table describes. Files are
 * opened as the process sees them.
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 48 };

struct frames {
	Dwfl *dwfl;
	unsigned n;
};

static int target;

/* In another mount namespace the name in the maps is another file. */
static int find_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
	char path[4096];

	if (name[0] == '/' && snprintf(path, sizeof(path), "/proc/%d/root%s", target, name) < (int)sizeof(path)) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		*file = fd >= 0 ? strdup(path) : NULL;
		if (fd >= 0)
			return fd;
	}
	return dwfl_linux_proc_find_elf(mod, data, name, base, file, elf);
}

static int frame_print(Dwfl_Frame *frame, void *arg)
{
	struct frames *f = arg;
	Dwarf_Addr pc, start = 0;
	bool activation;
	Dwfl_Module *mod;
	const char *file, *symbol = NULL;
	GElf_Off offset = 0;
	GElf_Sym sym;

	if (!dwfl_frame_pc(frame, &pc, &activation) || f->n++ == FRAMES)
		return DWARF_CB_ABORT;
	mod = dwfl_addrmodule(f->dwfl, activation ? pc : pc - 1);
	file = mod ? dwfl_module_info(mod, NULL, &start, NULL, NULL, NULL, NULL, NULL) : NULL;
	if (mod)
		symbol = dwfl_module_addrinfo(mod, activation ? pc : pc - 1, &offset, &sym, NULL, NULL, NULL);
	printf("    %016llx %s+0x%llx%s%s\n", (unsigned long long)pc, file ? file : "?",
	       (unsigned long long)(pc - start), symbol ? " " : "", symbol ? symbol : "");
	return DWARF_CB_OK;
}

static int thread_print(Dwfl_Thread *thread, void *arg)
{
	struct frames f = {.dwfl = arg};
	char path[64], comm[64] = "?";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)dwfl_thread_tid(thread));
	file = fopen(path, "re");
	if (file) {
		if (fgets(comm, sizeof(comm), file))
			comm[strcspn(comm, "\n")] = 0;
		fclose(file);
	}
	printf("thread %d %s\n", (int)dwfl_thread_tid(thread), comm);
	dwfl_thread_getframes(thread, frame_print, &f); /* where it ends early, what there was is printed */
	return DWARF_CB_OK;
}

int main(int argc, char **argv)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = dwfl_standard_find_debuginfo};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	target = argc == 2 ? atoi(argv[1]) : 0;
	if (!dwfl || target <= 0) {
		fprintf(stderr, "usage: native_stacks PID\n");
		return 2;
	}
	if (dwfl_linux_proc_report(dwfl, target) || dwfl_report_end(dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(dwfl, target, false) || dwfl_getthreads(dwfl, thread_print, dwfl)) {
		fprintf(stderr, "native_stacks: process %d: %s\n", target, dwfl_errmsg(-1));
		return 1;
	}
	dwfl_end(dwfl);
	return 0;
}
