// Time slices: in which of them the samples of each row were taken.
import {KINDS} from './kinds.js';
import {numbersOf} from './profile.js';
import {forRows, selectAll} from './selection.js';

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {import('./profile.js').PackedSlices} PackedSlices */
/** @typedef {[from: number, to: number]} Range slices; `to` is not in it */

export class Slices {
	/**
	 * @param {Profile} profile
	 * @param {PackedSlices} packed
	 */
	constructor(profile, packed) {
		const number = numbersOf(packed.counts), {rows} = profile;
		this.profile = profile;
		this.ns = packed.ns;
		this.n = packed.n;
		// Of each row the slices, from 0 on, in which it has samples. Samples of no slice are in no range.
		this.start = new Int32Array(rows.n + 1);
		/** @type {number[]} */
		this.at = [];
		/** @type {number[]} */
		this.count = [];
		for (let row = 0; row < rows.n; row++) {
			for (let k = number(); k > 0; k--) {
				this.at.push(number() - 1);
				this.count.push(number());
			}
			this.start[row + 1] = this.at.length;
		}
	}

	/**
	 * Samples of each row in a range.
	 * @param {Range} range
	 */
	countsIn([from, to]) {
		const n = this.profile.rows.n, counts = new Float64Array(n);
		for (let row = 0; row < n; row++)
			for (let i = this.start[row]; i < this.start[row + 1]; i++)
				if (this.at[i] >= from && this.at[i] < to)
					counts[row] += this.count[i];
		return counts;
	}

	/** Samples by slice and by kind of the innermost frame: slice * KINDS + kind. */
	kindsBySlice() {
		const {variantKind} = this.profile, sums = new Float64Array(this.n * KINDS);
		forRows(selectAll(this.profile), (path, depth, row) => {
			const kind = variantKind[path[depth - 1]];
			for (let i = this.start[row]; i < this.start[row + 1]; i++)
				if (this.at[i] >= 0)
					sums[this.at[i] * KINDS + kind] += this.count[i];
		});
		return sums;
	}

	/** @param {string | null} text as in an address: "2-5" */
	parse(text) {
		const m = /^(\d+)-(\d+)$/.exec(text || '');
		/** @type {Range | null} */
		const range = m && +m[1] < +m[2] && +m[2] <= this.n ? [+m[1], +m[2]] : null;
		return range;
	}

	/** @param {number} slice */
	seconds(slice) {
		return (slice * this.ns / 1e9).toFixed(this.ns < 1e9 ? this.ns < 1e8 ? 2 : 1 : 0);
	}

	/** @param {Range} range */
	text([from, to]) {
		return this.seconds(from) + ' – ' + this.seconds(to) + ' s';
	}
}
