#ifndef JS_RECORDING_FORMAT_H
#define JS_RECORDING_FORMAT_H

/*
 * Layout of a recording, before compression. All numbers are little-endian.
 *
 *   "JSREC\0\0\2", then sections: u32 tag, u32 length, bytes.
 *
 *   FACTS   i32 pid, u64 period, text event, text comm, text command
 *   MAPS    the text of /proc/PID/maps
 *   THREAD  i32 tid, i32 ns_tid, text name
 *   DSO     text path, u8 has_symtab, u32 n + build id,
 *           u32 n + n x (u64 offset, vaddr, filesz, memsz, u32 flags),
 *           u32 n + n x row, u32 n + n x (text name, u64 vaddr, size) symbols,
 *           u32 n + n x (text name, u64 vaddr, size) by name,
 *           u32 n + n x (u64 vaddr, u8 has_function, text function, text file, i32 line)
 *   MEMORY  n spans by address, not empty and not adjacent: uleb n, n x (uleb gap from the end of the
 *           previous one, uleb length), then the bytes of all. At most one before each sample.
 *   SAMPLE  i32 tid, i32 ns_tid, u64 time, u64 weight, u8 state, u8 flags, u64 known registers,
 *           u64 for each known register, u64 stack_addr, u32 n + stack, u32 number of kernel frames (not their
 *           addresses, because the file may be passed on);
 *           with SAMPLE_HAS_FROZEN u32 n + frozen frames (hs_frozen.h)
 *
 *   row: u64 vaddr, u8 flags, u8 cfa_reg, i32 cfa_off, for each register (17 on x86-64) u8 kind, i32 value;
 *        u16 n exprs, n x (u16 ops, ops x (u8 op, i64 value))
 *   text: u32 length, bytes without NUL; uleb: unsigned LEB128
 */
#define RECORDING_MAGIC "JSREC\0\0\2"
enum { RECORDING_MAGIC_LEN = 8 };

enum recording_tag {
	TAG_FACTS = 1,
	TAG_MAPS,
	TAG_THREAD,
	TAG_DSO,
	TAG_MEMORY,
	TAG_SAMPLE,
};

enum { SAMPLE_HAS_USER = 1, SAMPLE_STACK_CUT = 2, SAMPLE_HAS_FROZEN = 4 };
enum { ROW_SIGNAL_FRAME = 1, ROW_CFA_IS_EXPR = 2 };

#endif
