// From one view to another: zoom, callers and callees, the chosen frame, and back.
import {buildMain, buildSandwich} from '../data/panes.js';
import {treeOf} from '../graph/layout.js';
import {$, narrow, say} from '../base/elements.js';
import {parseZoom, zoomText} from './address.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */

/**
 * @param {At | null} a
 * @param {At | null} b
 */
export const same = (a, b) => a === b || !!a && !!b && a.pane === b.pane && a.node === b.node;

/** @param {App} app */
export function createNavigation(app) {
	const {view, profile, selection} = app;
	/** @type {(At | null)[]} */
	let trail = [];

	/** After any change of what is shown. */
	function show() {
		app.graph.resize();
		app.toolbar.update();
		app.graph.redraw();
		app.address.save();
	}

	function forgetPlace() {
		view.zoom = view.hover = view.selected = null;
		trail = [];
	}

	/** @param {number} name */
	function setSandwich(name) {
		const s = buildSandwich(selection, view.bySize, name);
		if (!s.callees.total[0])
			return;
		view.method = name;
		view.panes = [s.callees, s.callers];
	}

	/** Everything again from the rows: a filter or the order changed. The zoom stays where it is still there. */
	function rebuild() {
		const zoom = view.zoom && zoomText(view, view.zoom), method = view.method;
		forgetPlace();
		view.main = buildMain(selection, view.bySize);
		view.panes = [view.main, null];
		view.method = -1;
		app.table.all = app.look.methods();
		if (method >= 0)
			setSandwich(method);
		view.zoom = zoom ? parseZoom(app, zoom) : null;
		app.search.search(view.search);
		app.toolbar.updateLegend();
		app.table.update();
		app.chips.update();
		app.tip.hide();
		show();
		scroll();
	}

	/** To where one is zoomed, or to the root. */
	function scroll() {
		if (view.zoom)
			app.graph.reveal(view.zoom);
		else
			app.graph.scrollHome();
	}

	/** The panes are others. */
	function afterPanes() {
		app.search.search(view.search);
		app.chips.update();
		app.table.draw();
		app.tip.hide();
		show();
		app.graph.scrollHome();
	}

	/** @param {number} name */
	function openSandwich(name) {
		if (name === profile.rootName || name === view.method)
			return;
		forgetPlace();
		view.marked = -1;
		setSandwich(name);
		if (narrow())
			$('table').hidden = true;
		afterPanes();
	}

	function closeSandwich() {
		forgetPlace();
		view.method = -1;
		view.panes = [view.main, null];
		afterPanes();
	}

	/** @param {At | null} at */
	function setZoom(at, keepTrail = true) {
		const to = at && at.node === 0 ? null : at;
		if (keepTrail && !same(to, view.zoom))
			trail.push(view.zoom);
		view.zoom = to;
		view.hover = null;
		app.tip.hide();
		app.search.countMatches();
		show();
		scroll();
		if (to)
			say(app.look.summary(treeOf(view, to.pane), to.node));
	}

	/** One step back: menu, zoom, sandwich, search, choice. */
	function back() {
		if (app.menu.isOpen())
			app.menu.close();
		else if (view.zoom)
			setZoom(trail.pop() || null, false);
		else if (view.panes[1])
			closeSandwich();
		else if (view.search)
			app.search.searchFor('');
		else
			select(null);
	}

	/**
	 * @param {At | null} at
	 * @param {boolean} [tip] show its tooltip
	 */
	function select(at, tip) {
		view.selected = at;
		app.graph.placeSelection();
		if (!at) {
			app.tip.hide();
			return;
		}
		app.graph.reveal(at);
		say(app.look.summary(treeOf(view, at.pane), at.node));
		if (tip)
			requestAnimationFrame(() => {
				app.graph.placeSelection();
				app.tip.showFrame(at);
			});
	}

	/** Flame or icicle. */
	function turn() {
		view.flame = !view.flame;
		app.chips.update();
		show();
		scroll();
	}

	return {show, rebuild, setSandwich, openSandwich, closeSandwich, setZoom, back, select, turn};
}
