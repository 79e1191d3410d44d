#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/feed/feed.h"
#include "sampler/daemon/feed/frame.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cursor.h"
#include "symbolizer/base/text.h"

struct feed_reader {
	struct buf bytes;
	size_t at; /* of the next message */
	int broken; /* 0, or what ended the stream */
	struct arena texts; /* of the present message */
	bool introduced[FEED_TARGETS_MAX];
	struct label labels[FEED_LABELS_MAX];
};

struct feed_reader *feed_reader_new(void)
{
	return calloc(1, sizeof(struct feed_reader));
}

void feed_reader_free(struct feed_reader *r)
{
	if (!r)
		return;
	arena_done(&r->texts);
	buf_done(&r->bytes);
	free(r);
}

/* Data that was read is discarded once it is as long as the data that is left. */
int feed_reader_add(struct feed_reader *r, const void *bytes, size_t n)
{
	if (r->at && r->at >= r->bytes.len - r->at) {
		memmove(r->bytes.data, r->bytes.data + r->at, r->bytes.len - r->at);
		r->bytes.len -= r->at;
		r->at = 0;
	}
	buf_add(&r->bytes, bytes, n);
	return r->bytes.failed ? -ENOMEM : 0;
}

/* NULL, and the cursor is marked bad: the text is too long, or contains what text_sanitise() would have replaced. */
static const char *take_text(struct feed_reader *r, struct cursor *c, size_t max)
{
	uint32_t n = cursor_u32(c);
	const char *s = n <= max ? cursor_take(c, n) : NULL;
	char *copy = s ? arena_strndup(&r->texts, s, n) : NULL;

	if (copy)
		text_sanitise(copy, n + 1, s, n);
	if (!copy || strlen(copy) != n || memcmp(copy, s, n) != 0) {
		c->bad = true;
		return NULL;
	}
	return copy;
}

static bool read_target(struct feed_reader *r, struct cursor *c, struct feed_message *m)
{
	m->boot_id = take_text(r, c, FEED_BOOT_ID_MAX);
	m->pid = cursor_i32(c);
	m->start_ticks = cursor_u64(c);
	m->since_ns = cursor_u64(c);
	m->n_labels = cursor_u32(c);
	if (c->bad || m->pid <= 0 || m->n_labels > FEED_LABELS_MAX || r->introduced[m->target])
		return false;
	for (size_t i = 0; i < m->n_labels && !c->bad; i++) {
		r->labels[i].key = take_text(r, c, FEED_KEY_MAX);
		r->labels[i].value = take_text(r, c, FEED_VALUE_MAX);
		c->bad |= c->bad || !*r->labels[i].key;
	}
	m->labels = r->labels;
	r->introduced[m->target] = !c->bad;
	return true;
}

static bool read_event(struct feed_reader *r, struct cursor *c, struct feed_message *m)
{
	m->event = (enum feed_event)cursor_u32(c);
	m->time_ns = cursor_u64(c);
	m->text = take_text(r, c, FEED_TEXT_MAX);
	return m->event > 0 && m->event < FEED_EVENTS;
}

static bool read_body(struct feed_reader *r, struct cursor *c, struct feed_message *m)
{
	bool of_host = m->target == FEED_TARGETS_MAX && m->kind == FEED_EVENT;

	if (!of_host && (m->target >= FEED_TARGETS_MAX || (m->kind != FEED_TARGET && !r->introduced[m->target])))
		return false;
	switch (m->kind) {
	case FEED_TARGET: return read_target(r, c, m);
	case FEED_EVENT: return read_event(r, c, m);
	case FEED_GONE: r->introduced[m->target] = false; return true;
	case FEED_PROFILE:
		m->profile_len = cursor_left(c);
		m->profile = cursor_take(c, m->profile_len);
		return m->profile_len > 0;
	}
	return false;
}

static int fail(struct feed_reader *r, int code)
{
	r->broken = code;
	return code;
}

int feed_reader_next(struct feed_reader *r, struct feed_message *ret)
{
	struct cursor head, body;
	uint16_t version;
	uint32_t len;

	if (r->broken || r->bytes.len - r->at < FRAME_HEAD)
		return r->broken;
	head = cursor_make(r->bytes.data + r->at, r->bytes.len - r->at);
	len = cursor_u32(&head);
	version = cursor_u16(&head);
	*ret = (struct feed_message){.kind = (enum feed_kind)cursor_u16(&head)};
	ret->target = cursor_u32(&head);
	if (version != FEED_VERSION)
		return fail(r, -EPROTONOSUPPORT);
	if (len > FEED_BYTES_MAX)
		return fail(r, -EPROTO);
	if (len > cursor_left(&head))
		return 0;
	arena_done(&r->texts);
	body = cursor_make(head.p, len);
	if (!read_body(r, &body, ret) || body.bad || cursor_left(&body))
		return fail(r, -EPROTO);
	r->at += FRAME_HEAD + len;
	return 1;
}
