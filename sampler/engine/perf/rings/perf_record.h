#ifndef JS_ENGINE_PERF_RECORD_H
#define JS_ENGINE_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Decodes the records of a perf ring, which are not trusted. Their layout is described at
 * enum perf_event_type in linux/perf_event.h.
 */

/* How the events were opened, which decides the fields of a record. */
struct perf_layout {
	uint64_t sample_type; /* PERF_SAMPLE_*; those that perf_layout_supported() accepts */
	unsigned n_regs; /* bits in sample_regs_user */
	unsigned n_read; /* u64 values in the read format, starting with the count */
	bool sample_id_all;
};

enum perf_record_kind {
	PERF_REC_SAMPLE,
	PERF_REC_LOST, /* `lost`: records that found no room in the ring */
	PERF_REC_LOST_SAMPLES, /* `lost`: samples that the hardware dropped */
	PERF_REC_THROTTLE,
	PERF_REC_UNTHROTTLE,
	PERF_REC_COMM,
	PERF_REC_FORK,
	PERF_REC_EXIT,
	PERF_REC_MMAP,
	PERF_REC_READ, /* `counted`: by an inherited event, when its thread ends */
	PERF_REC_OTHER, /* well-formed, of a type that is not used here */
};

/* Pointers are borrowed from the bytes parsed. They need not be aligned: read with memcpy. */
struct perf_record {
	enum perf_record_kind kind;
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc;
	pid_t pid, tid; /* 0: not in the record; -1: a thread that is gone */
	pid_t ppid, ptid; /* FORK: the parent */
	uint64_t time; /* ns, 0: not in the record */
	uint64_t id; /* of the opened event; inherited ones have the same; 0: not in the record */
	uint32_t cpu;
	uint64_t lost, counted;

	const char *path; /* MMAP: of the file; at most path_len bytes, up to a NUL */
	size_t path_len;

	bool exec; /* COMM: because of execve */
	char comm[16];

	uint64_t ip, period;
	const uint8_t *chain; /* n_chain u64, with context markers */
	uint64_t n_chain;
	uint64_t user_abi; /* PERF_SAMPLE_REGS_ABI_*; NONE: no user registers */
	const uint8_t *regs; /* n_regs u64, NULL if user_abi is NONE */
	unsigned n_regs;
	const uint8_t *stack;
	uint64_t stack_size; /* bytes reserved in the record */
	uint64_t stack_dyn; /* bytes really copied, <= stack_size */
};

bool perf_layout_supported(const struct perf_layout *l);

/*
 * Decodes the record that fills `size` bytes at `bytes`. -EINVAL: the size does not fit, or a field lies outside it.
 * Writes no memory but *ret.
 */
int perf_record_parse(const struct perf_layout *l, const void *bytes, size_t size, struct perf_record *ret);

/*
 * Copies the kernel's part of a call chain, leaf first, without context markers. Returns the count,
 * at most `max`.
 */
size_t perf_record_kernel_chain(const struct perf_record *r, uint64_t *ret, size_t max);

#endif
