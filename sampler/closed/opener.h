#ifndef JS_CLOSED_OPENER_H
#define JS_CLOSED_OPENER_H

#include <stddef.h>

struct err;
struct outfile;

/*
 * A child process that keeps the right to open files when this one gives it up (closed.h). It parses nothing. It opens,
 * by number, the inputs named on the command line, gives outputs that were opened before their names, and opens a file
 * in /tmp or the like in place of one that cannot be written (outfile_open_rescue()). It accepts no other requests, so
 * an attacker who takes over the parsers gets no other files. It ends with this process, however that ends; files that
 * have no name yet then leave nothing behind.
 */
struct opener;

/* For what is read and written from here on; paths are borrowed. NULL: out of memory. */
struct opener *opener_new(const char *const *inputs, size_t n_inputs);

/* Adds an output before opener_start(). The caller keeps f; its outfile_commit() asks the opener. 0 or -ENOMEM. */
int opener_add_output(struct opener *o, struct outfile *f, const char *path);

/*
 * Forks. drop: what the child calls first, to give up privileges that opening files does not need; NULL: nothing.
 * With inputs, this process keeps no descriptors but those of stdio, the outputs and the child; without inputs, the
 * child keeps no others. Call while single-threaded, with nothing in the buffers of outputs. 0 or -errno.
 */
int opener_start(struct opener *o, int (*drop)(struct err *err), struct err *err);

int opener_socket(const struct opener *o); /* for closed_begin() */

/*
 * Opens for reading: returns a descriptor that the caller owns, or -errno. path: one of the inputs; a FIFO is waited
 * for. o NULL: opened by this process.
 */
int opener_input(struct opener *o, const char *path);

/* Like outfile_open_rescue(); path: of an output. o NULL: by this process. */
int opener_rescue(struct opener *o, const char *path, unsigned i, struct outfile **ret, char *ret_path, size_t size);

/* Ends the child and waits for it. Frees o, not the outputs; NULL is fine. */
void opener_free(struct opener *o);

#endif
