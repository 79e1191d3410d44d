// Keys.
import {treeOf} from '../graph/layout.js';
import {$, $input, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */
/** @typedef {import('../types.js').View} View */

/**
 * Keys for the page as a whole.
 * @param {App} app
 * @returns {Record<string, () => void>}
 */
export function pageKeys(app) {
	const {view} = app;
	return {
		'/': () => $input('search').select(),
		n: () => app.search.next(1),
		N: () => app.search.next(-1),
		i: () => app.nav.turn(),
		o() {
			view.bySize = !view.bySize;
			app.nav.rebuild();
		},
		m: () => app.toolbar.toggleTable(),
		d: () => app.theme.toggle(),
		t: () => app.filters.toggleMerge(),
		'0': () => {
			view.method = -1;
			view.zoom = null;
			app.filters.reset();
			app.search.searchFor('');
		},
		'?': () => /** @type {HTMLDialogElement} */ ($('help')).showModal(),
		Escape: () => app.nav.back(),
	};
}

/**
 * Keys for the chosen frame, or for the one under the pointer.
 * @param {App} app
 * @returns {Record<string, (at: At) => void>}
 */
function frameKeys({view, nav, filters, menu}) {
	/** @param {At} at */
	const nameOf = at => treeOf(view, at.pane).name[at.node];
	return {
		Enter: at => nav.setZoom(at),
		c: at => nav.openSandwich(nameOf(at)),
		s: at => filters.stack(at, false),
		h: at => filters.stack(at, true),
		x: at => at.node && filters.method(nameOf(at), true),
		ContextMenu: at => menu.openFrame(at),
	};
}

/**
 * The first callee, or caller, of a frame.
 * @param {View} view
 * @param {At} at
 * @returns {At | null}
 */
function firstBelow(view, {pane, node}) {
	const tree = treeOf(view, pane), level = tree.levels[tree.level[node] + 1];
	const i = level ? tree.find(tree.level[node] + 1, tree.x[node]) : 0;
	return level && i < level.length && tree.parent[level[i]] === node ? {pane, node: level[i]} : null;
}

/**
 * The frame beside, below or above.
 * @param {View} view
 * @param {At} at
 * @param {string} key
 * @returns {At}
 */
function neighbour(view, at, key) {
	const {pane, node} = at, tree = treeOf(view, pane), towardLeaf = key === 'ArrowUp' === view.flame;
	if (key === 'ArrowLeft' || key === 'ArrowRight') {
		const level = tree.level[node], nodes = tree.levels[level];
		const next = nodes[tree.find(level, tree.x[node]) + (key === 'ArrowLeft' ? -1 : 1)];
		return next === undefined ? at : {pane, node: next};
	}
	if (pane === 1 ? !towardLeaf : towardLeaf)
		return firstBelow(view, at) || at;
	// Towards the root; the method that callers and callees are of is the first pane's.
	if (node)
		return tree.parent[node] || pane === 0 ? {pane, node: tree.parent[node]} : {pane: 0, node: 0};
	return view.panes[1] && firstBelow(view, {pane: 1, node: 0}) || at;
}

/** @param {App} app */
export function initKeys(app) {
	const {view, keys} = app, ofFrame = frameKeys(app);

	/**
	 * Escape leaves a field, after it has cleared the search.
	 * @param {HTMLElement} field
	 */
	function leave(field) {
		if (field.id === 'search' && view.search)
			app.search.searchFor('');
		else
			field.blur();
	}

	/**
	 * Whether the key means something.
	 * @param {string} key
	 * @param {HTMLElement} target
	 */
	function act(key, target) {
		const frame = view.selected || view.hover;
		if (/^Arrow/.test(key) && target.tagName !== 'BUTTON')
			app.nav.select(neighbour(view, frame || view.zoom || {pane: 0, node: 0}, key), true);
		else if (key === 'Enter' && target.tagName === 'BUTTON')
			return false;
		else if (ofFrame[key] && frame)
			ofFrame[key](frame);
		else if (keys[key])
			keys[key]();
		else
			return false;
		return true;
	}

	on(document, 'keydown', e => {
		const inText = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
		if (e.ctrlKey || e.metaKey || e.altKey || /** @type {HTMLDialogElement} */ ($('help')).open)
			return;
		if (app.menu.isOpen() && /^Arrow/.test(e.key))
			app.menu.move(e.key === 'ArrowUp' ? -1 : 1);
		else if (inText && e.key === 'Escape')
			leave(e.target);
		else if (inText || !act(e.key, e.target))
			return;
		e.preventDefault();
	});
}
