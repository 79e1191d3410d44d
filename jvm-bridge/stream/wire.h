#ifndef JS_BRIDGE_WIRE_H
#define JS_BRIDGE_WIRE_H

#include <stdint.h>

/*
 * The stream of the bridge: what the agent in the JVM sends to the sampler. This header is the specification of the
 * format.
 *
 * Transport. The sampler listens on a Unix stream socket; the agent connects to it and sends records. The sampler may
 * send requests (below). The sampler must check who is at the other end (SO_PEERCRED); the agent accepts nothing but
 * requests.
 *
 * Encoding. Little-endian, no implicit padding. A record is
 *
 *     u32 size     of the whole record including this header: a multiple of 8, WIRE_HEADER to WIRE_RECORD_MAX
 *     u16 type     enum wire_type; a reader skips an unknown type by its size
 *     u16 flags    enum wire_flag
 *     u64 time     CLOCK_MONOTONIC of the target's time namespace, ns, when the agent saw the event
 *     ...          body, described at enum wire_type; then zero bytes up to a multiple of 8
 *
 * A reader ignores whatever follows the fields it knows (a later minor version adds fields at the end). str is a u16
 * length and that many bytes of modified UTF-8 (JVM Specification 4.4.7), without a NUL; length WIRE_NULL means no
 * string. Class names are HotSpot's internal ones: "java/util/HashMap", hidden classes
 * "a/B$$Lambda+0x00007f0123456789". Lines: > 0, or -1 unknown, -3 native method.
 *
 * Order. The first record is HELLO. After it, and after every LOST, comes one replay: REPLAY_BEGIN, the whole present
 * state as *_LOAD, THREAD_START and DYNAMIC_CODE records with WIRE_REPLAYED, REPLAY_END. Events that happen meanwhile
 * appear in between, without that flag. Anything that a reader knew before REPLAY_BEGIN and that was not repeated by
 * REPLAY_END is gone: it ended some time before REPLAY_BEGIN. A record about something already known replaces it
 * (both a replay and an event may report it). CODE_LOAD and DYNAMIC_CODE end all code that they overlap, because the
 * JVM reports unloading late, sometimes after the address has a new owner: a CODE_UNLOAD whose method is not the one
 * known at the address is ignored. The JVM also reports loading late (from a service thread): code may run some
 * milliseconds before the time of its CODE_LOAD.
 *
 * A method id appears in CODE_LOAD only after the CLASS_LOAD or METHOD that names it on the same connection. An id
 * keeps its meaning until the CLASS_UNLOAD of its class, and may be reused after that. Names of unloaded classes are
 * needed as long as there are samples from before the unloading: see time.
 */

enum {
	WIRE_VERSION_MAJOR = 1, /* a reader rejects any other major version */
	WIRE_VERSION_MINOR = 1, /* 1: addresses in CLASS_LOAD and METHOD */
	WIRE_HEADER = 16,
	WIRE_RECORD_MAX = 1 << 20,
	WIRE_NULL = 0xffff, /* length of an absent str; the longest str has 0xfffe bytes */
	WIRE_PATH_MAX = 107, /* bytes of the socket's path: sun_path without its NUL */
};

#define WIRE_NONE 0xffffffffu /* parent of an outermost scope */
#define WIRE_MAGIC "JSBRIDGE" /* 8 bytes */

enum wire_flag {
	WIRE_REPLAYED = 1, /* present state, not an event */
	WIRE_TRUNCATED = 2, /* exceeded WIRE_RECORD_MAX: methods (CLASS_LOAD) or ranges (CODE_LOAD) are missing */
};

enum wire_type {
	/*
	 * u8[8] WIRE_MAGIC, u16 major, u16 minor, u32 size of a pointer, u32 pid in its PID namespace, u32 0, u64
	 * CLOCK_MONOTONIC ns, u64 CLOCK_REALTIME ns (read at the same moment: their difference gives a time
	 * namespace's offset), str JVM version (java.vm.version)
	 */
	WIRE_HELLO = 1,
	/* u32 number, starting at 1 for each connection; u32 enum wire_replay */
	WIRE_REPLAY_BEGIN = 2,
	/* u32 number; u32 0, or a positive errno: the state is incomplete */
	WIRE_REPLAY_END = 3,
	/* u64 records dropped since the previous LOST, u64 in this connection. A replay follows. */
	WIRE_LOST = 4,
	/*
	 * u64 class id, u64 0, str name, str source file, u32 methods, each: u64 method id, i32 first line, i32 last
	 * line, str name, str signature; then u32 addresses (0, or as many as methods), each u64: where the JVM keeps
	 * the method, for interpreter frames; 0 unknown. An address means this method until another record assigns it
	 * to a different one, or a replay omits it.
	 */
	WIRE_CLASS_LOAD = 5,
	/* u64 class id. The class, and with it its methods, is gone. */
	WIRE_CLASS_UNLOAD = 6,
	/*
	 * A method missing from its class's CLASS_LOAD (redefined, truncated): u64 method id, u64 0, i32 first line,
	 * i32 last line, str class, str source file, str name, str signature, u64 address or 0
	 */
	WIRE_METHOD = 7,
	/*
	 * One compiled method:
	 *   u64 address of its first instruction, u64 method id, u32 bytes of code (stubs included),
	 *   u32 methods M, u32 scopes S, u32 ranges R
	 *   M times u64 method id
	 *   S times u32 parent scope (< its own index; WIRE_NONE: outermost), u32 method (index into M),
	 *        i32 bci (-1: method entry), i32 line
	 *   R times u32 end, u32 scope: the code from the previous range's end up to but excluding `end` (bytes from
	 *        the address, ascending) is in that scope; a return address belongs to the range that ends there
	 * A range is what the JVM's debug records say: ARCHITECTURE.md explains which may be trusted.
	 */
	WIRE_CODE_LOAD = 8,
	/* u64 address, u64 method id */
	WIRE_CODE_UNLOAD = 9,
	/*
	 * u64 address, u32 bytes, u32 0, str name. Stubs, the interpreter, adapters; of nested ones the smallest
	 * names.
	 */
	WIRE_DYNAMIC_CODE = 10,
	/*
	 * u64 thread id (its JNIEnv; may be reused after THREAD_END), u32 tid in its PID namespace or 0 (unknown),
	 * u32 0, str name, str group, str parent group
	 */
	WIRE_THREAD_START = 11,
	/* u64 thread id, u32 tid or 0, u32 0 */
	WIRE_THREAD_END = 12,
	/* u64 begin, u64 end: CLOCK_MONOTONIC ns of one garbage collection pause (ZGC has several per cycle) */
	WIRE_GC_PAUSE = 13,
	/* u64 cookie: the reply to WIRE_ASK_SYNC. Everything the agent had seen before the request has been sent. */
	WIRE_SYNC = 14,
	/*
	 * u32 enum wire_bye, u32 0. The last record; the agent then closes the connection. When the JVM ends, it is
	 * sent only if there is time: nothing waits for the agent then, and the last record may be cut off.
	 */
	WIRE_BYE = 15,
};

enum wire_replay {
	WIRE_REPLAY_CONNECT = 1,
	WIRE_REPLAY_LOST = 2,
};

enum wire_bye {
	WIRE_BYE_SHUTDOWN = 1, /* the JVM is ending */
	WIRE_BYE_ASKED = 2, /* WIRE_ASK_BYE */
	WIRE_BYE_REQUEST = 3, /* an invalid request */
};

/*
 * Requests from the sampler: u32 size (16), u16 type, u16 0, u64 cookie. Anything else ends the connection. Closing
 * the socket has the effect of WIRE_ASK_BYE.
 */
enum wire_ask {
	WIRE_ASK_SYNC = 1,
	WIRE_ASK_BYE = 2,
};

enum { WIRE_ASK_SIZE = 16 };

/*
 * The agent's life: the library's options are `stream=PATH` and others (docs/jvmpi.md). When loaded through the
 * attach protocol, the agent connects to PATH once, and becomes inactive when the connection ends; loading it again
 * makes it connect again. When given at JVM start, PATH is tried every second while there is no connection.
 * Agent_OnAttach returns, and the attach protocol reports:
 */
enum wire_attach {
	WIRE_ATTACH_OK = 0, /* connected, or connecting to a listening socket */
	WIRE_ATTACH_OPTIONS = 1, /* malformed options; a line on the JVM's stderr says which */
	WIRE_ATTACH_PATH = 2, /* socket path longer than WIRE_PATH_MAX, or relative */
	WIRE_ATTACH_CONNECT = 3, /* nobody listens there */
	WIRE_ATTACH_BUSY = 4, /* another sampler is connected */
	WIRE_ATTACH_JVM = 5, /* this JVM lacks what the bridge needs */
	WIRE_ATTACH_MEMORY = 6,
};

#endif
