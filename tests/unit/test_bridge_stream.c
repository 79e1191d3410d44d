#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <pthread.h>
#include <stdlib.h>
#include <cmocka.h>

#include "jvm-bridge/stream/record.h"
#include "jvm-bridge/stream/ring.h"
#include "jvm-bridge/stream/sent_methods.h"

enum { WRITERS = 4, EACH = 20000 };

static struct ring ring;
static _Atomic unsigned dropped;

/* A record whose every word follows from its first. */
static void *writer(void *arg)
{
	uint64_t words[64], seed = (uint64_t)(uintptr_t)arg;

	for (uint64_t n = 0; n < EACH; n++) {
		uint32_t size = (uint32_t)(16 + (n * 8 + seed * 24) % 480);

		words[1] = seed << 32 | n;
		for (uint32_t i = 2; i < size / 8; i++)
			words[i] = words[1] * i;
		memcpy(words, &size, sizeof(size));
		memcpy((char *)words + 4, &size, sizeof(size));
		if (!ring_put(&ring, words, size))
			dropped++;
	}
	return NULL;
}

static unsigned drain(uint64_t *last)
{
	const uint64_t *r;
	unsigned n = 0;
	uint32_t size;

	while ((r = ring_peek(&ring, &size))) {
		uint64_t who = r[1] >> 32, count = r[1] & 0xffffffff;

		assert_in_range(size, 16, 512);
		assert_in_range(who, 1, WRITERS);
		assert_true(count >= last[who]);
		last[who] = count + 1;
		for (uint32_t i = 2; i < size / 8; i++)
			assert_true(r[i] == r[1] * i);
		ring_drop(&ring, size);
		n++;
	}
	return n;
}

static void many_writers(void **state)
{
	uint64_t last[WRITERS + 1] = {0};
	pthread_t threads[WRITERS];
	unsigned got = 0;

	(void)state;
	assert_true(ring_init(&ring));
	for (uintptr_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, writer, (void *)(i + 1)), 0);
	for (int i = 0; i < 50; i++)
		got += drain(last);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	got += drain(last);
	assert_int_equal(got + dropped, WRITERS * EACH);
	assert_int_equal(ring_used(&ring), 0);
}

static void full(void **state)
{
	static unsigned char big[1 << 20];
	uint32_t size = sizeof(big);
	unsigned n = 0;

	(void)state;
	memcpy(big, &size, sizeof(size));
	ring_reset(&ring);
	while (ring_put(&ring, big, size))
		n++;
	assert_int_equal(n, RING_SIZE / sizeof(big));
	assert_non_null(ring_peek(&ring, &size));
	ring_drop(&ring, size);
	assert_true(ring_put(&ring, big, size));
	assert_false(ring_put(&ring, big, 64));
	ring_reset(&ring);
	assert_null(ring_peek(&ring, &size));
}

static void ids(void **state)
{
	struct sent_methods k;

	(void)state;
	assert_true(sent_methods_init(&k));
	for (uintptr_t i = 1; i <= 900000; i++)
		sent_methods_add(&k, (void *)(i * 8));
	for (uintptr_t i = 1; i <= 700000; i += 77) {
		assert_true(sent_methods_has(&k, (void *)(i * 8)));
		assert_false(sent_methods_has(&k, (void *)(i * 8 + 4)));
	}
	assert_false(sent_methods_has(&k, NULL));
	sent_methods_reset(&k);
	assert_false(sent_methods_has(&k, (void *)8));
}

static uint32_t size_of(const struct record *r)
{
	uint32_t size;

	memcpy(&size, r->data, sizeof(size));
	return size;
}

static uint16_t flags_of(const struct record *r)
{
	uint16_t flags;

	memcpy(&flags, r->data + 6, sizeof(flags));
	return flags;
}

static void names(void **state)
{
	struct record r = {0};
	char *longest = malloc(70000);

	(void)state;
	assert_non_null(longest);
	memset(longest, 'x', 69999);
	longest[69999] = 0;
	record_begin(&r, WIRE_METHOD, 0);
	record_class_name(&r, "a.b.C$$Lambda/0x12");
	record_str(&r, NULL);
	record_str(&r, longest);
	assert_true(record_end(&r));
	assert_memory_equal(r.data + WIRE_HEADER, "\x12\0a/b/C$$Lambda+0x12\xff\xff\xfe\xff", 24);
	assert_int_equal(size_of(&r), r.len);
	assert_int_equal(r.len % 8, 0);
	record_done(&r);
	free(longest);
}

/* What does not fit is cut, never broken. */
static void too_large(void **state)
{
	enum { N = 100000 };
	JVMPI_Event e = {.event_type = JVMPI_EVENT_JS_CODE_LOAD};
	struct record r = {0};
	uint32_t counts[3];

	(void)state;
	e.u.js_code.num_scopes = e.u.js_code.num_ranges = N;
	e.u.js_code.scopes = calloc(N, sizeof(JVMPI_JS_Scope));
	e.u.js_code.ranges = calloc(N, sizeof(JVMPI_JS_Range));
	e.u.js_code.code_size = N;
	assert_true(e.u.js_code.scopes && e.u.js_code.ranges);
	for (jint i = 0; i < N; i++) {
		e.u.js_code.scopes[i] = (JVMPI_JS_Scope){i - 1, i, (jmethodID)(uintptr_t)(i % 300 * 8 + 8), i};
		e.u.js_code.ranges[i] = (JVMPI_JS_Range){i + 1, i};
	}
	assert_true(record_code(&r, &e, WIRE_REPLAYED));
	assert_int_equal(flags_of(&r), WIRE_REPLAYED | WIRE_TRUNCATED);
	assert_in_range(r.len, WIRE_RECORD_MAX / 3, WIRE_RECORD_MAX);
	memcpy(counts, r.data + WIRE_HEADER + 20, sizeof(counts));
	assert_int_equal(counts[0], 300);
	assert_int_equal(counts[1], counts[2]);
	assert_true(WIRE_HEADER + 32 + counts[0] * 8 + counts[1] * 16 + counts[2] * 8 <= r.len);
	free(e.u.js_code.scopes);
	free(e.u.js_code.ranges);

	e = (JVMPI_Event){.event_type = JVMPI_EVENT_CLASS_LOAD};
	e.u.class_load.class_name = (char *)"a.B";
	e.u.class_load.num_methods = N;
	e.u.class_load.methods = calloc(N, sizeof(JVMPI_Method));
	assert_non_null(e.u.class_load.methods);
	for (jint i = 0; i < N; i++)
		e.u.class_load.methods[i] = (JVMPI_Method){(char *)"m", (char *)"()V", 1, 2, (jmethodID)(uintptr_t)8};
	assert_true(record_class(&r, &e, NULL, 0));
	assert_int_equal(flags_of(&r), WIRE_TRUNCATED);
	memcpy(counts, r.data + WIRE_HEADER + 16 + 5 + 2, 4);
	assert_in_range(counts[0], N / 4, N - 1);
	assert_int_equal(size_of(&r), r.len);
	free(e.u.class_load.methods);
	record_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(many_writers), cmocka_unit_test(full),
					   cmocka_unit_test(ids), cmocka_unit_test(names), cmocka_unit_test(too_large)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
