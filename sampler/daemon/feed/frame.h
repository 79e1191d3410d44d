#ifndef JS_FEED_FRAME_H
#define JS_FEED_FRAME_H

/*
 * The head of each message, little-endian: u32 length of what follows these twelve bytes, u16 version, u16 kind, u32
 * target. A text is a u32 length, followed by bytes without a NUL.
 */
enum { FRAME_HEAD = 12 };

#endif
