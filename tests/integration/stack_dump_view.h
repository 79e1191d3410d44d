#ifndef JS_TESTS_STACK_DUMP_VIEW_H
#define JS_TESTS_STACK_DUMP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "sampler/model/raw_sample.h"
#include "sampler/model/walk.h"

struct hotspot;
struct maps;
struct mem;
struct modmap;
struct proc;
struct unwinder;

/* A running JVM as the unwinder needs it. */
struct view {
	struct proc *proc;
	struct maps *maps;
	struct mem *mem;
	struct modmap *modmap;
	struct hotspot *hs;
	struct unwinder *unwinder;
	int major;
};

bool view_open(struct view *v, pid_t pid); /* says on stderr why not */
void view_close(struct view *v);

/* A thread's user registers as ptrace gives them, as a sample without copied stack. */
void view_sample(struct raw_sample *s, pid_t pid, pid_t tid, const struct user_regs_struct *regs);

/* Java frames of a walk by name, leaf first: "java/lang/Thread.run". */
enum { VIEW_NAME = 160 };

struct view_frame {
	char name[VIEW_NAME];
	bool interpreted;
};

/* Returns the count. *physical: Java activations, inlined ones not counted. */
size_t view_names(struct view *v, const struct walk *walk, struct view_frame *ret, size_t max, size_t *physical);

#endif
