#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/native/dso_priv.h"
#include "symbolizer/target/target_file.h"

/*
 * Separate debug files (GDB manual, "Separate Debug Files") and the small symbol table that
 * Fedora packs into .gnu_debugdata ("MiniDebugInfo" there).
 */

#define DEBUG_ROOT "/usr/lib/debug"
enum { PATH_SIZE = 4096, XZ_MEMORY = 80 << 20 /* xz -9 takes 65 MB */, XZ_STEP = 1 << 20 };

static bool build_id_path(const uint8_t *id, size_t len, char *dst, size_t size)
{
	size_t n;

	if (len < 2 || size < sizeof(DEBUG_ROOT "/.build-id/xx/.debug") + 2 * len)
		return false;
	n = (size_t)snprintf(dst, size, DEBUG_ROOT "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < len; i++)
		n += (size_t)snprintf(dst + n, size - n, "%02x", id[i]);
	snprintf(dst + n, size - n, ".debug");
	return true;
}

static bool has_build_id(struct image *im, const uint8_t *id, size_t len)
{
	uint8_t other[64];

	return len && image_build_id(im, other, sizeof(other)) == len && !memcmp(other, id, len);
}

static uint32_t image_crc32(const struct image *im)
{
	uint8_t block[1 << 16];
	uint32_t crc = 0;
	uint64_t off;

	for (off = 0; off < im->size; off += sizeof(block)) {
		size_t n = im->size - off < sizeof(block) ? im->size - off : sizeof(block);

		if (budget_expired(im->budget) || !image_read(im, off, block, n))
			return ~crc; /* in practice never the wanted CRC */
		crc = lzma_crc32(block, n, crc);
	}
	return crc;
}

/* The build-id decides; without one, the checksum, which is slow on large files. */
static bool belongs(struct dso *d, struct image *im, const uint32_t *crc)
{
	uint8_t id[64];
	size_t len = image_build_id(im, id, sizeof(id));

	if (d->build_id_len && len)
		return len == d->build_id_len && !memcmp(id, d->build_id, len);
	if (!crc)
		return false;
	if (!budget_check(d->budget, im->size)) {
		dso_refuse(d, im->size, "debug file");
		return false;
	}
	return image_crc32(im) == *crc;
}

static bool try_fd(struct dso *d, int fd, const uint32_t *crc, struct image *ret)
{
	if (fd < 0 || image_open_fd(ret, fd, d->budget) < 0)
		return false;
	if (belongs(d, ret, crc))
		return true;
	image_close(ret);
	return false;
}

static bool find_by_build_id(struct dso *d)
{
	char path[PATH_SIZE];

	return build_id_path(d->build_id, d->build_id_len, path, sizeof(path)) &&
	       (try_fd(d, d->debug_open(d->debug_ctx, path), NULL, &d->debug) ||
		try_fd(d, target_file_open_on_host(path), NULL, &d->debug));
}

/* The section has a file name, padding to 4 bytes, and the CRC. */
static bool read_debuglink(struct dso *d, char *name, size_t size, uint32_t *crc)
{
	Elf64_Shdr sh;
	Elf_Scn *scn = image_section(&d->main, ".gnu_debuglink", &sh);
	Elf_Data *data = scn ? image_section_data(&d->main, scn, PATH_SIZE) : NULL;
	size_t len;

	if (!data || data->d_size < 8)
		return false;
	len = strnlen(data->d_buf, data->d_size - 4);
	if (!len || len >= size || len >= data->d_size - 4 || memchr(data->d_buf, '/', len))
		return false;
	memcpy(name, data->d_buf, len + 1);
	memcpy(crc, (const char *)data->d_buf + data->d_size - 4, 4);
	return true;
}

static bool find_by_link(struct dso *d)
{
	static const char *const form[] = {"%s%.*s/%s", "%s%.*s/.debug/%s", "%s%.*s/%s"};
	static const char *const root[] = {"", "", DEBUG_ROOT};
	char name[256], path[PATH_SIZE];
	const char *slash = strrchr(d->path, '/');
	uint32_t crc;

	if (!slash || slash - d->path > PATH_SIZE / 2 || !read_debuglink(d, name, sizeof(name), &crc))
		return false;
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), form[i], root[i], (int)(slash - d->path), d->path, name);
		if (try_fd(d, d->debug_open(d->debug_ctx, path), &crc, &d->debug))
			return true;
	}
	return false;
}

struct image *dso_debug_image(struct dso *d)
{
	if (!d->debug_tried && d->debug_open && d->main.elf && dso_begin(d)) {
		d->debug_tried = true;
		if (!find_by_build_id(d))
			find_by_link(d);
		dso_end(d);
	}
	return d->debug.elf ? &d->debug : NULL;
}

int dso_open_alt(struct dso *d, const char *name, const uint8_t *id, size_t id_len, struct image *ret)
{
	char path[PATH_SIZE];
	int fd = -1;

	for (int i = 0; i < 3 && d->debug_open; i++) {
		if (i == 0)
			snprintf(path, sizeof(path), "%s", name);
		else if (!build_id_path(id, id_len, path, sizeof(path)))
			continue;
		if (path[0] != '/')
			continue;
		fd = i < 2 ? d->debug_open(d->debug_ctx, path) : target_file_open_on_host(path);
		if (fd < 0 || image_open_fd(ret, fd, d->budget) < 0)
			continue;
		if (has_build_id(ret, id, id_len))
			return 0;
		image_close(ret);
	}
	return -ENOENT;
}

/* Decompresses an xz stream to at most IMAGE_MAX_MINI bytes, which are taken from the budget. */
static uint8_t *xz_decode(struct dso *d, const uint8_t *in, size_t in_len, size_t *ret_len)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	uint8_t *out = NULL;
	size_t cap = 0;
	lzma_ret r = lzma_stream_decoder(&xz, XZ_MEMORY, 0);

	xz.next_in = in;
	xz.avail_in = in_len;
	while (r == LZMA_OK && !budget_expired(d->budget)) {
		if (!xz.avail_out) {
			uint8_t *p = cap < IMAGE_MAX_MINI && dso_take(d, XZ_STEP) ? realloc(out, cap + XZ_STEP) : NULL;

			if (!p)
				break;
			out = p;
			xz.next_out = out + cap;
			xz.avail_out = XZ_STEP;
			cap += XZ_STEP;
		}
		r = lzma_code(&xz, LZMA_FINISH);
	}
	*ret_len = cap - xz.avail_out;
	lzma_end(&xz);
	if (r != LZMA_STREAM_END) {
		free(out);
		return NULL;
	}
	return out;
}

static void open_mini(struct dso *d, Elf_Scn *scn)
{
	Elf_Data *data = image_section_data(&d->main, scn, IMAGE_MAX_MINI);
	uint8_t *bytes = NULL;
	size_t len;

	/* Temporarily, for the decoder's dictionary. */
	if (data && budget_take(d->budget, XZ_MEMORY)) {
		bytes = xz_decode(d, data->d_buf, data->d_size, &len);
		budget_give(d->budget, XZ_MEMORY);
	}
	if (!bytes || image_open_bytes(&d->mini, bytes, len, d->budget) < 0)
		dso_refuse(d, data ? data->d_size : 0, ".gnu_debugdata");
}

struct image *dso_mini_image(struct dso *d)
{
	Elf64_Shdr sh;
	Elf_Scn *scn;

	if (!d->mini_tried && d->main.elf && dso_begin(d)) {
		d->mini_tried = true;
		scn = image_section(&d->main, ".gnu_debugdata", &sh);
		if (scn)
			open_mini(d, scn);
		dso_end(d);
	}
	return d->mini.elf ? &d->mini : NULL;
}
