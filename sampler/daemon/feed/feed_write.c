#include <errno.h>
#include <string.h>

#include "sampler/daemon/feed/feed.h"
#include "sampler/daemon/feed/frame.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/encode.h"

static bool is_short(const char *text, size_t max)
{
	return text && strlen(text) <= max;
}

static bool is_target_fine(const struct feed_message *m)
{
	if (!is_short(m->boot_id, FEED_BOOT_ID_MAX) || m->pid <= 0 || m->n_labels > FEED_LABELS_MAX)
		return false;
	for (size_t i = 0; i < m->n_labels; i++)
		if (!is_short(m->labels[i].key, FEED_KEY_MAX) || !*m->labels[i].key ||
		    !is_short(m->labels[i].value, FEED_VALUE_MAX))
			return false;
	return true;
}

static bool is_valid(const struct feed_message *m)
{
	if (m->target > FEED_TARGETS_MAX || (m->target == FEED_TARGETS_MAX && m->kind != FEED_EVENT))
		return false;
	switch (m->kind) {
	case FEED_TARGET: return is_target_fine(m);
	case FEED_PROFILE: return m->profile_len > 0 && m->profile_len <= FEED_BYTES_MAX;
	case FEED_GONE: return true;
	case FEED_EVENT: return m->event > 0 && m->event < FEED_EVENTS && is_short(m->text, FEED_TEXT_MAX);
	}
	return false;
}

static void write_target(const struct feed_message *m, struct buf *b)
{
	put_text(b, m->boot_id);
	put_u32(b, (uint32_t)m->pid);
	put_u64(b, m->start_ticks);
	put_u64(b, m->since_ns);
	put_u32(b, (uint32_t)m->n_labels);
	for (size_t i = 0; i < m->n_labels; i++) {
		put_text(b, m->labels[i].key);
		put_text(b, m->labels[i].value);
	}
}

static void write_body(const struct feed_message *m, struct buf *b)
{
	switch (m->kind) {
	case FEED_TARGET: write_target(m, b); break;
	case FEED_PROFILE: buf_add(b, m->profile, m->profile_len); break;
	case FEED_GONE: break;
	case FEED_EVENT:
		put_u32(b, m->event);
		put_u64(b, m->time_ns);
		put_text(b, m->text);
		break;
	}
}

int feed_write(const struct feed_message *m, struct buf *b)
{
	size_t start = b->len;
	uint32_t len;

	if (!is_valid(m))
		return -EINVAL;
	put_u32(b, 0);
	put_u16(b, FEED_VERSION);
	put_u16(b, (uint16_t)m->kind);
	put_u32(b, m->target);
	write_body(m, b);
	if (b->failed)
		return -ENOMEM;
	len = (uint32_t)(b->len - start - FRAME_HEAD);
	memcpy(b->data + start, &len, sizeof(len));
	return 0;
}
