// The state in the page's address: what is left out of it is as a page opens.
import {KINDS} from '../data/kinds.js';
import {rowNames} from '../data/selection.js';
import {treeOf} from '../graph/layout.js';
import {$, $input, narrow, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */
/** @typedef {import('../types.js').View} View */
/** @typedef {import('../data/tree.js').Tree} Tree */
/** @typedef {import('../data/selection.js').Entry} Entry */

const LABEL_KEYS = /** @type {const} */ (['thread', 'state', 'process']);

/**
 * A frame as pane.row.level: that row's stack leads to it.
 * @param {View} view
 * @param {At} at
 */
export function zoomText(view, {pane, node}) {
	const tree = treeOf(view, pane);
	return pane + '.' + tree.row[node] + '.' + tree.level[node];
}

/**
 * The child of a node with this name, or -1.
 * @param {Tree} tree
 * @param {number} node
 * @param {number} name
 */
function childOf(tree, node, name) {
	const depth = tree.level[node] + 1, level = tree.levels[depth], end = tree.x[node] + tree.total[node];
	for (let i = level ? tree.find(depth, tree.x[node]) : 0; level && i < level.length && tree.x[level[i]] < end; i++)
		if (tree.parent[level[i]] === node && tree.name[level[i]] === name)
			return level[i];
	return -1;
}

/**
 * @param {App} app
 * @param {string | null} text
 * @returns {At | null}
 */
export function parseZoom({view, profile, selection}, text) {
	const m = /^([01])\.(\d+)\.(\d+)$/.exec(text || ''), pane = m ? +m[1] : 0, tree = view.panes[pane];
	if (!m || !tree || +m[2] >= profile.rows.n)
		return null;
	let path = rowNames(profile, +m[2], selection.filter.merge);
	if (view.panes[1]) {
		const at = path.indexOf(view.method);
		if (at < 0)
			return null;
		path = pane ? path.slice(0, at).reverse() : path.slice(at + 1);
	}
	let node = 0;
	for (const name of path.slice(0, +m[3])) {
		node = childOf(tree, node, name);
		if (node < 0)
			return null;
	}
	return node ? {pane, node} : null;
}

/**
 * An entry of the filter's list: h or o (hide, only), then f and a method, or a row and a level.
 * @param {App} app
 * @param {string} text
 * @returns {Entry | null}
 */
function parseEntry({profile}, text) {
	const m = /^([ho])(?:f(\d+)|(\d+)\.(\d+)(m?))$/.exec(text);
	if (!m || +m[2] >= profile.rootName || +m[3] >= profile.rows.n)
		return null;
	const e = {hide: m[1] === 'h', ref: text.slice(1), merged: m[5] === 'm'};
	if (m[2])
		return {...e, name: +m[2]};
	const names = rowNames(profile, +m[3], e.merged).slice(0, +m[4]);
	return names.length ? {...e, names} : null;
}

/** @param {App} app */
function stateText({view, selection: {filter}, parts}) {
	const p = new URLSearchParams();
	if (view.search)
		p.set('q', view.search);
	if (view.panes[1])
		p.set('m', String(view.method));
	if (view.zoom)
		p.set('z', zoomText(view, view.zoom));
	if (!view.flame)
		p.set('i', '1');
	if (!view.bySize)
		p.set('o', 'name');
	if (filter.kindsOff.size)
		p.set('k', [...filter.kindsOff].sort((a, b) => a - b).join('.'));
	for (const key of LABEL_KEYS) {
		const value = filter[key];
		if (value !== null)
			p.set(key, value);
	}
	if (filter.merge)
		p.set('g', '1');
	if (filter.list.length)
		p.set('x', filter.list.map(e => (e.hide ? 'h' : 'o') + e.ref).join('-'));
	if ($('table').hidden !== narrow())
		p.set('t', narrow() ? '1' : '0');
	for (const part of parts)
		part.save?.(p);
	return p.toString();
}

/**
 * @param {App} app
 * @param {URLSearchParams} p
 */
function readState(app, p) {
	const {view, profile, selection: {filter}} = app, method = p.has('m') ? Number(p.get('m')) : -1;
	view.flame = !p.get('i');
	view.bySize = p.get('o') !== 'name';
	filter.kindsOff = new Set((p.get('k') || '').split('.').filter(Boolean).map(Number).filter(k => k < KINDS));
	for (const key of LABEL_KEYS)
		filter[key] = p.get(key);
	filter.merge = p.has('g');
	filter.list = (p.get('x') || '').split('-').flatMap(text => parseEntry(app, text) || []);
	view.method = method >= 0 && method < profile.rootName ? method : -1;
	view.search = p.get('q');
	view.zoom = null;
	app.toolbar.showTable((p.get('t') || (narrow() ? '0' : '1')) !== '0');
	$input('search').value = view.search || '';
}

/** @param {App} app */
export function createAddress(app) {
	const {view} = app;
	let timer = 0, saved = '';

	function write() {
		const text = stateText(app);
		if (text === saved)
			return;
		saved = text;
		try {
			history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
		} catch (e) {
			// A sandboxed frame has no history of its own.
		}
	}

	/** Soon, once for many changes. */
	function save() {
		clearTimeout(timer);
		timer = setTimeout(write, 120);
	}

	function load() {
		const p = new URLSearchParams(location.hash.slice(1));
		saved = p.toString();
		for (const part of app.parts)
			part.load?.(p);
		readState(app, p);
		app.nav.rebuild();
		view.zoom = parseZoom(app, p.get('z'));
		if (!view.zoom)
			return;
		app.search.countMatches();
		app.nav.show();
		app.graph.reveal(view.zoom);
	}

	function init() {
		load();
		on(window, 'hashchange', load);
	}

	return {init, save};
}
