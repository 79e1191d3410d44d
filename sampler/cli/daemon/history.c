#include "sampler/cli/daemon/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sampler/cli/daemon/daemon_get.h"
#include "sampler/cli/daemon/when.h"
#include "sampler/cli/options/options.h"
#include "sampler/input/reader.h"
#include "sampler/store/store.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"

#define SECOND UINT64_C(1000000000)

static int add_label(struct history *h, const char *key, size_t len, const char *value, struct err *err)
{
	struct label *l = &h->labels[h->n_labels];
	char *copy;

	if (h->n_labels == HISTORY_LABELS)
		return err_set(err, -EINVAL, "more than %d labels", HISTORY_LABELS);
	copy = malloc(len + strlen(value) + 2);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(copy, key, len);
	copy[len] = '\0';
	strcpy(copy + len + 1, value);
	*l = (struct label){copy, copy + len + 1};
	h->n_labels++;
	return 0;
}

static int take_label(struct history *h, const char *arg, struct err *err)
{
	const char *is = strchr(arg, '=');

	if (!is || is == arg)
		return err_set(err, -EINVAL, "--label %.60s: KEY=PATTERN, such as user=tomcat or pod=shop-*", arg);
	return add_label(h, arg, (size_t)(is - arg), is + 1, err);
}

int history_take(struct history *h, const struct option_spec *s, const char *arg, struct err *err)
{
	int r = 0;

	if (strcmp(s->name, "since") == 0)
		h->since = arg;
	else if (strcmp(s->name, "until") == 0)
		h->until = arg;
	else if (strcmp(s->name, "against") == 0)
		h->against = arg;
	else if (strcmp(s->name, "event") == 0)
		h->event = arg;
	else if (strcmp(s->name, "store") == 0)
		h->store = arg;
	else if (strcmp(s->name, "socket") == 0)
		h->socket = arg;
	else if (strcmp(s->name, "service") == 0)
		r = add_label(h, s->name, strlen(s->name), arg, err);
	else if (strcmp(s->name, "label") == 0)
		r = take_label(h, arg, err);
	else
		return 0;
	h->given = true;
	return r < 0 ? r : 1;
}

static int parse_moment(const char *option, const char *text, uint64_t now, uint64_t *ret, struct err *err)
{
	if (when_parse(text, now, ret) < 0)
		return err_set(err, -EINVAL,
			       "%s %.60s: how long ago (30m, 2h, 3d), a time (3:07), or a date and time "
			       "(2026-11-24T03:07)",
			       option, text);
	return 0;
}

static void name_range(struct history_range *g)
{
	time_t at = (time_t)(g->from_ns / SECOND);
	char text[32] = "";
	struct tm tm;

	if (localtime_r(&at, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(g->name, sizeof(g->name), "%s for %" PRIu64 " s", text, (g->to_ns - g->from_ns) / SECOND);
}

static int check_other(struct history *h, uint64_t now, struct err *err)
{
	const struct history_range *first = &h->ranges[0];
	struct history_range *other = &h->ranges[1];
	uint64_t length = first->to_ns - first->from_ns;

	other->from_ns = first->from_ns > length ? first->from_ns - length : 0;
	if (h->against && parse_moment("--against", h->against, now, &other->from_ns, err) < 0)
		return -EINVAL;
	other->to_ns = other->from_ns + length;
	name_range(other);
	h->n_ranges = 2;
	return 0;
}

int history_check(struct history *h, bool two, struct err *err)
{
	uint64_t now = clock_realtime_ns();
	struct history_range *g = &h->ranges[0];
	int r;

	if (!h->since)
		return err_set(err, -EINVAL, "--since TIME is missing, such as --since 30m or --since 3:07");
	if (h->store && h->socket)
		return err_set(err, -EINVAL, "--store and --socket cannot be combined");
	g->to_ns = now;
	r = parse_moment("--since", h->since, now, &g->from_ns, err);
	if (r == 0 && h->until)
		r = parse_moment("--until", h->until, now, &g->to_ns, err);
	if (r < 0)
		return r;
	if (g->from_ns >= g->to_ns)
		return err_set(err, -EINVAL, "--since %.40s is not before --until %.40s", h->since,
			       h->until ? h->until : "(now)");
	name_range(g);
	h->n_ranges = 1;
	return two ? check_other(h, now, err) : 0;
}

/* --- asking the daemon --- */

/* RFC 3986, 2.3 */
static void add_escaped(struct buf *b, const char *text)
{
	static const char as_is[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *text; text++)
		if (strchr(as_is, *text))
			buf_add(b, text, 1);
		else
			buf_printf(b, "%%%02X", (unsigned char)*text);
}

static int ask(const struct history *h, struct history_range *g, struct err *err)
{
	CLEANUP(buf_done) struct buf b = {0};

	buf_printf(&b, "/api/v1/profile?format=pprof&from=%" PRIu64 "&to=%" PRIu64, g->from_ns / SECOND,
		   (g->to_ns + SECOND - 1) / SECOND);
	for (size_t i = 0; i < h->n_labels; i++) {
		buf_add_z(&b, "&label.");
		add_escaped(&b, h->labels[i].key);
		buf_add_z(&b, "=");
		add_escaped(&b, h->labels[i].value);
	}
	if (h->event) {
		buf_add_z(&b, "&event=");
		add_escaped(&b, h->event);
	}
	if (b.failed)
		return err_set(err, -ENOMEM, "out of memory");
	g->answer = memfd_create("answer", MFD_CLOEXEC);
	if (g->answer < 0)
		return err_set(err, -errno, "no memory for the daemon's answer: %m");
	g->fd = daemon_get_start(h->socket ? h->socket : DAEMON_SOCKET, b.data, err);
	return g->fd < 0 ? g->fd : 0;
}

static int write_from_start(int fd, const char *bytes, size_t len)
{
	int r = file_write_all(fd, bytes, len);

	return r == 0 && lseek(fd, 0, SEEK_SET) < 0 ? -errno : r;
}

static int read_answer(struct history_range *g, struct named_profile **ret, struct err *err)
{
	CLEANUP(free_at_exit) char *bytes = NULL;
	size_t len;
	int r = daemon_get_finish(take_fd(&g->fd), &bytes, &len, err);

	if (r == 0 && (r = write_from_start(g->answer, bytes, len)) < 0)
		err_set(err, r, "no memory for the daemon's answer: %s", strerror(-r));
	return r < 0 ? r : reader_read_profile(take_fd(&g->answer), "the daemon's profile", ret, NULL, err);
}

/* --- either way --- */

int history_open(struct history *h, struct err *err)
{
	int r = 0;

	for (unsigned i = 0; i < h->n_ranges; i++)
		h->ranges[i].fd = h->ranges[i].answer = -1;
	for (unsigned i = 0; r == 0 && i < h->n_ranges; i++) {
		struct history_range *g = &h->ranges[i];
		const struct store_query q = {.from_ns = g->from_ns,
					      .to_ns = g->to_ns,
					      .event = h->event ? h->event : "cpu",
					      .labels = h->labels,
					      .n_labels = h->n_labels};

		r = h->store ? store_view_open(h->store, &q, &g->view, err) : ask(h, g, err);
	}
	return r;
}

int history_read(struct history *h, unsigned range, struct named_profile **ret, struct err *err)
{
	struct history_range *g = &h->ranges[range];
	int r = g->view ? store_view_read(g->view, ret, err) : read_answer(g, ret, err);

	return r < 0 && h->n_ranges > 1 ? err_wrap(err, r, "%s", g->name) : r;
}

static void range_done(struct history_range *g)
{
	store_view_close(take_ptr(g->view));
	if (g->fd > STDERR_FILENO)
		close(g->fd);
	if (g->answer > STDERR_FILENO)
		close(g->answer);
}

void history_done(struct history *h)
{
	for (unsigned i = 0; i < h->n_ranges; i++)
		range_done(&h->ranges[i]);
	for (size_t i = 0; i < h->n_labels; i++)
		free((void *)h->labels[i].key);
	h->n_labels = h->n_ranges = 0;
}
