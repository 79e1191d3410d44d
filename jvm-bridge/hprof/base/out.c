#include "jvm-bridge/hprof/base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "jvm-bridge/hprof/base/hprof.h"

enum { BUFFER = 1 << 16, LINE_MAX_ = 8192, NET_PATIENCE_S = 10 };

static struct {
	int fd; /* -1: output has ended */
	int net; /* the connection, left open because its reader may be about to read; -1: a file */
	bool is_file;
	off_t kept; /* size of the file up to the last whole record */
	off_t at; /* size of the file */
	size_t n, whole; /* bytes in the buffer; of those, in whole records */
	unsigned number; /* behind the file's name; 0: none */
	char first[FILE_NAME_MAX + 32]; /* name without the number */
	char name[FILE_NAME_MAX + 64];
	char buffer[BUFFER];
} out = {.fd = -1, .net = -1};

/* With force=n, the PID is inserted before .txt, or appended. */
static void name_with_pid(const char *file)
{
	size_t n = strlen(file);
	bool text = n > 4 && !strcmp(file + n - 4, ".txt");

	snprintf(out.name, sizeof(out.name), "%.*s.%d%s", (int)(text ? n - 4 : n), file, (int)getpid(),
		 text ? ".txt" : "");
}

/* 0644. With `fresh`, not one that exists. */
static int file_create(const char *name, bool fresh)
{
	return open(name, O_WRONLY | O_CREAT | O_CLOEXEC | (fresh ? O_EXCL : O_TRUNC), 0644);
}

static int file_open(const struct hprof_options *o)
{
	snprintf(out.name, sizeof(out.name), "%s", o->file);
	out.fd = file_create(out.name, !o->force);
	if (out.fd < 0 && errno == EEXIST && !o->force) {
		name_with_pid(o->file);
		out.fd = file_create(out.name, false);
	}
	if (out.fd < 0) {
		int r = -errno;

		hprof_error("cannot open '%s': %s", out.name, strerror(-r));
		return r;
	}
	out.is_file = true;
	snprintf(out.first, sizeof(out.first), "%.*s", (int)sizeof(out.first) - 1, out.name);
	return 0;
}

/* The longest time that an unreachable or slow peer can block the JVM. */
static int net_connect(const struct addrinfo *a)
{
	struct timeval patience = {.tv_sec = NET_PATIENCE_S};
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol), error;

	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) &&
	    !connect(fd, a->ai_addr, a->ai_addrlen))
		return fd;
	error = errno == EINPROGRESS ? ETIMEDOUT : errno;
	close(fd);
	return -error;
}

static int net_open(const struct hprof_options *o)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
	char port[16];
	int r;

	snprintf(port, sizeof(port), "%u", o->port);
	snprintf(out.name, sizeof(out.name), "%s:%s", o->net, port);
	r = getaddrinfo(o->net, port, &hints, &all);
	if (r) {
		hprof_error("cannot connect to %s: %s", out.name, gai_strerror(r));
		return -EHOSTUNREACH;
	}
	r = -EHOSTUNREACH;
	for (struct addrinfo *a = all; a && r < 0; a = a->ai_next)
		r = net_connect(a);
	freeaddrinfo(all);
	if (r < 0) {
		hprof_error("cannot connect to %s: %s", out.name, strerror(-r));
		return r;
	}
	out.fd = out.net = r;
	return 0;
}

int out_open(const struct hprof_options *o)
{
	return o->port ? net_open(o) : file_open(o);
}

/* Prints the error once; the file is cut after its last whole record. */
static void out_fail(int error)
{
	hprof_error("cannot write to %s: %s; further output is lost", out.name, strerror(error));
	if (out.is_file && ftruncate(out.fd, out.kept))
		hprof_error("%s ends in the middle of a record", out.name);
	if (out.is_file)
		close(out.fd);
	else
		shutdown(out.fd, SHUT_RDWR);
	out.fd = -1;
	out.n = out.whole = 0;
}

static void out_write(const char *data, size_t n, size_t whole)
{
	size_t done = 0;

	while (done < n && out.fd >= 0) {
		ssize_t r = out.is_file ? write(out.fd, data + done, n - done) :
					  send(out.fd, data + done, n - done, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0) {
			out_fail(!r ? ENOSPC : errno == EAGAIN ? ETIMEDOUT : errno);
			return;
		}
		done += (size_t)r;
	}
	if (whole)
		out.kept = out.at + (off_t)whole;
	out.at += (off_t)n;
}

static void buffer_write(void)
{
	size_t n = out.n, whole = out.whole;

	out.n = out.whole = 0;
	if (n)
		out_write(out.buffer, n, whole);
}

void out_put(const void *data, size_t n)
{
	if (out.fd < 0)
		return;
	if (n > BUFFER - out.n)
		buffer_write();
	if (n > BUFFER) {
		out_write(data, n, 0);
		return;
	}
	memcpy(out.buffer + out.n, data, n);
	out.n += n;
}

void out_print(const char *fmt, ...)
{
	char line[LINE_MAX_];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(line))
		n = sizeof(line) - 1;
	if (n > 0)
		out_put(line, (size_t)n);
}

void out_whole(void)
{
	if (out.n)
		out.whole = out.n;
	else
		out.kept = out.at;
}

void out_flush(void)
{
	if (out.fd >= 0)
		buffer_write();
}

/* Some file systems report a full disk only at close. */
static void file_close(void)
{
	if (out.fd >= 0 && out.is_file && close(out.fd))
		hprof_error("cannot write to %s: %s", out.name, strerror(errno));
}

const char *out_next(void)
{
	enum { NUMBERS = 100000 };
	char name[sizeof(out.name)];
	unsigned number = out.number;
	int fd = -1;

	out_flush();
	if (out.fd < 0 || !out.is_file)
		return NULL;
	do {
		snprintf(name, sizeof(name), "%s.%u", out.first, ++number);
		fd = file_create(name, !hprof.options.force);
	} while (fd < 0 && errno == EEXIST && !hprof.options.force && number < NUMBERS);
	if (fd < 0) {
		hprof_error("cannot open '%s': %s; %s gets another heap dump, which many programs do not read", name,
			    strerror(errno), out.name);
		return NULL;
	}
	file_close();
	out.fd = fd;
	out.number = number;
	out.at = out.kept = 0;
	memcpy(out.name, name, sizeof(name));
	return out.name;
}

void out_close(void)
{
	out_flush();
	file_close();
	if (out.net >= 0)
		shutdown(out.net, SHUT_RDWR);
	out.fd = -1;
}

int out_read(void *data, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = recv(out.net, (char *)data + done, n - done, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? -errno : -EPIPE;
		done += (size_t)r;
	}
	return 0;
}
