#ifndef JS_BRIDGE_WIRE_H
#define JS_BRIDGE_WIRE_H

#include <stdint.h>

/*
 * The stream of the bridge: what the agent in the JVM sends to the sampler. This header is the
 * specification of the format.
 *
 * Transport. The sampler listens on a unix stream socket; the agent connects to it and sends records.
 * The sampler may send requests (below). Who is at the other end is for the sampler to check
 * (SO_PEERCRED); the agent believes nothing but requests.
 *
 * Encoding. Little-endian, no implicit padding. A record is
 *
 *     u32 size     of the whole record with this header: a multiple of 8, WIRE_HEADER to WIRE_RECORD_MAX
 *     u16 type     enum wire_type; an unknown one is skipped by its size
 *     u16 flags    enum wire_flag
 *     u64 time     CLOCK_MONOTONIC of the target's time namespace, ns, when the agent saw the event
 *     ...          body, as under enum wire_type; then zero bytes up to the multiple of 8
 *
 * A reader ignores what follows the fields that it knows (a later minor version adds fields at the end).
 * str is u16 length and as many bytes of modified UTF-8 (JVM Specification 4.4.7), without a NUL; length
 * WIRE_NULL means that there is none. Class names are HotSpot's internal ones: "java/util/HashMap",
 * hidden classes "a/B$$Lambda+0x00007f0123456789". Lines: > 0, or -1 unknown, -3 native method.
 *
 * Order. The first record is HELLO. Behind it, and behind every LOST, comes one replay: REPLAY_BEGIN,
 * the whole present state as *_LOAD, THREAD_START, DYNAMIC_CODE records with WIRE_REPLAYED, REPLAY_END.
 * Records of events that happen meanwhile stand between them, without that flag. Whatever a reader
 * knew before REPLAY_BEGIN and was not repeated when REPLAY_END comes is gone: it ended some time before
 * REPLAY_BEGIN. A record about something that is already known replaces it (both a replay and an event
 * may tell of it). CODE_LOAD and DYNAMIC_CODE end all code that they overlap, because the JVM tells
 * of unloading late, sometimes after the address has a new owner: a CODE_UNLOAD whose method is
 * not the one known at the address is ignored. The JVM also tells of loading late (a service thread
 * does): code may run some milliseconds before the time of its CODE_LOAD.
 * A method id is used in CODE_LOAD only behind the CLASS_LOAD or METHOD that names it on the same
 * connection; an id keeps its meaning until the CLASS_UNLOAD of its class, and may come again then.
 * Names of unloaded classes stay needed as long as there are samples from before: see time.
 */

enum {
	WIRE_VERSION_MAJOR = 1, /* another major: not understood */
	WIRE_VERSION_MINOR = 1, /* 1: addresses in CLASS_LOAD and METHOD */
	WIRE_HEADER = 16,
	WIRE_RECORD_MAX = 1 << 20,
	WIRE_NULL = 0xffff, /* length of a str that is not there; the longest str is 0xfffe bytes */
	WIRE_PATH_MAX = 107, /* bytes of the socket's path: sun_path without its NUL */
};

#define WIRE_NONE 0xffffffffu /* parent of an outermost scope */
#define WIRE_MAGIC "JSBRIDGE" /* 8 bytes */

enum wire_flag {
	WIRE_REPLAYED = 1, /* present state, not an event */
	WIRE_TRUNCATED = 2, /* did not fit WIRE_RECORD_MAX: methods (CLASS_LOAD), ranges (CODE_LOAD) are missing */
};

enum wire_type {
	/*
	 * u8[8] WIRE_MAGIC, u16 major, u16 minor, u32 size of a pointer, u32 pid in its PID namespace,
	 * u32 0, u64 CLOCK_MONOTONIC ns, u64 CLOCK_REALTIME ns (both at the same moment: tells a time
	 * namespace's offset), str version of the JVM (java.vm.version)
	 */
	WIRE_HELLO = 1,
	/* u32 number, from 1 on a connection; u32 enum wire_replay */
	WIRE_REPLAY_BEGIN = 2,
	/* u32 number; u32 0 or a positive errno: the state could not be told completely */
	WIRE_REPLAY_END = 3,
	/* u64 records dropped since the previous LOST, u64 on this connection. A replay follows. */
	WIRE_LOST = 4,
	/*
	 * u64 class id, u64 0, str name, str source file, u32 methods; each u64 method id, i32 first
	 * line, i32 last line, str name, str signature; then u32 addresses (none or one a method), each u64:
	 * where the JVM keeps the method, for frames of its interpreter; 0 unknown. An address means this
	 * method until another record gives it to another, or a replay no longer has it.
	 */
	WIRE_CLASS_LOAD = 5,
	/* u64 class id. The class, and with it its methods, is gone. */
	WIRE_CLASS_UNLOAD = 6,
	/*
	 * A method whose class was told without it (redefined, truncated): u64 method id, u64 0, i32 first
	 * line, i32 last line, str class, str source file, str name, str signature, u64 address or 0
	 */
	WIRE_METHOD = 7,
	/*
	 * One compiled method:
	 *   u64 address of its first instruction, u64 method id, u32 bytes of code (stubs included),
	 *   u32 methods M, u32 scopes S, u32 ranges R
	 *   M of u64 method id
	 *   S of u32 parent scope (< its own index; WIRE_NONE: outermost), u32 method (index of M),
	 *        i32 bci (-1: method entry), i32 line
	 *   R of u32 end, u32 scope: the code from the previous range's end to before `end` (bytes behind
	 *        the address, ascending) is at that scope; a return address has the range that it ends
	 * A range says what the JVM's debug records say: see ARCHITECTURE.md on which may be trusted.
	 */
	WIRE_CODE_LOAD = 8,
	/* u64 address, u64 method id */
	WIRE_CODE_UNLOAD = 9,
	/* u64 address, u32 bytes, u32 0, str name. Stubs, the interpreter, adapters; may nest: the smallest names. */
	WIRE_DYNAMIC_CODE = 10,
	/*
	 * u64 thread id (its JNIEnv; may come again after THREAD_END), u32 tid in its PID namespace or
	 * 0 (unknown), u32 0, str name, str group, str parent group
	 */
	WIRE_THREAD_START = 11,
	/* u64 thread id, u32 tid or 0, u32 0 */
	WIRE_THREAD_END = 12,
	/* u64 begin, u64 end: CLOCK_MONOTONIC ns of one pause for garbage collection (ZGC: several a cycle) */
	WIRE_GC_PAUSE = 13,
	/* u64 cookie: the answer to WIRE_ASK_SYNC. Everything that the agent saw before it has been sent. */
	WIRE_SYNC = 14,
	/*
	 * u32 enum wire_bye, u32 0. The last record; the agent closes. When the JVM ends it comes only if there
	 * is time for it: nothing waits for the agent then, and the last record may be cut off.
	 */
	WIRE_BYE = 15,
};

enum wire_replay {
	WIRE_REPLAY_CONNECT = 1,
	WIRE_REPLAY_LOST = 2,
};

enum wire_bye {
	WIRE_BYE_SHUTDOWN = 1, /* the JVM ends */
	WIRE_BYE_ASKED = 2, /* WIRE_ASK_BYE */
	WIRE_BYE_REQUEST = 3, /* a request that is none */
};

/*
 * Requests of the sampler: u32 size (16), u16 type, u16 0, u64 cookie. Anything else ends the connection.
 * Closing the socket is as good as WIRE_ASK_BYE.
 */
enum wire_ask {
	WIRE_ASK_SYNC = 1,
	WIRE_ASK_BYE = 2,
};

enum { WIRE_ASK_SIZE = 16 };

/*
 * The agent's life: options of the library are `stream=PATH` (and others of docs/jvmpi.md). Loaded by the
 * attach protocol it connects once, to that PATH, and goes quiet when the connection ends; loaded again,
 * it connects again. Given at the start of the JVM, the PATH is tried every second while there is no
 * connection. Agent_OnAttach returns, and the attach protocol reports:
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
