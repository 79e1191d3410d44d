#include "test_attribution_code.h"

#include "symbolizer/attribution/graph.h"
#include "symbolizer/attribution/traits.h"

/* One loop made of `n` bytes of body; what is said of it. */
static struct machine_traits of_machine(const void *body, uint32_t n)
{
	static struct fake f;
	struct decoder *d = decoder_new();
	struct machine_traits t;
	struct graph *g = NULL;
	uint32_t top;

	fake_init(&f);
	top = fake_work(&f, 1);
	fake_emit(&f, body, n);
	fake_je_to(&f, top);
	fake_emit(&f, "\xf2\x0f\x58\xc1", 4); /* addsd behind the loop */
	fake_ret(&f);
	assert_int_equal(graph_new(&f.code, &f.env, d, &g), 0);
	assert_int_equal(g->n_loops, 1);
	t = machine_traits(g, 0);
	graph_free(g);
	decoder_free(d);
	return t;
}

static void test_machine_code(void **state)
{
	struct machine_traits t;

	(void)state;
	t = of_machine("\x90", 1);
	assert_false(t.floating || t.stub_call || t.runtime_call);
	assert_true(of_machine("\xf2\x0f\x59\xc1", 4).floating); /* mulsd */
	assert_true(of_machine("\xc5\xf5\x5e\xc2", 4).floating); /* vdivpd */
	assert_true(of_machine("\xc4\xe2\xe9\xb8\xc1", 5).floating); /* vfmadd231pd */
	assert_false(of_machine("\xc5\xf5\xfe\xc2", 4).floating); /* vpaddd */
	assert_true(of_machine("\xe8\0\0\0\0", 5).stub_call);
}

/* mov r10, target; `between`; call r10 */
static struct machine_traits of_far_call(uint64_t target, const char *between)
{
	uint8_t body[32] = "\x49\xba";
	uint32_t n = 10;

	memcpy(body + 2, &target, 8);
	memcpy(body + n, between, strlen(between));
	n += (uint32_t)strlen(between);
	memcpy(body + n, "\x41\xff\xd2", 3);
	return of_machine(body, n + 3);
}

/* C2 calls stubs and the runtime through a register alike: the target tells. */
static void test_targets(void **state)
{
	struct machine_traits t;

	(void)state;
	t = of_far_call(FAKE_LEAF, "");
	assert_true(t.stub_call && !t.runtime_call);
	t = of_far_call(FAKE_NATIVE, "");
	assert_true(!t.stub_call && t.runtime_call);
	t = of_far_call(FAKE_LEAF, "\x90"); /* not the instruction before */
	assert_true(t.stub_call && t.runtime_call);
	t = of_machine("\x41\xff\xd2", 3);
	assert_true(t.stub_call && t.runtime_call);
	t = of_machine("\x41\xff\x12", 3); /* call [r10] */
	assert_true(t.stub_call && t.runtime_call);
	/* another register; one half of the constant only */
	t = of_machine("\x48\xb8\0\x20\x05\0\0\0\0\0\x41\xff\xd2", 13);
	assert_true(t.stub_call && t.runtime_call);
	t = of_machine("\x41\xba\0\x20\x05\0\x41\xff\xd2", 9);
	assert_true(t.stub_call && t.runtime_call);
	t = of_machine("\x48\xb8\0\x20\x05\0\0\0\0\0\xff\xd0", 12); /* rax, both */
	assert_true(t.stub_call && !t.runtime_call);
}

/* 0: iload_1; 1: the body; last: goto 0. Then dadd, outside of the loop. */
static struct bytecode_traits of_bytecodes(struct fake *f, const void *body, uint16_t n)
{
	static uint8_t code[64];
	struct bytecode_traits t;
	int16_t back = (int16_t) - (n + 1);

	memset(code, 0, sizeof(code));
	code[0] = 27;
	memcpy(code + 1, body, n);
	code[1 + n] = 0xa7;
	code[2 + n] = (uint8_t)(back >> 8);
	code[3 + n] = (uint8_t)back;
	code[4 + n] = 99;
	code[5 + n] = 0xb1;
	fake_bytecodes(f, 1, code, (uint16_t)(n + 6));
	bytecode_traits(&f->env, 1, &t);
	return t;
}

static void test_bytecodes(void **state)
{
	static struct fake f;
	static const uint8_t multiplies[] = {0x27, 0x6b, 0xaf}; /* dload_1; dmul; dreturn */
	struct bytecode_traits t;

	(void)state;
	fake_init(&f);
	t = of_bytecodes(&f, "\x60", 1); /* iadd */
	assert_true(t.loops);
	assert_false(t.unknown || t.floating || t.objects || t.conversion || t.math || t.time);
	assert_true(of_bytecodes(&f, "\x63", 1).floating); /* dadd */
	assert_true(of_bytecodes(&f, "\x53", 1).objects); /* aastore */
	assert_true(of_bytecodes(&f, "\x8f", 1).conversion); /* d2l */
	assert_true(of_bytecodes(&f, "\xb8\0\0", 3).unknown);

	fake_bytecodes(&f, 2, multiplies, sizeof(multiplies));
	f.callees[0][1] = 2;
	t = of_bytecodes(&f, "\xb8\0\0", 3);
	assert_true(t.floating);
	assert_false(t.unknown);
	f.methods[1].class_name = "java/lang/Math";
	f.methods[1].name = "sin";
	t = of_bytecodes(&f, "\xb8\0\0", 3);
	assert_true(t.math);
	assert_false(t.floating);
	f.methods[1].name = "pow";
	t = of_bytecodes(&f, "\xb8\0\0", 3);
	assert_true(t.power && !t.math);
	f.methods[1].class_name = "java/lang/System";
	f.methods[1].name = "nanoTime";
	assert_true(of_bytecodes(&f, "\xb8\0\0", 3).time);

	bytecode_traits(&f.env, 3, &t);
	assert_true(t.unknown);
	bytecode_traits(&f.env, 0, &t);
	assert_true(t.unknown);
}

/* Methods that call each other are not followed for ever. */
static void test_recursion_ends(void **state)
{
	static struct fake f;
	static uint8_t calls[200];
	struct bytecode_traits t;

	(void)state;
	fake_init(&f);
	for (unsigned i = 0; i + 3 <= sizeof(calls); i += 3) {
		calls[i] = 0xb8;
		f.callees[0][i] = 1;
	}
	fake_bytecodes(&f, 1, calls, sizeof(calls) / 3 * 3);
	bytecode_traits(&f.env, 1, &t);
	assert_true(t.unknown);
}

static void test_agreement(void **state)
{
	struct machine_traits plain = {0}, floating = {.floating = true};
	struct machine_traits stub = {.stub_call = true}, runtime = {.runtime_call = true};
	struct bytecode_traits ints = {.loops = true}, doubles = {.loops = true, .floating = true};
	struct bytecode_traits math = {.math = true}, time = {.time = true};
	struct bytecode_traits unknown = {.unknown = true}, objects = {.objects = true};
	struct bytecode_traits power = {.power = true};

	(void)state;
	assert_true(traits_agree(&plain, &ints));
	assert_false(traits_agree(&plain, &doubles));
	assert_false(traits_agree(&plain, &math));
	assert_false(traits_agree(&plain, &time));
	assert_false(traits_agree(&plain, &power));
	assert_true(traits_agree(&plain, &unknown));
	assert_true(traits_agree(&floating, &doubles));
	assert_false(traits_agree(&floating, &ints));
	assert_true(traits_agree(&floating, &unknown));
	assert_true(traits_agree(&stub, &math));
	assert_true(traits_agree(&stub, &power));
	assert_true(traits_agree(&floating, &power));
	assert_false(traits_agree(&stub, &time));
	assert_false(traits_agree(&stub, &ints));
	assert_true(traits_agree(&stub, &objects));
	assert_true(traits_agree(&runtime, &time));
	assert_true(traits_agree(&runtime, &math));
	assert_false(traits_agree(&runtime, &ints));
	assert_true(traits_agree(&runtime, &unknown));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machine_code), cmocka_unit_test(test_targets),
		cmocka_unit_test(test_bytecodes),    cmocka_unit_test(test_recursion_ends),
		cmocka_unit_test(test_agreement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
