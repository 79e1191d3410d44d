#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include "jvm-bridge/host/agents/options.h"

static void good(void **state)
{
	struct options o;
	char why[128];

	(void)state;
	assert_int_equal(options_parse(NULL, &o, why, sizeof(why)), 0);
	assert_int_equal(options_parse("", &o, why, sizeof(why)), 0);
	assert_null(o.agent);
	assert_int_equal(
		options_parse("early,slashes,stream=/a b,agent=hprof:cpu=samples,depth=4:x", &o, why, sizeof(why)), 0);
	assert_true(o.early && o.slashes && !o.quiet);
	assert_string_equal(o.stream, "/a b");
	assert_string_equal(o.agent, "hprof");
	assert_string_equal(o.agent_options, "cpu=samples,depth=4:x");
	options_done(&o);
	assert_int_equal(options_parse("quiet,agent=/x/y.so", &o, why, sizeof(why)), 0);
	assert_true(o.quiet);
	assert_null(o.agent_options);
	options_done(&o);
	assert_int_equal(options_parse("events=METHOD_ENTRY+HEAP_DUMP,dump_limit=64,agent=x", &o, why, sizeof(why)), 0);
	assert_string_equal(o.events, "METHOD_ENTRY+HEAP_DUMP");
	assert_int_equal(o.dump_limit, 64);
	options_done(&o);
	assert_int_equal(options_parse("calls=inserted", &o, why, sizeof(why)), 0);
	assert_int_equal(o.calls, CALLS_INSERTED);
	options_done(&o);
	assert_int_equal(options_parse("calls=inserted,calls:events", &o, why, sizeof(why)), 0);
	assert_int_equal(o.calls, CALLS_EVENTS);
	options_done(&o);
	assert_int_equal(options_parse("stacks=signal,agent=x", &o, why, sizeof(why)), 0);
	assert_true(o.signal);
	options_done(&o);
	assert_int_equal(options_parse("stacks:signal,stacks=safepoint", &o, why, sizeof(why)), 0);
	assert_false(o.signal);
	options_done(&o);
	assert_int_equal(options_parse("stacks=clock", &o, why, sizeof(why)), -EINVAL);
	/* As jcmd lets them through. */
	assert_int_equal(options_parse("has_run:registers,stream:/a,agent:hprof:depth=4", &o, why, sizeof(why)), 0);
	assert_true(o.registers);
	assert_string_equal(o.stream, "/a");
	assert_string_equal(o.agent, "hprof");
	assert_string_equal(o.agent_options, "depth=4");
	options_done(&o);
}

static void bad(void **state)
{
	static const char *const texts[] = {"agent=",
					    "agent=:x",
					    "stream=",
					    "x",
					    ",",
					    "early,",
					    "early,,quiet",
					    "stream=/a,stream=/b",
					    "earl",
					    "early=1",
					    "Agent=x",
					    "agent:",
					    "agentx",
					    "stream:",
					    "has_run:x",
					    "calls=",
					    "calls=insert",
					    "calls=inserted ",
					    "events=",
					    "events=A,events=B",
					    "dump_limit=",
					    "dump_limit=0",
					    "dump_limit=-1",
					    "dump_limit=1x",
					    "dump_limit=9999999"};
	struct options o;
	char why[64];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		memset(why, 0, sizeof(why));
		assert_int_equal(options_parse(texts[i], &o, why, sizeof(why)), -EINVAL);
		assert_true(why[0] && !why[sizeof(why) - 1]);
		assert_null(o.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
