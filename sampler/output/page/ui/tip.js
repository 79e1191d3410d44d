// The tooltip of a frame or of a method.
import {COLUMNS} from '../data/kinds.js';
import {treeOf, zoomNode} from '../graph/layout.js';
import {$} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */
/** @typedef {import('../types.js').Method} Method */
/** @typedef {import('../types.js').What} What */

/** @param {App} app */
export function createTip(app) {
	const {view, profile} = app, tip = $('tip');

	/**
	 * @param {number} x
	 * @param {number} y
	 * @param {What} what
	 */
	function show(x, y, what) {
		tip.replaceChildren(...app.look.tip(what));
		tip.hidden = false;
		const w = tip.offsetWidth, h = tip.offsetHeight;
		const left = x + 16 + w > innerWidth ? Math.max(4, x - w - 12) : x + 16;
		const top = y + 18 + h > innerHeight ? Math.max(4, y - h - 12) : y + 18;
		tip.style.transform = 'translate(' + left + 'px,' + top + 'px)';
	}

	function hide() {
		tip.hidden = true;
	}

	/**
	 * @param {At} at
	 * @returns {What}
	 */
	function describe({pane, node}) {
		const tree = treeOf(view, pane), zoom = zoomNode(view, pane);
		return {
			name: tree.name[node], total: tree.total[node], self: tree.self[node],
			columns: tree.name[node] === profile.rootName ? null : tree.columns, at: node * COLUMNS,
			zoomed: zoom ? tree.total[zoom] : 0, caller: pane > 0, sides: tree.sides.map(s => s[node]),
		};
	}

	/**
	 * At the point, else where the frame is.
	 * @param {At} at
	 * @param {[number, number]} point
	 */
	function showFrame(at, point = app.graph.placeOf(at)) {
		show(...point, describe(at));
	}

	/**
	 * @param {number} x
	 * @param {number} y
	 * @param {Method} m
	 */
	function showMethod(x, y, m) {
		show(x, y, {name: m.name, total: m.total, self: m.self, columns: m.columns || null, at: 0, sides: m.sides});
	}

	return {showFrame, showMethod, hide};
}
