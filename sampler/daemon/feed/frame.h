#ifndef JS_FEED_FRAME_H
#define JS_FEED_FRAME_H

/*
 * In front of each message, little-endian: u32 length of what follows these twelve bytes, u16 version, u16 kind, u32 target. Texts are
 * a u32 length and bytes without a NUL.
 */
enum { FRAME_HEAD = 12 };

#endif
