#include "sampler/closed/opener.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/closed/opener_private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"

enum { FILES_EACH = 1 + OUTFILE_RESCUES };

struct outfile **opener_file(struct opener *o, size_t number)
{
	struct opener_output *out = number / FILES_EACH < o->n_outputs ? &o->outputs[number / FILES_EACH] : NULL;
	size_t which = number % FILES_EACH;

	if (!out)
		return NULL;
	return which ? &out->rescue[which - 1] : &out->file;
}

/* --- asking --- */

static int ask(struct opener *o, struct opener_request q, struct opener_answer *ret, int *ret_fd)
{
	int r = channel_send(o->socket, &q, sizeof(q), -1);

	if (r == 0)
		r = channel_receive(o->socket, ret, sizeof(*ret), ret_fd);
	if (r < 0)
		return r;
	ret->message[sizeof(ret->message) - 1] = '\0';
	ret->path[sizeof(ret->path) - 1] = '\0';
	if (ret->code && ret_fd && *ret_fd >= 0)
		close(take_fd(ret_fd));
	return ret->code > 0 ? -EPROTO : ret->code;
}

static int ask_for_name(void *ctx, unsigned number, struct err *err)
{
	struct opener_answer a = {0};
	int r = ask(ctx, (struct opener_request){.what = OPENER_NAME, .number = number}, &a, NULL);

	if (r < 0)
		return err_set(err, r, "%s", a.message[0] ? a.message : "the process that names files has ended");
	return 0;
}

int opener_input(struct opener *o, const char *path)
{
	struct opener_request q = {.what = OPENER_INPUT};
	struct opener_answer a;
	int fd = -1, r;

	if (!o)
		return opener_open_input(path, -1);
	while (q.number < o->n_inputs && strcmp(o->inputs[q.number], path) != 0)
		q.number++;
	r = ask(o, q, &a, &fd);
	return r < 0 ? r : fd < 0 ? -EPROTO : fd;
}

int opener_rescue(struct opener *o, const char *path, unsigned i, struct outfile **ret, char *ret_path, size_t size)
{
	struct opener_request q = {.what = OPENER_RESCUE, .place = i};
	struct opener_answer a;
	int fd = -1, r;

	if (!o)
		return outfile_open_rescue(path, i, ret, ret_path, size);
	while (q.number < o->n_outputs && strcmp(o->outputs[q.number].path, path) != 0)
		q.number++;
	r = q.number < o->n_outputs && i < OUTFILE_RESCUES ? ask(o, q, &a, &fd) : -ENOENT;
	if (r == 0 && fd < 0)
		r = -EPROTO;
	if (r < 0)
		return r;
	snprintf(ret_path, size, "%s", a.path);
	return outfile_from(fd, a.path, &o->namer, q.number * FILES_EACH + 1 + i, ret);
}

/* --- start and end --- */

struct opener *opener_new(const char *const *inputs, size_t n_inputs)
{
	struct opener *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	*o = (struct opener){.socket = -1, .inputs = inputs, .n_inputs = n_inputs, .namer = {ask_for_name, o}};
	return o;
}

int opener_add_output(struct opener *o, struct outfile *f, const char *path)
{
	struct opener_output *grown = reallocarray(o->outputs, o->n_outputs + 1, sizeof(*grown));
	char *own = strdup(path);

	if (grown)
		o->outputs = grown;
	if (!grown || !own) {
		free(own);
		return -ENOMEM;
	}
	grown[o->n_outputs++] = (struct opener_output){.file = f, .path = own};
	return 0;
}

static bool is_own(const void *ctx, int fd)
{
	const struct opener *o = ctx;
	bool own = fd == o->socket;

	for (size_t i = 0; i < o->n_outputs && !own; i++)
		own = fd == fileno(outfile_stream(o->outputs[i].file)) || fd == outfile_directory(o->outputs[i].file);
	return own;
}

static void run_child(void *ctx, int socket)
{
	struct opener *o = ctx;
	struct err err;

	/*
	 * Signals that end the other process must not end this one before it has removed temporary files. stdin stays
	 * open, since it may be an input named /dev/stdin, and so do others that may be inputs named /dev/fd/N.
	 */
	o->socket = socket;
	channel_stay_behind(o->n_inputs ? NULL : is_own, o);
	if ((!o->drop || o->drop(&err) == 0) && channel_end_with(socket, o->parent) == 0)
		opener_serve(o, socket);
}

int opener_start(struct opener *o, int (*drop)(struct err *err), struct err *err)
{
	int r;

	o->drop = drop;
	o->parent = getpid();
	r = channel_start(run_child, o, &o->socket, &o->child);
	if (r < 0)
		return err_set(err, r, "cannot start the process that opens files: %s", strerror(-r));
	for (size_t i = 0; i < o->n_outputs; i++)
		outfile_hand_over(o->outputs[i].file, &o->namer, (unsigned)i * FILES_EACH);
	/* The caller of this program may have left any descriptors open; the child opens those that are inputs. */
	if (o->n_inputs)
		channel_close_others(is_own, o);
	return 0;
}

int opener_socket(const struct opener *o)
{
	return o->socket;
}

void opener_free(struct opener *o)
{
	if (!o)
		return;
	channel_end(o->socket, o->child);
	for (size_t i = 0; i < o->n_outputs; i++)
		free(o->outputs[i].path);
	free(o->outputs);
	free(o);
}
