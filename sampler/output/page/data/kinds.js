// How a frame ran, by the numbers of the page's data, and the columns that count it.
export const KIND = {unknown: 0, kernel: 1, native: 2, interpreted: 3, c1: 4, c2: 5, inlined: 6, jni: 7, stub: 8, mark: 9,
	thread: 10, process: 11, state: 12};
export const KINDS = 13;

// What a frame adds to, besides its total: its kind, and for compiled code how sure its name is.
export const COLUMNS = KINDS + 4;

// As legends list them.
export const KIND_ORDER = [KIND.c2, KIND.inlined, KIND.c1, KIND.interpreted, KIND.jni, KIND.stub, KIND.native, KIND.kernel,
	KIND.unknown, KIND.mark];

// Frames that only say which process, thread or state it was.
/** @param {number} kind */
export const isRoot = kind => kind >= KIND.thread;

/** @param {number} kind */
export const isCompiled = kind => kind >= KIND.c1 && kind <= KIND.inlined;

// The first two degrees of exactness are right in 99 of 100 samples and more (docs/measurements.md).
/** @param {number} exactness */
export const isLikely = exactness => exactness >> 1;

/**
 * The kind that has most of the time.
 * @param {Float64Array} columns
 * @param {number} at
 */
export function mainKind(columns, at) {
	let best = 0;
	for (let k = 1; k < KINDS; k++)
		if (columns[at + k] > columns[at + best])
			best = k;
	return best;
}

/**
 * How a frame or method ran, most first: [kind, share].
 * @param {Float64Array} columns
 */
export function ways(columns, at = 0) {
	let all = 0;
	for (let k = 0; k < KINDS; k++)
		all += columns[at + k];
	/** @type {[number, number][]} */
	const out = [];
	for (let k = 0; k < KINDS; k++)
		if (columns[at + k])
			out.push([k, columns[at + k] / all]);
	return out.sort((a, b) => b[1] - a[1]);
}
