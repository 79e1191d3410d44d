#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sampler/resolve/java_name.h"
#include "symbolizer/base/buf.h"

static void check(const char *name, const char *want)
{
	struct buf b = {0};

	buf_add_z(&b, "<");
	java_class_add(&b, name);
	assert_false(b.failed);
	assert_string_equal(b.data + 1, want);
	buf_done(&b);
}

static void generated_names_lose_their_numbers(void **state)
{
	static const char *const cases[][2] = {
		/* Lambdas: 17, 21 on, 8 and 11 as symbol, 8 and 11 as external name. */
		{"Truth$$Lambda$14+0x00007f8905002000", "Truth$$Lambda"},
		{"Truth$$Lambda+0x00007f8905002000", "Truth$$Lambda"},
		{"Truth$$Lambda$14", "Truth$$Lambda"},
		{"Truth$$Lambda$14/0x0000000800066840", "Truth$$Lambda"},
		{"Truth$$Lambda$14/1324119927", "Truth$$Lambda"},
		{"T$6$$Lambda$1+0x00007f8905002000", "T$6$$Lambda"},
		{"p/q/T$$Lambda$0x0000000800066840", "p/q/T$$Lambda"},
		{"p/q/T$$Lambda$9f2c41", "p/q/T$$Lambda"},
		{"java/lang/invoke/LambdaForm$MH+0x00007f1c0b000400", "java/lang/invoke/LambdaForm$MH"},
		{"java/lang/invoke/LambdaForm$MH/0x0000000800066840", "java/lang/invoke/LambdaForm$MH"},
		{"java/lang/invoke/LambdaForm$DMH000", "java/lang/invoke/LambdaForm$MH"},
		{"java/lang/invoke/LambdaForm$DMH/1607460018", "java/lang/invoke/LambdaForm$MH"},
		{"java/lang/invoke/LambdaForm$BMH+0x1", "java/lang/invoke/LambdaForm$MH"},
		{"java/lang/String$$StringConcat+0x00007f1c0b000400", "java/lang/String$$StringConcat"},
		{"p/Hidden+0xABCdef", "p/Hidden"},
		{"sun/reflect/GeneratedMethodAccessor1", "sun/reflect/GeneratedMethodAccessor"},
		{"jdk/internal/reflect/GeneratedMethodAccessor123", "jdk/internal/reflect/GeneratedMethodAccessor"},
		{"jdk/internal/reflect/GeneratedConstructorAccessor7",
		 "jdk/internal/reflect/GeneratedConstructorAccessor"},
		{"jdk/internal/reflect/GeneratedSerializationConstructorAccessor1",
		 "jdk/internal/reflect/GeneratedSerializationConstructorAccessor"},
		{"$Proxy42", "$Proxy"},
		{"com/sun/proxy/$Proxy42", "com/sun/proxy/$Proxy"},
		{"org/acme/$Proxy0", "org/acme/$Proxy"},
		{"jdk/proxy2/$Proxy7", "jdk/proxy/$Proxy"},
		{"jdk/proxy12/$Proxy123", "jdk/proxy/$Proxy"},
		{"com/sun/proxy/jdk/proxy1/$Proxy3", "com/sun/proxy/jdk/proxy/$Proxy"},
		{"p/Foo$ByteBuddy$abc123", "p/Foo$ByteBuddy"},
		{"p/Foo$ByteBuddy$aB3dE6gH$auxiliary$Zz09yY88", "p/Foo$ByteBuddy$auxiliary"},
		{"p/Foo$MockitoMock$1324119927", "p/Foo$MockitoMock"},
		{"p/Foo$HibernateProxy$QwErTy12", "p/Foo$HibernateProxy"},
		{"p/Foo$$EnhancerBySpringCGLIB$$1a2b3c4d", "p/Foo$$EnhancerBySpringCGLIB"},
		{"p/Foo$$EnhancerByCGLIB$$f00", "p/Foo$$EnhancerByCGLIB"},
		{"p/Foo$$EnhancerByGuice$$1a2b$$FastClassByGuice$$99", "p/Foo$$EnhancerByGuice$$FastClassByGuice"},
		{"p/Foo$$EnhancerBySpringCGLIB$$1a2b3c4d$$FastClassBySpringCGLIB$$5e6f",
		 "p/Foo$$EnhancerBySpringCGLIB$$FastClassBySpringCGLIB"},
		{"p/Foo$$EnhancerBySpringCGLIB$$1a2b3c4d$$Lambda$3+0x00007f1c0b000400",
		 "p/Foo$$EnhancerBySpringCGLIB$$Lambda"},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(cases[i][0], cases[i][1]);
}

static void other_names_are_left_alone(void **state)
{
	/* clang-format off */
	static const char *const names[] = {
		"", "A", "0", "/", "$", "x", "0x1", "+0x1", "/0x1", "+0x", "a+0x", "a/0x", "a+1",
		"a0x1", "Foo$1", "Foo$12$3", "java/util/Base64", "java/util/Base64$Encoder",
		"p/Lambda2", "p/Lambda$2", "p/Foo$Lambda$2", "p/Proxy42", "p/My$Proxy42", "$Proxy",
		"jdk/proxy2/Other", "myjdk/proxy2/Other7", "p/GeneratedMethodAccessor12",
		"jdk/internal/reflect/MyGeneratedMethodAccessor12",
		"jdk/internal/reflect/GeneratedMethodAccessor",
		"jdk/internal/reflect/x/GeneratedMethodAccessor1",
		"java/lang/invoke/LambdaForm", "java/lang/invoke/LambdaForm$Name",
		"java/lang/invoke/LambdaForm$MHX", "java/lang/invoke/DirectMethodHandle$Holder",
		"java/lang/invoke/BoundMethodHandle$Species_LLI", "p/Species_L3",
		"user$eval123", "user$fn__1234", "p/Script1$_run_closure2",
		"p/Foo$ByteBuddy$", "p/Foo$ByteBuddy", "$ByteBuddy$x", "p/Foo$$Lambda",
		"p/Foo$$Lambda$", "p/Foo$$Lambda$xyz", "p/Foo$$EnhancerBySpringCGLIB$$xyz",
		"p/Foo$$SpringCGLIB$$0", "sha/SHA256", "p/cafe", "caf\u00e9/Stra\u00dfe2",
	};
	/* clang-format on */
	(void)state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check(names[i], names[i]);
	check("myjdk/proxy2/$Proxy7", "myjdk/proxy2/$Proxy");
}

static void long_names(void **state)
{
	enum { LEN = 65535 };
	char *name = malloc(LEN + 32), *want;
	(void)state;

	memset(name, '$', LEN);
	name[LEN] = '\0';
	check(name, name);
	memset(name, 'a', LEN);
	strcpy(name + LEN, "$$Lambda$77");
	want = strdup(name);
	want[LEN + 8] = '\0';
	check(name, want);
	free(want);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generated_names_lose_their_numbers),
		cmocka_unit_test(other_names_are_left_alone),
		cmocka_unit_test(long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
