#ifndef JS_INPUT_FOLDED_FRAME_H
#define JS_INPUT_FOLDED_FRAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * The text of one frame taken apart: the inverse of sampler/output/frame_text.h, so that what is
 * printed from the parts (with lines and suffixes) is the text again, byte by byte.
 */
struct folded_frame {
	size_t name_len; /* the name is the text's beginning */
	int32_t line; /* 0: none */
	uint8_t kind; /* enum named_kind */
	uint8_t tier;
};

struct folded_frame folded_frame_parse(const char *text, size_t len);

/* Synthetic roots: what "[name tid=7]", "[comm pid=7]" and "[blocked]" say. */
struct folded_root {
	uint8_t kind; /* NAMED_THREAD, NAMED_PROCESS, NAMED_STATE; NAMED_UNKNOWN: it is none */
	const char *name; /* in the text: the thread, the state */
	size_t name_len;
	int32_t id; /* tid, pid */
};

struct folded_root folded_root_parse(const char *text, size_t len);

#endif
