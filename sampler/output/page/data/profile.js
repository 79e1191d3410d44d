// The recording as the page holds it. The format of its JSON is described in page_data.h.

/**
 * @typedef {object} Meta what was recorded
 * @property {string} event
 * @property {string} unit
 * @property {number} samples
 * @property {number} weight
 * @property {number} period
 * @property {number} duration
 * @property {number} start
 * @property {number} lost
 * @property {number} complete
 * @property {number} incomplete
 * @property {number} resynchronised
 * @property {number} frozen
 * @property {string} command
 * @property {string} jdk
 * @property {string} version
 * @property {string} jsampler
 */

/** @typedef {[pid: number, tid: number, thread: string, state: string]} Label */

/**
 * @typedef {object} Rows groups of samples: their stacks, each as frames shared with the row before and frames of its own
 * @property {number} n
 * @property {Int32Array} shared
 * @property {Int32Array} start of the row's own frames
 * @property {Int32Array} frames variants, root first
 * @property {Int32Array} label
 * @property {Float64Array} count samples
 * @property {Float64Array} value samples by weight
 * @property {number} depth of the deepest stack
 */

/** @typedef {{ns: number, n: number, counts: string}} PackedSlices */

/**
 * @typedef {object} PageData the JSON
 * @property {Meta} meta
 * @property {string[]} kinds
 * @property {(number | string)[]} names
 * @property {number[]} variants
 * @property {Label[]} labels
 * @property {number} rows
 * @property {boolean} [weighted]
 * @property {string} stacks
 * @property {PackedSlices} [slices]
 */

/** @typedef {ReturnType<typeof readProfile>} Profile */

/**
 * The next of the numbers in a packed text (page_pack.h), at each call.
 * @param {string} packed
 */
export function numbersOf(packed) {
	const text = atob(packed);
	let at = 0;
	return () => {
		let v = 0, scale = 1, byte;
		do {
			byte = text.charCodeAt(at++);
			v += (byte & 127) * scale;
			scale *= 128;
		} while (byte > 127);
		return v;
	};
}

/** @param {any[]} pairs how many characters are those of the name before, and the rest */
function readNames(pairs) {
	/** @type {string[]} */
	const names = new Array(pairs.length / 2);
	let before = '';
	for (let i = 0; i < names.length; i++) {
		before = before.slice(0, pairs[2 * i]) + pairs[2 * i + 1];
		names[i] = before;
	}
	return names;
}

/** @param {number[]} packed */
function readVariants(packed) {
	const n = packed.length;
	const v = {variantName: new Int32Array(n), variantKind: new Uint8Array(n), variantExact: new Uint8Array(n)};
	for (let i = 0; i < n; i++) {
		v.variantName[i] = Math.floor(packed[i] / 64);
		v.variantKind[i] = packed[i] >> 2 & 15;
		v.variantExact[i] = packed[i] & 3;
	}
	return v;
}

/** @param {PageData} data */
function readRows(data) {
	const n = data.rows, number = numbersOf(data.stacks), labelled = data.labels.length > 1;
	const shared = new Int32Array(n), start = new Int32Array(n + 1), frames = new Int32Array(data.stacks.length);
	const label = new Int32Array(n), count = new Float64Array(n), weight = data.weighted ? new Float64Array(n) : null;
	let used = 0, depth = 0;
	for (let i = 0; i < n; i++) {
		shared[i] = number();
		start[i] = used;
		const more = number();
		for (let k = 0; k < more; k++)
			frames[used++] = number();
		depth = Math.max(depth, shared[i] + more);
		count[i] = number();
		if (labelled)
			label[i] = number();
		if (weight)
			weight[i] = number();
	}
	start[n] = used;
	// Samples of unequal weight count as so many samples of the average weight.
	const {samples, weight: all} = data.meta, value = weight ? weight.map(w => w * samples / all) : count;
	return {n, shared, start, frames: frames.slice(0, used), label, count, value, depth};
}

/** @param {PageData} data */
export function readProfile(data) {
	const names = readNames(data.names), rootName = names.length;
	names.push('all');
	return {
		meta: data.meta, kinds: data.kinds, labels: data.labels,
		// rootName is the root's, "all": no frame has it.
		names, rootName, ...readVariants(data.variants),
		/** @type {Rows} */
		rows: readRows(data),
	};
}

/**
 * @param {Rows} rows
 * @param {number} row
 */
const rowDepth = (rows, row) => rows.shared[row] + rows.start[row + 1] - rows.start[row];

/**
 * Variants of a row, root first: its own frames, then those it shares with the rows before.
 * @param {Rows} rows
 * @param {number} row
 */
export function rowPath(rows, row) {
	/** @type {number[]} */
	const out = [];
	for (let need = rowDepth(rows, row), i = row; need > 0; i--) {
		const shared = rows.shared[i];
		for (let d = Math.min(need, rowDepth(rows, i)) - 1; d >= shared; d--)
			out[d] = rows.frames[rows.start[i] + d - shared];
		need = Math.min(need, shared);
	}
	return out;
}
