// Methods with their time, for the table.
import {COLUMNS, isRoot, mainKind} from './kinds.js';
import {forRows} from './selection.js';
import {changeOf} from './sides.js';

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./selection.js').Selection} Selection */

/**
 * @typedef {object} Method
 * @property {number} name
 * @property {number} self where sides are compared: how much it changed, in points
 * @property {number} total
 * @property {Float64Array} [columns]
 * @property {number[]} [sides] total before, total after, self before, self after
 */

/**
 * Methods with self and total (once a stack), of a main tree.
 * @param {Tree} tree
 * @returns {Method[]}
 */
export function hotMethods(tree) {
	/** @type {Map<number, {name: number, self: number, total: number, columns: Float64Array}>} */
	const byName = new Map();
	/** @type {Map<number, number>} */
	const open = new Map();
	/** @type {number[]} */
	const path = [];
	// Depth first: a method is counted where no caller is the same method.
	const {first, next} = tree, order = [first[0]];
	while (order.length) {
		const node = /** @type {number} */ (order.pop());
		if (node < 0) {
			const done = /** @type {number} */ (path.pop());
			open.set(done, /** @type {number} */ (open.get(done)) - 1);
			continue;
		}
		if (next[node] >= 0)
			order.push(next[node]);
		const name = tree.name[node], around = open.get(name) || 0;
		let m = byName.get(name);
		if (!m)
			byName.set(name, m = {name, self: 0, total: 0, columns: new Float64Array(COLUMNS)});
		m.self += tree.self[node];
		if (!around) {
			m.total += tree.total[node];
			for (let c = 0; c < COLUMNS; c++)
				m.columns[c] += tree.columns[node * COLUMNS + c];
		}
		open.set(name, around + 1);
		path.push(name);
		order.push(-1);
		if (first[node] >= 0)
			order.push(first[node]);
	}
	return [...byName.values()].filter(m => !isRoot(mainKind(m.columns, 0)));
}

/**
 * Methods and how much their shares changed between two sides.
 * @param {Selection} selection
 * @returns {Method[]}
 */
export function changedMethods(selection) {
	const {profile, sides} = selection, {variantName, variantKind} = profile;
	const samples = sides.map(c => c.reduce((a, b) => a + b, 0));
	/** @type {Map<number, {sides: number[], row: number}>} */
	const byName = new Map();
	forRows(selection, (path, depth, row, passes) => {
		if (!passes)
			return;
		for (let d = depth - 1; d >= 0; d--) {
			const name = variantName[path[d]];
			if (isRoot(variantKind[path[d]]))
				continue;
			let m = byName.get(name);
			if (!m)
				byName.set(name, m = {sides: [0, 0, 0, 0], row: -1});
			for (let side = 0; side < 2; side++) {
				if (d === depth - 1)
					m.sides[2 + side] += sides[side][row];
				if (m.row !== row)
					m.sides[side] += sides[side][row];
			}
			m.row = row;
		}
	});
	/** @param {number} before @param {number} after */
	const points = (before, after) => Math.abs(changeOf(samples, before, after).points);
	return [...byName].map(([name, {sides: s}]) => ({name, sides: s, self: points(s[2], s[3]), total: points(s[0], s[1])}));
}
