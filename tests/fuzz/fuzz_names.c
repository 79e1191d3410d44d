/* Names of classes, functions and threads: any bytes, on their way into a terminal or a folded line. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/frame_text.h"
#include "sampler/profile/named_builder.h"
#include "sampler/resolve/java_name.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/text.h"
#include "symbolizer/hotspot/methods/compile_state.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/native/names/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

/* What came out can be in a line of text; sanitising it again changes nothing. */
static void sanitise(const char *name, size_t len)
{
	char *once = malloc(len + 1), *twice = malloc(len + 1);
	size_t n = text_sanitise(once, len + 1, name, len);

	require(n <= len && once[n] == '\0');
	for (size_t i = 0; i < n; i++)
		require((unsigned char)once[i] >= ' ' && once[i] != 0x7f);
	require(text_sanitise(twice, len + 1, once, n) == n && memcmp(once, twice, n + 1) == 0);
	text_sanitise(twice, len / 2, name, len);
	free(once);
	free(twice);
}

static void class_and_function(const char *name)
{
	struct buf b = {0};
	char small[32], large[4096];

	java_class_add(&b, name);
	require(b.len <= strlen(name));
	buf_done(&b);
	demangle(name, small, sizeof(small));
	demangle(name, large, sizeof(large));
}

static void as_frame(const char *name, uint8_t how)
{
	struct named_builder *nb = named_builder_new();
	struct named_line line = {
		.function = named_builder_function(nb, name, name, name),
		.line = how,
		.kind = how % NAMED_KINDS,
		.tier = how % 5,
	};
	struct named_profile *np = named_builder_take(nb);
	struct buf b = {0};

	frame_text_add(&b, np, &line, how & 1, how & 2);
	for (size_t i = 0; i < b.len; i++)
		require((unsigned char)b.data[i] >= ' ' && b.data[i] != ';');
	buf_done(&b);
	named_profile_free(np);
}

/* The JVM's CompileCommand flag, and a method of any name. */
static void as_command(const char *text)
{
	const struct hs_method plain = {.class_name = "p/A", .name = "b", .signature = "()V"};
	const struct hs_method same = {.class_name = text, .name = text, .signature = text};
	size_t len = 0;
	const char *at = compile_command_exclude(text, &plain, &len);

	require(!at || (at >= text && at + len <= text + strlen(text)));
	compile_command_exclude(text, &same, &len);
	compile_command_exclude("exclude,*p*.*b*,(I\nexclude *::*", &same, &len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name;

	if (size < 1)
		return 0;
	name = malloc(size);
	memcpy(name, data + 1, size - 1);
	name[size - 1] = '\0';
	sanitise(name, size - 1);
	class_and_function(name);
	as_frame(name, data[0]);
	as_command(name);
	free(name);
	return 0;
}
