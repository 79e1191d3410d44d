// Search in names: what matches is outlined, the rest faded.
import {count, pattern, percent} from '../data/text.js';
import {treeOf, zoomNode} from '../graph/layout.js';
import {$, $button, $input, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */

/** @param {App} app */
export function createSearch(app) {
	const {view, profile: {names, rootName}} = app, box = $('searchbox'), input = $input('search');
	// Matching frames, of callers as negative numbers, and the place among them, or -1.
	/** @type {number[]} */
	let hits = [];
	let sorted = false, current = -1;
	// Samples with a match on their stack, each stack once, of how many.
	let share = {sum: 0, all: 0};

	/** @param {number} hit */
	const placeOf = hit => ({pane: hit < 0 ? 1 : 0, node: Math.abs(hit)});

	/** @param {string | null} text */
	function search(text) {
		let re = null;
		box.classList.remove('bad');
		try {
			re = pattern(text);
		} catch (e) {
			box.classList.add('bad');
			box.title = e instanceof Error ? e.message : '';
		}
		const wanted = re;
		view.search = text || null;
		view.matched = wanted && Uint8Array.from(names, (s, i) => i !== rootName && wanted.test(s) ? 1 : 0);
		current = -1;
		countMatches();
		app.graph.redraw();
	}

	/**
	 * Adds the matching frames of a pane to hits.
	 * @param {number} pane
	 * @param {Uint8Array} matched
	 */
	function collect(pane, matched) {
		const tree = treeOf(view, pane), covered = new Uint8Array(tree.n), z = zoomNode(view, pane);
		const from = tree.x[z], end = from + tree.total[z];
		for (let i = pane; i < tree.n; i++) {
			const hit = matched[tree.name[i]], above = i && covered[tree.parent[i]];
			covered[i] = hit | above;
			if (!hit)
				continue;
			hits.push(pane ? -i : i);
			// The part of it that is in sight.
			if (!above && !pane)
				share.sum += Math.max(0, Math.min(end, tree.x[i] + tree.total[i]) - Math.max(from, tree.x[i]));
		}
	}

	/** Share of what is shown that has a match on its stack; and the matching frames. */
	function countMatches() {
		$button('previous').disabled = $button('next').disabled = !view.matched;
		if (!view.matched) {
			$('matches').textContent = box.classList.contains('bad') ? 'not a regular expression' : '';
			return;
		}
		hits = [];
		sorted = false;
		share = {sum: 0, all: view.panes[0].total[zoomNode(view, 0)]};
		collect(0, view.matched);
		if (view.panes[1])
			collect(1, view.matched);
		showMatches();
	}

	function showMatches() {
		const n = hits.length, which = current >= 0 ? count(current + 1) + ' of ' : '';
		$('matches').textContent = n ? percent(share.sum, share.all) + ' · ' + which + count(n) : 'no match';
	}

	function sortHits() {
		/** @param {number} hit */
		const size = hit => treeOf(view, hit < 0 ? 1 : 0).total[Math.abs(hit)];
		if (!sorted)
			hits.sort((a, b) => size(b) - size(a) || a - b);
		sorted = true;
	}

	/**
	 * Where the frame is somewhere else, or too thin to be seen: zooms to the nearest caller that shows it.
	 * @param {At} at
	 */
	function bringToSight(at) {
		const tree = treeOf(view, at.pane), z = zoomNode(view, at.pane);
		if ((tree.isBelow(at.node, z) || tree.isBelow(z, at.node)) && app.graph.nodeBox(at).width >= 12)
			return;
		let top = at.node;
		while (top > 0 && tree.total[at.node] / tree.total[tree.parent[top]] > .05)
			top = tree.parent[top];
		app.nav.setZoom({pane: at.pane, node: top});
	}

	/** @param {number} by 1 or -1 */
	function next(by) {
		const n = hits.length;
		if (!view.matched || !n)
			return;
		sortHits();
		current = current < 0 ? by > 0 ? 0 : n - 1 : (current + by + n) % n;
		const at = placeOf(hits[current]);
		bringToSight(at);
		showMatches();
		app.nav.select(at, true);
	}

	/** @param {string} text */
	function searchFor(text) {
		input.value = text;
		search(text);
		app.address.save();
	}

	function init() {
		on(input, 'input', () => searchFor(input.value));
		on(input, 'keydown', e => {
			if (e.key === 'Enter')
				next(e.shiftKey ? -1 : 1);
		});
	}

	return {init, search, countMatches, next, searchFor};
}
