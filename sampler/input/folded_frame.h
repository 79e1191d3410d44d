#ifndef JS_INPUT_FOLDED_FRAME_H
#define JS_INPUT_FOLDED_FRAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * Takes the text of a frame apart: the inverse of sampler/output/frame_text.h, so that printing the
 * parts (with lines and suffixes) gives the same bytes.
 */
struct folded_frame {
	size_t name_len; /* the name is the text's beginning */
	int32_t line; /* 0: none */
	uint8_t kind; /* enum named_kind */
	uint8_t tier;
};

struct folded_frame folded_frame_parse(const char *text, size_t len);

/* Synthetic roots: "[name tid=7]", "[comm pid=7]" and "[blocked]". */
struct folded_root {
	uint8_t kind; /* NAMED_THREAD, NAMED_PROCESS, NAMED_STATE; NAMED_UNKNOWN: not a root */
	const char *name; /* in the text: the thread, the state */
	size_t name_len;
	int32_t id; /* tid, pid */
};

struct folded_root folded_root_parse(const char *text, size_t len);

#endif
