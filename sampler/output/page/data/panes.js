// What the graph shows: the tree of all stacks, or of all callers and callees of one method.
import {KINDS} from './kinds.js';
import {forRows, rootsOf} from './selection.js';
import {Tree} from './tree.js';

/** @typedef {import('./selection.js').Selection} Selection */

/**
 * All stacks.
 * @param {Selection} selection
 * @param {boolean} bySize
 */
export function buildMain(selection, bySize) {
	const {profile, filter, value} = selection, {variantKind} = profile;
	const tree = new Tree(selection, profile.rootName), kinds = new Float64Array(KINDS);
	let skip = 0, path = new Int32Array(0);
	/** @param {number} d */
	const frame = d => path[d + skip];
	forRows(selection, (p, depth, row, passes) => {
		kinds[variantKind[p[depth - 1]]] += value[row];
		if (!passes)
			return;
		path = p;
		skip = filter.merge ? rootsOf(profile, p, depth) : 0;
		tree.insert(depth - skip, frame, value[row], row);
	});
	tree.finish(bySize);
	tree.leafKinds = kinds;
	return tree;
}

/**
 * All callers and all callees of a method. A recursive one counts once a stack, where it was entered first.
 * @param {Selection} selection
 * @param {boolean} bySize
 * @param {number} name
 */
export function buildSandwich(selection, bySize, name) {
	const {profile, filter, value} = selection, {variantName} = profile;
	const callees = new Tree(selection, name), callers = new Tree(selection, name);
	let at = 0, path = new Int32Array(0);
	/** @param {number} d */
	const below = d => path[at + 1 + d];
	/** @param {number} d */
	const above = d => path[at - 1 - d];
	forRows(selection, (p, depth, row, passes) => {
		if (!passes)
			return;
		const skip = filter.merge ? rootsOf(profile, p, depth) : 0;
		for (at = skip; at < depth && variantName[p[at]] !== name; at++)
			;
		if (at === depth)
			return;
		path = p;
		callees.insert(depth - at - 1, below, value[row], row, p[at]);
		callers.insert(at - skip, above, value[row], row, p[at]);
	});
	return {callees: callees.finish(bySize), callers: callers.finish(bySize)};
}
