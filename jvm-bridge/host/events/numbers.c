/*
 * From the number of an inserted call to the method. A class file has no jmethodID yet when calls are inserted, so the
 * first call asks the JVM in which method it is. Numbers are not used again: 8 bytes for each method.
 */
#include "jvm-bridge/host/events/numbers.h"

#include <stdlib.h>

enum { CHUNK = 1 << 12, CHUNKS = NUMBERS_MAX / CHUNK };

typedef _Atomic(jmethodID) method_slot;

static struct {
	struct lock lock;
	uint32_t next;
	_Atomic(method_slot *) chunks[CHUNKS];
} numbers;

static bool chunks_make(uint32_t from, uint32_t to)
{
	for (uint32_t i = from / CHUNK; i <= to / CHUNK; i++) {
		if (!atomic_load(&numbers.chunks[i]))
			atomic_store(&numbers.chunks[i], calloc(CHUNK, sizeof(method_slot)));
		if (!atomic_load(&numbers.chunks[i]))
			return false;
	}
	return true;
}

bool numbers_take(unsigned n, uint32_t *first)
{
	bool ok;

	lock_take(&numbers.lock);
	*first = numbers.next;
	ok = n && n <= NUMBERS_MAX - numbers.next && chunks_make(*first, *first + n - 1);
	if (ok)
		numbers.next += n;
	lock_drop(&numbers.lock);
	return ok;
}

/* Whatever calls CALLS_CLASS may pass any number. */
static method_slot *slot_of(uint32_t number)
{
	method_slot *chunk = number < NUMBERS_MAX ? atomic_load(&numbers.chunks[number / CHUNK]) : NULL;

	return chunk ? &chunk[number % CHUNK] : NULL;
}

jmethodID number_method(uint32_t number)
{
	method_slot *slot = slot_of(number);

	return slot ? atomic_load(slot) : NULL;
}

jmethodID number_learn(uint32_t number)
{
	method_slot *slot = slot_of(number);
	jvmtiFrameInfo frame;
	jint n = 0;

	/* Frame 0 is the native method. */
	if (!slot || (*the_bridge.ti)->GetStackTrace(the_bridge.ti, NULL, 1, 1, &frame, &n) || n != 1)
		return NULL;
	atomic_store(slot, frame.method);
	return frame.method;
}
