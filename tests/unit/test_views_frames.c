#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/input/reader.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/views/call_tree.h"
#include "sampler/views/frames.h"
#include "symbolizer/base/err.h"

/* The outermost frames of a folded line in the tree that report --tree shows. */
static void check_root(const char *line, const char *wanted, bool skipped)
{
	struct named_profile *np = NULL;
	struct call_tree t = {0};
	struct err err = {0};
	char got[256] = "";

	if (reader_parse_profile(line, strlen(line), "test", &np, NULL, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(call_tree_build(&t, np, NULL, false, true), 0);
	for (uint32_t i = t.nodes.v[0].first_child, n = 0; i && n < 2; i = t.nodes.v[i].first_child, n++) {
		size_t len = strlen(got);

		snprintf(got + len, sizeof(got) - len, "%s%s", n ? ";" : "", frame_name_text(np, t.nodes.v[i].name));
	}
	if (strcmp(got, wanted) != 0 || t.skipped != skipped)
		fail_msg("%s begins with %s, not %s", line, got, wanted);
	call_tree_done(&t);
	named_profile_free(np);
}

static void folded_text_begins_at_java(void **state)
{
	(void)state;
	check_root(
		"clone3;start_thread;thread_native_entry;Thread::call_run;JavaThread::thread_main_inner;thread_entry;"
		"JavaCalls::call_virtual;JavaCalls::call_helper;call_stub;java/lang/Thread.run_[0];p/A.b_[j] 1\n",
		"java/lang/Thread.run;p/A.b", true);
	check_root("clone;start_thread;java_start;JavaThread::run;call_stub;p/A.b_[1];p/C.d_[i] 1\n", "p/A.b;p/C.d",
		   true);
	check_root(
		"[main tid=7];clone3;start_thread;ThreadJavaMain;JavaMain;jni_CallStaticVoidMethod;jni_invoke_static;"
		"JavaCalls::call_helper;call_stub;A.main_[0] 1\n",
		"[main tid=7];A.main", true);
	check_root("[libc.so.6];[libjli.so];[libjvm.so];call_stub;A.main_[0] 1\n", "A.main", true);
	/* As others write it. */
	check_root("start_thread;thread_native_entry;call_stub;java/lang/Thread.run;p/A.b 1\n",
		   "java/lang/Thread.run;p/A.b", true);
}

static void other_stacks_stay(void **state)
{
	(void)state;
	check_root("clone3;start_thread;thread_native_entry;GCTaskManager::run 1\n", "clone3;start_thread", false);
	check_root("_start;main;serve;jni_CallStaticVoidMethod;call_stub;A.b_[0] 1\n", "_start;main", false);
	check_root("clone3;start_thread;my_worker;jni_CallVoidMethod;call_stub;A.b_[0] 1\n", "clone3;start_thread",
		   false);
	check_root("clone3;start_thread;main_[k];A.b_[0] 1\n", "clone3;start_thread", false);
	check_root("[incomplete];call_stub;A.b_[0] 1\n", "[incomplete];call_stub", false);
	check_root("call_stub;A.b_[0] 1\n", "call_stub;A.b", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_text_begins_at_java),
		cmocka_unit_test(other_stacks_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
