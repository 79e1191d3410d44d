// What of the recording is looked at: a filter, and the samples that each row counts for.
import {isRoot} from './kinds.js';
import {rowPath} from './profile.js';

/** @typedef {import('./profile.js').Profile} Profile */

/**
 * @typedef {object} Entry stacks to hide or to keep only: those that begin with `names`, or have the method `name` anywhere
 * @property {boolean} hide
 * @property {number[]} [names] from the root on; merged: without process, thread, state
 * @property {number} [name]
 * @property {boolean} [merged]
 * @property {string} [ref] as the address has it
 */

/**
 * @typedef {object} Filter
 * @property {string | null} thread
 * @property {string | null} state
 * @property {string | null} process
 * @property {Set<number>} kindsOff
 * @property {Entry[]} list
 * @property {boolean} merge one graph for all threads
 */

/**
 * @typedef {object} Selection
 * @property {Profile} profile
 * @property {Filter} filter
 * @property {number} samples all of them, before the filter
 * @property {Float64Array} count samples of each row
 * @property {Float64Array} value width of each row
 * @property {Float64Array[]} sides samples of each row on each of two sides that are compared; else empty
 */

/** @typedef {(path: Int32Array, depth: number, row: number, passes: boolean) => void} RowFunction */

/**
 * The whole of it.
 * @param {Profile} profile
 * @returns {Selection}
 */
export function selectAll(profile) {
	const {count, value} = profile.rows;
	const filter = {thread: null, state: null, process: null, kindsOff: new Set(), list: [], merge: false};
	return {profile, filter, samples: profile.meta.samples, count, value, sides: []};
}

/** @param {Filter} filter */
export function isFiltered(filter) {
	return filter.thread !== null || filter.state !== null || filter.process !== null || filter.kindsOff.size > 0 ||
		filter.list.length > 0;
}

/** @param {Selection} selection */
function labelsThatPass({profile, filter}) {
	return profile.labels.map(([pid, tid, thread, state]) =>
		(filter.thread === null || filter.thread === tid + ' ' + thread) &&
		(filter.state === null || filter.state === state) && (filter.process === null || filter.process === String(pid)));
}

/**
 * How many frames at the root only say which process, thread or state it was.
 * @param {Profile} profile
 * @param {Int32Array | number[]} path
 * @param {number} depth
 */
export function rootsOf(profile, path, depth) {
	const kind = profile.variantKind;
	let n = 0;
	while (n < depth && isRoot(kind[path[n]]))
		n++;
	return n;
}

/**
 * Says of one row after the other whether the entry is about it. `shared` frames are those of the row before.
 * @param {Profile} profile
 * @param {Entry} entry
 * @returns {(path: Int32Array, shared: number, depth: number) => boolean}
 */
function newMatcher(profile, entry) {
	const wanted = entry.names, nameOf = profile.variantName;
	let agreed = 0, hit = -1;
	if (!wanted)
		return (path, shared, depth) => {
			if (hit >= shared)
				hit = -1;
			for (let d = shared; hit < 0 && d < depth; d++)
				if (nameOf[path[d]] === entry.name)
					hit = d;
			return hit >= 0;
		};
	return (path, shared, depth) => {
		const skip = entry.merged ? rootsOf(profile, path, depth) : 0;
		agreed = Math.max(0, Math.min(agreed, shared - skip));
		while (agreed < wanted.length && agreed + skip < depth && nameOf[path[agreed + skip]] === wanted[agreed])
			agreed++;
		return agreed === wanted.length;
	};
}

/**
 * Calls fn for all rows that pass the labels and the list; path holds variants, root first, and is used
 * again for the next row.
 * @param {Selection} selection
 * @param {RowFunction} fn
 */
export function forRows(selection, fn, list = selection.filter.list) {
	const {profile, filter, count} = selection, {rows, variantKind} = profile;
	const path = new Int32Array(rows.depth + 1), pass = labelsThatPass(selection);
	const matchers = list.map(e => ({match: newMatcher(profile, e), hide: e.hide}));
	for (let i = 0; i < rows.n; i++) {
		const shared = rows.shared[i], from = rows.start[i], depth = shared + rows.start[i + 1] - from;
		for (let d = shared; d < depth; d++)
			path[d] = rows.frames[from + d - shared];
		let ok = true;
		for (const {match, hide} of matchers)
			if (match(path, shared, depth) === hide)
				ok = false;
		if (ok && count[i] && pass[rows.label[i]])
			fn(path, depth, i, !filter.kindsOff.has(variantKind[path[depth - 1]]));
	}
}

/**
 * Names of a row's frames; merged: without process, thread, state.
 * @param {Profile} profile
 * @param {number} row
 * @param {boolean} [merged]
 */
export function rowNames(profile, row, merged) {
	const path = rowPath(profile.rows, row);
	return path.slice(merged ? rootsOf(profile, path, path.length) : 0).map(v => profile.variantName[v]);
}

/**
 * Folded text of what is shown and in `extra`, methods merged: equal to the folded output without
 * suffixes. Where sides are compared, each line has the samples of both, as difference tools take it.
 * @param {Selection} selection
 * @param {Entry[]} extra
 */
export function foldedText(selection, extra) {
	const {profile, filter, sides} = selection, columns = sides.length ? sides : [selection.count];
	/** @type {Map<string, number[]>} */
	const lines = new Map();
	forRows(selection, (path, depth, row, passes) => {
		if (!passes)
			return;
		const parts = [];
		for (let d = filter.merge ? rootsOf(profile, path, depth) : 0; d < depth; d++)
			parts.push(profile.names[profile.variantName[path[d]]]);
		// Sorted frame by frame, whatever characters are in them.
		const text = parts.join('\0'), sums = lines.get(text);
		if (sums)
			columns.forEach((c, k) => { sums[k] += c[row]; });
		else
			lines.set(text, columns.map(c => c[row]));
	}, filter.list.concat(extra));
	return [...lines].sort((a, b) => a[0] < b[0] ? -1 : 1)
		.map(([text, sums]) => text.replaceAll('\0', ';') + ' ' + sums.join(' ') + '\n').join('');
}
