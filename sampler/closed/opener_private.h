#ifndef JS_CLOSED_OPENER_PRIVATE_H
#define JS_CLOSED_OPENER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"

/* The messages between the two ends of an opener. Each request has one answer. */
enum opener_what { OPENER_INPUT, OPENER_NAME, OPENER_RESCUE };

struct opener_request {
	uint32_t what;
	uint32_t number; /* of an input; of a file that may be named (opener_file()); of an output */
	uint32_t place; /* rescue: below OUTFILE_RESCUES */
};

struct opener_answer {
	int32_t code; /* 0, or a negative errno */
	char message[sizeof(((struct err *)0)->msg)]; /* NAME: why not */
	char path[4096]; /* RESCUE: the file's */
};

struct opener_output {
	struct outfile *file, *rescue[OUTFILE_RESCUES];
	bool rescued[OUTFILE_RESCUES]; /* only once each, so that the other end cannot fill a directory with names */
	char *path;
};

struct opener {
	int socket; /* -1: not started */
	pid_t child, parent;
	int (*drop)(struct err *err); /* what the child gives up first; NULL: nothing */
	const char *const *inputs;
	size_t n_inputs;
	struct opener_output *outputs;
	size_t n_outputs;
	struct outfile_namer namer;
};

/* In the child: the file of an output, or of its rescue file, by number. NULL: no such number. */
struct outfile **opener_file(struct opener *o, size_t number);

/* In the child: answers requests until the other end is closed or breaks the protocol. */
void opener_serve(struct opener *o, int socket);

/* At both ends: blocks on a FIFO without a writer only until `socket` (-1: none) is closed. A descriptor or -errno. */
int opener_open_input(const char *path, int socket);

#endif
