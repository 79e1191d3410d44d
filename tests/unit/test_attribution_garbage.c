#include "test_attribution_dump.h"

#include "symbolizer/base/clock.h"
#include "symbolizer/base/hash.h"

/* Real code with random bytes changed in everything that comes from the target. */
static const char *const files[] = {FIXTURES "/attribution/normal.code", FIXTURES "/attribution/osr.code"};

enum { ROUNDS = 1000, PCS = 30 };

static uint64_t next(uint64_t *seed)
{
	return *seed = hash_u64(*seed + 0x9e3779b97f4a7c15ull);
}

static void flip(uint64_t *seed, void *bytes, size_t n)
{
	uint64_t x = next(seed);

	if (n)
		((uint8_t *)bytes)[x % n] = (uint8_t)(x >> 56);
}

/* Every method named is one of the nmethod's own. */
static void check(const struct code *c, const struct attributed *r)
{
	assert_true(r->n >= 1 && r->n <= CODE_MAX_SCOPES);
	assert_int_equal(r->scope[r->n - 1].method_id, c->method_id);
	assert_true(r->exactness < EXACTNESS_COUNT);
	for (size_t i = 0; i < r->n; i++) {
		bool known = r->scope[i].method_id == c->method_id;

		for (uint32_t k = 0; k < c->n_methods && !known; k++)
			known = c->methods[k] == r->scope[i].method_id;
		assert_true(known);
	}
}

/* Every method has the same bytecodes, of random content. */
static uint8_t bytecodes[300];

static const struct hs_method *random_method(void *ctx, uint32_t id)
{
	static struct hs_method m = {.bytecodes = bytecodes, .code_size = sizeof(bytecodes)};

	(void)ctx;
	m.id = id;
	return &m;
}

static uint32_t random_callee(void *ctx, uint32_t id, int32_t bci)
{
	const struct dump *d = ctx;
	uint64_t x = hash_u64((uint64_t)id << 32 | (uint32_t)bci);

	return x & 1 && d->code.n_methods ? d->code.methods[x / 2 % d->code.n_methods] : 0;
}

static void fill_bytecodes(uint64_t *seed)
{
	for (size_t i = 0; i < sizeof(bytecodes); i++)
		bytecodes[i] = (uint8_t)(next(seed) % (next(seed) & 1 ? 256 : 30));
	for (size_t i = 0; i + 3 <= sizeof(bytecodes); i += 3 + next(seed) % 40)
		bytecodes[i] = 0xb6 + next(seed) % 3; /* calls */
}

static void find_all(struct dump *d, uint64_t *seed)
{
	struct attribution *a = attribution_new_env(&d->env, ATTRIBUTION_LIMIT_NS, NULL);
	struct attributed r;

	assert_non_null(a);
	for (int i = 0; i < PCS; i++) {
		uint64_t x = next(seed);

		attribution_find(a, &d->code, (int64_t)(x % (d->code.n_bytes + 100)) - 20, x >> 40 & 1, &r);
		check(&d->code, &r);
	}
	attribution_find(a, &d->code, INT64_MAX, 1, &r);
	attribution_find(a, &d->code, INT64_MIN, 1, &r);
	attribution_free(a);
}

static void break_one(struct dump *d, uint64_t *seed)
{
	struct code *c = &d->code;

	switch (next(seed) % 8) {
	case 0: flip(seed, (void *)c->records, c->n_records * sizeof(*c->records)); break;
	case 1: flip(seed, (void *)c->null_checks, c->n_null_checks * sizeof(*c->null_checks)); break;
	case 2: flip(seed, (void *)c->scopes, c->scopes_len); break;
	case 3:
		flip(seed, &c->stub_begin, sizeof(c->stub_begin));
		flip(seed, &c->verified_entry, sizeof(c->verified_entry));
		break;
	default:
		for (int i = 0; i < 8; i++)
			flip(seed, (void *)c->bytes, c->n_bytes);
	}
}

static void test_flipped_bytes(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		for (int round = 0; round < ROUNDS; round++) {
			struct dump d;

			dump_load(files[i], &d);
			fill_bytecodes(&seed);
			d.env.method = round % 2 ? random_method : NULL;
			d.env.callee = round % 2 ? random_callee : NULL;
			for (uint64_t n = next(&seed) % 16; n > 0; n--)
				break_one(&d, &seed);
			find_all(&d, &seed);
			dump_done(&d);
		}
}

static void test_truncated_code(void **state)
{
	uint64_t seed = 2;
	struct dump d;

	(void)state;
	dump_load(files[0], &d);
	for (uint32_t n = d.code.n_bytes; n > 0; n -= 1 + n / 50) {
		uint8_t *cut = malloc(n);

		assert_non_null(cut);
		memcpy(cut, d.code.bytes, n);
		free((void *)d.code.bytes);
		d.code.bytes = cut;
		d.code.n_bytes = n;
		find_all(&d, &seed);
	}
	dump_done(&d);
}

/* Pcs of the body that are called sure, by a record at a poll or by flow. */
static unsigned count_sure(struct dump *d)
{
	struct attribution *a = attribution_new_env(&d->env, ATTRIBUTION_LIMIT_NS, NULL);
	struct attributed r;
	unsigned n = 0;

	assert_non_null(a);
	for (int64_t pc = d->code.verified_entry; pc < d->code.stub_begin; pc += 3) {
		attribution_find(a, &d->code, pc, 0, &r);
		check(&d->code, &r);
		n += r.exactness != EXACT_APPROXIMATE;
	}
	attribution_free(a);
	return n;
}

/* Read in two, while it was freed: what is there is of the old code, the rest of another, or missing. */
static void test_damage_is_not_sure(void **state)
{
	struct dump d;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		uint32_t n, half;

		dump_load(files[i], &d);
		d.env.method = random_method;
		memset(bytecodes, 0, sizeof(bytecodes));
		n = d.code.n_bytes;
		half = n / 2;
		assert_true(count_sure(&d) > 10);
		d.code.n_bytes = n - n / 50;
		assert_int_equal(count_sure(&d), 0);
		d.code.n_bytes = n;
		memset((uint8_t *)d.code.bytes + half, 0x06, n - half); /* not an instruction */
		assert_int_equal(count_sure(&d), 0);
		dump_done(&d);
	}
}

static void test_records_of_other_code_are_not_sure(void **state)
{
	struct dump d;
	struct code_record *r;
	uint32_t n;

	(void)state;
	dump_load(files[0], &d);
	d.env.method = random_method;
	memset(bytecodes, 0, sizeof(bytecodes));
	r = (struct code_record *)d.code.records;
	n = d.code.n_records;
	for (uint32_t i = n / 2; i + 1 < n; i++)
		if (r[i].pc_offset + 1 < r[i + 1].pc_offset)
			r[i].pc_offset++;
	assert_int_equal(count_sure(&d), 0);
	dump_done(&d);
}

/* Branches everywhere: the loops nest as deep as they can. */
static void test_time_is_bounded(void **state)
{
	enum { SIZE = 600 * 1000 };
	struct dump d;
	uint8_t *bytes = malloc(SIZE);
	uint64_t seed = 3, start;
	struct attributed r;
	struct attribution *a;

	(void)state;
	assert_non_null(bytes);
	dump_load(files[0], &d);
	for (size_t i = 0; i + 6 <= SIZE; i += 6) {
		int32_t rel = -(int32_t)(next(&seed) % (i + 1) / 6 * 6) - 6;

		memcpy(bytes + i, "\x0f\x84", 2);
		memcpy(bytes + i + 2, &rel, 4);
	}
	free((void *)d.code.bytes);
	d.code.bytes = bytes;
	d.code.n_bytes = SIZE;
	d.code.stub_begin = -1;
	d.code.n_records = 0;
	a = attribution_new_env(&d.env, ATTRIBUTION_LIMIT_NS, NULL);
	start = clock_thread_cpu_ns();
	for (int i = 0; i < 100; i++) {
		attribution_find(a, &d.code, i * 5000, 0, &r);
		check(&d.code, &r);
	}
	assert_true(clock_thread_cpu_ns() - start < 20000000000ull);
	attribution_free(a);
	dump_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flipped_bytes),      cmocka_unit_test(test_truncated_code),
		cmocka_unit_test(test_damage_is_not_sure), cmocka_unit_test(test_records_of_other_code_are_not_sure),
		cmocka_unit_test(test_time_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
