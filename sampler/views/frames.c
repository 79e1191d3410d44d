#include "sampler/views/frames.h"

#include <errno.h>
#include <string.h>

static const struct named_line no_line = {.kind = NAMED_UNKNOWN, .bci = -1};

static bool add_location(struct frames *f, const struct named_profile *np, uint32_t location)
{
	const struct named_location *loc = &np->locations[location];

	for (uint32_t i = 0; i < loc->n_lines; i++)
		if (!vec_push(&f->list, &np->lines[loc->first_line + i]))
			return false;
	return loc->n_lines || vec_push(&f->list, &no_line);
}

int frames_of(struct frames *f, const struct named_profile *np, uint32_t stack)
{
	const struct named_stack *s = &np->stacks[stack];

	f->list.n = 0;
	for (uint32_t k = 0; k < s->n; k++)
		if (!add_location(f, np, np->stack_locations[s->first + k]))
			return -ENOMEM;
	return s->n || vec_push(&f->list, &no_line) ? 0 : -ENOMEM;
}

static bool is_java(const struct named_line *l)
{
	return l->kind == NAMED_INTERPRETED || l->kind == NAMED_C1 || l->kind == NAMED_C2 || l->kind == NAMED_INLINED ||
	       l->kind == NAMED_JAVA_NATIVE;
}

static bool is_of_jvm(const struct named_profile *np, const struct named_location *loc)
{
	static const char *const files[] = {"libjvm.so", "libjli.so", "libc.so", "libc-", "libpthread", "ld-", "java"};
	const char *file = named_string(np, np->mappings[loc->mapping].file), *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;

	if (loc->n_lines && np->lines[loc->first_line].kind == NAMED_STUB)
		return true;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (strncmp(name, files[i], strlen(files[i])) == 0)
			return strcmp(files[i], "java") != 0 || !name[4];
	return false;
}

/* --- Frames without a file, as in folded text: only their names tell where the JVM begins. */

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* Functions of libjvm through which threads enter it, or others call it. */
static bool is_entry_of_jvm(const char *name)
{
	static const char *const starts[] = {"thread_native_entry", "java_start", NULL};

	return strncmp(name, "jni_", 4) == 0 || strncmp(name, "JNI_", 4) == 0 || is_one_of(name, starts);
}

static bool is_of_launcher(const char *name)
{
	static const char *const names[] = {"clone",
					    "clone3",
					    "__clone",
					    "__clone3",
					    "start_thread",
					    "[libc.so.6]",
					    "[libpthread.so.0]",
					    "ThreadJavaMain",
					    "JavaMain",
					    "InitializeJVM",
					    "LoadMainClass",
					    "LoadClass",
					    "GetLauncherHelperClass",
					    "FindBootStrapClass",
					    "GetApplicationClass",
					    "NewPlatformString",
					    "NewPlatformStringArray",
					    "CreateApplicationArgs",
					    "PostJVMInit",
					    "[libjli.so]",
					    NULL};

	return is_one_of(name, names);
}

/* May the frame, without a file, start a thread? *in_jvm: its callers have entered the JVM; updated. */
static bool is_of_jvm_by_name(const struct named_profile *np, const struct named_line *l, bool *in_jvm)
{
	const char *name = named_string(np, frame_name(np, l));

	if (l->kind != NAMED_NATIVE && l->kind != NAMED_STUB)
		return false;
	*in_jvm |= is_entry_of_jvm(name) || strcmp(name, "[libjvm.so]") == 0;
	return *in_jvm || is_of_launcher(name);
}

/* In text of others, Java methods have no suffix that says so. */
static bool may_be_java(const struct named_profile *np, const struct named_line *l)
{
	const char *name = named_string(np, frame_name(np, l));

	return is_java(l) || (l->kind == NAMED_UNKNOWN && *name && *name != '[');
}

/* --- The start of a stack */

/* Number of frames below the outermost Java method, without labels; 0: some of them do more than start the thread. */
static size_t start_frames(const struct named_profile *np, const struct named_stack *s, size_t *ret_labels)
{
	bool in_jvm = false;
	size_t n = 0;

	*ret_labels = 0;
	for (uint32_t k = s->n; k-- > 0;) {
		const struct named_location *loc = &np->locations[np->stack_locations[s->first + k]];
		const struct named_line *outer =
			loc->n_lines ? &np->lines[loc->first_line + loc->n_lines - 1] : &no_line;

		bool by_name = !*named_string(np, np->mappings[loc->mapping].file);

		if (by_name ? may_be_java(np, outer) : is_java(outer))
			return n;
		if (!n && named_is_root_label(outer))
			++*ret_labels;
		else if (by_name ? is_of_jvm_by_name(np, outer, &in_jvm) : is_of_jvm(np, loc))
			n += loc->n_lines ? loc->n_lines : 1;
		else
			return 0;
	}
	return 0;
}

bool frames_skip_start(struct frames *f, const struct named_profile *np, uint32_t stack)
{
	size_t labels, n = start_frames(np, &np->stacks[stack], &labels), end = f->list.n - labels;

	if (!n)
		return false;
	memmove(f->list.v + end - n, f->list.v + end, labels * sizeof(*f->list.v));
	f->list.n -= n;
	return true;
}

void frames_done(struct frames *f)
{
	vec_done(&f->list);
}

const char *frame_name_text(const struct named_profile *np, uint32_t name)
{
	const char *s = named_string(np, name);

	return *s ? s : "[unknown]";
}
