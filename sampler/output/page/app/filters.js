// What a person leaves out.
import {KIND_ORDER} from '../data/kinds.js';
import {isFiltered} from '../data/selection.js';
import {$} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */

/** @param {App} app */
export function createFilters(app) {
	const {view, selection: {filter}} = app;

	const active = () => isFiltered(filter) || app.parts.some(part => part.filters?.());

	/**
	 * @param {At} at
	 * @param {boolean} hide
	 */
	function stack(at, hide) {
		const tree = view.panes[0], names = tree.names(at.node), merged = filter.merge;
		if (!names.length || view.panes[1])
			return;
		filter.list.push({hide, names, merged, ref: tree.row[at.node] + '.' + tree.level[at.node] + (merged ? 'm' : '')});
		app.nav.rebuild();
	}

	/**
	 * @param {number} name
	 * @param {boolean} hide
	 */
	function method(name, hide) {
		filter.list.push({hide, name, ref: 'f' + name});
		if (hide && name === view.method)
			app.nav.closeSandwich();
		app.nav.rebuild();
	}

	/**
	 * @param {number} kind
	 * @param {boolean} only
	 */
	function toggleKind(kind, only) {
		const others = KIND_ORDER.filter(k => k !== kind), off = filter.kindsOff;
		if (only && !off.has(kind) && others.every(k => off.has(k)))
			off.clear();
		else if (only)
			filter.kindsOff = new Set(others);
		else if (!off.delete(kind))
			off.add(kind);
		app.nav.rebuild();
	}

	function toggleMerge() {
		if (!$('merge'))
			return;
		filter.merge = !filter.merge;
		app.nav.rebuild();
	}

	function reset() {
		for (const part of app.parts)
			part.reset?.();
		Object.assign(filter, {thread: null, state: null, process: null, kindsOff: new Set(), list: []});
		app.nav.rebuild();
	}

	return {active, stack, method, toggleKind, toggleMerge, reset};
}
