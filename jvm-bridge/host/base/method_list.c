#include "jvm-bridge/host/base/method_list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { METHODS_MAX = 65535, BATCH = 512 };

struct list {
	uint64_t n;
	uint64_t *methods, *ids; /* n entries each */
	uint64_t *at; /* addresses for the next read */
	uint16_t *numbers;
};

/* Reads n pieces of `size` bytes into consecutive memory. */
static bool pieces_read(const uint64_t *at, uint64_t n, size_t size, void *ret)
{
	char *out = ret;

	for (uint64_t done = 0, count; done < n; done += count) {
		struct iovec from[BATCH], to = {out + done * size, 0};

		count = n - done < BATCH ? n - done : BATCH;
		for (uint64_t i = 0; i < count; i++)
			from[i] = (struct iovec){(void *)(uintptr_t)at[done + i], size};
		to.iov_len = count * size;
		if (syscall(SYS_process_vm_readv, getpid(), &to, 1, from, count, 0) != (long)to.iov_len)
			return false;
	}
	return true;
}

static bool word_read(uint64_t at, uint64_t *ret)
{
	return pieces_read(&at, 1, sizeof(*ret), ret);
}

static bool array_open(const struct method_layout *l, uint64_t klass, uint64_t *ret_array, uint64_t *ret_n)
{
	uint64_t at;
	int32_t n;

	if (!word_read(klass + l->methods, ret_array) || !*ret_array)
		return false;
	at = *ret_array + l->array_length;
	if (!pieces_read(&at, 1, sizeof(n), &n) || n <= 0 || n > METHODS_MAX)
		return false;
	*ret_n = (uint64_t)n;
	return true;
}

/* Reads each method's number and, by that, its jmethodID, or 0. */
static bool ids_read(const struct method_layout *l, uint64_t klass, struct list *m)
{
	uint64_t ids, n_ids;

	for (uint64_t i = 0; i < m->n; i++)
		m->at[i] = m->methods[i] + l->const_method;
	if (!pieces_read(m->at, m->n, 8, m->ids))
		return false;
	for (uint64_t i = 0; i < m->n; i++)
		m->at[i] = m->ids[i] + l->number;
	if (!pieces_read(m->at, m->n, 2, m->numbers))
		return false;
	if (!word_read(klass + l->ids, &ids) || !ids || !word_read(ids, &n_ids))
		return false;
	/* The first word is the number of ids: for a method without one, that is read, then overwritten with 0. */
	for (uint64_t i = 0; i < m->n; i++)
		m->at[i] = m->numbers[i] < n_ids ? ids + 8 * ((uint64_t)m->numbers[i] + 1) : ids;
	if (!pieces_read(m->at, m->n, 8, m->ids))
		return false;
	for (uint64_t i = 0; i < m->n; i++)
		if (m->at[i] == ids)
			m->ids[i] = 0;
	return true;
}

/* JVMTI lists methods in the class's order: each search starts after the previous match. */
static bool methods_match(const struct list *m, JVMPI_JS_Addresses *a)
{
	uint64_t next = 0;

	for (jint i = 0; i < a->num_methods; i++) {
		uint64_t id = (uint64_t)(uintptr_t)a->methods[i].method_id, looks;

		for (looks = 0; looks < m->n && m->ids[next] != id; looks++)
			next = (next + 1) % m->n;
		if (looks == m->n || !id)
			return false;
		a->addresses[i] = (jlong)m->methods[next];
		next = (next + 1) % m->n;
	}
	return true;
}

static bool list_read(const struct method_layout *l, uint64_t klass, uint64_t array, struct list *m)
{
	uint64_t again, n;

	for (uint64_t i = 0; i < m->n; i++)
		m->at[i] = array + l->array_data + 8 * i;
	return pieces_read(m->at, m->n, 8, m->methods) && ids_read(l, klass, m) && array_open(l, klass, &again, &n) &&
	       again == array && n == m->n;
}

bool method_list_find(const struct method_layout *l, uint64_t klass, JVMPI_JS_Addresses *a)
{
	struct list m = {0};
	uint64_t array;
	char *memory;
	bool ok;

	if (a->num_methods <= 0 || a->num_methods > METHODS_MAX || !array_open(l, klass, &array, &m.n))
		return false;
	memory = malloc(m.n * (3 * 8 + 2));
	if (!memory)
		return false;
	m.methods = (uint64_t *)(void *)memory;
	m.ids = m.methods + m.n;
	m.at = m.ids + m.n;
	m.numbers = (uint16_t *)(m.at + m.n);
	ok = list_read(l, klass, array, &m) && methods_match(&m, a);
	free(memory);
	return ok;
}
