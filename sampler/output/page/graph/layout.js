// Where frames are: rows from the root's side, boxes in pixels.

export const ROW = 19;

/** @typedef {import('../data/tree.js').Tree} Tree */
/** @typedef {import('../types.js').At} At */
/** @typedef {import('../types.js').View} View */
/** @typedef {{callers: number, base: number}} RowCounts callers above the method, and the root's row with its callees */

/**
 * The node that fills the width of a pane: the one that is zoomed to, or the root.
 * @param {View} view
 * @param {number} pane
 */
export const zoomNode = (view, pane) => view.zoom && view.zoom.pane === pane ? view.zoom.node : 0;

/**
 * The tree that a frame is in.
 * @param {View} view
 * @param {number} pane
 */
export const treeOf = (view, pane) => /** @type {Tree} */ (view.panes[pane]);

/**
 * What is in row g: a pane and a level of its tree.
 * @param {number} g
 * @param {RowCounts} counts
 */
function rowPlace(g, counts) {
	if (g < 0 || g >= counts.callers + counts.base)
		return null;
	return g >= counts.callers ? {pane: 0, level: g - counts.callers} : {pane: 1, level: counts.callers - g};
}

/**
 * @param {View} view
 * @param {HTMLElement} scroller
 */
export function createLayout(view, scroller) {
	/** @param {number} pane */
	function levels(pane) {
		const tree = treeOf(view, pane), node = zoomNode(view, pane);
		return tree.level[node] + tree.height[node];
	}

	/** @returns {RowCounts} */
	const rowCounts = () => ({callers: view.panes[1] ? levels(1) : 0, base: levels(0) + 1});

	function contentHeight() {
		const c = rowCounts();
		return (c.callers + c.base) * ROW + 6;
	}

	/**
	 * Top of row g, counted from the root's side; g = callers' rows is the first pane's root.
	 * @param {number} g
	 */
	function rowTop(g) {
		if (!view.flame)
			return 3 + g * ROW - scroller.scrollTop;
		const room = Math.max(contentHeight(), view.height);
		return room - 3 - (g + 1) * ROW - scroller.scrollTop;
	}

	/** @param {number} y */
	function rowAt(y) {
		if (!view.flame)
			return Math.floor((y + scroller.scrollTop - 3) / ROW);
		const room = Math.max(contentHeight(), view.height);
		return Math.floor((room - 3 - y - scroller.scrollTop) / ROW);
	}

	/** @param {At} at */
	function topOf(at) {
		const counts = rowCounts(), level = treeOf(view, at.pane).level[at.node];
		return rowTop(at.pane ? counts.callers - level : counts.callers + level);
	}

	/**
	 * The part of the tree's width that is shown: [from, width].
	 * @param {number} pane
	 */
	function shownRange(pane) {
		const tree = treeOf(view, pane), node = zoomNode(view, pane);
		return node ? [tree.x[node], tree.total[node]] : [0, tree.total[0]];
	}

	/** @param {At} at */
	function nodeBox({pane, node}) {
		const tree = treeOf(view, pane), [from, width] = shownRange(pane), scale = view.width / width;
		const left = Math.max(0, (tree.x[node] - from) * scale);
		const right = Math.min(view.width, (tree.x[node] + tree.total[node] - from) * scale);
		return {left, width: right - left};
	}

	/**
	 * Calls fn for the frames of row g that are at least `least` wide.
	 * @param {number} g
	 * @param {RowCounts} counts
	 * @param {number} full width of the row
	 * @param {number} least
	 * @param {(tree: Tree, node: number, left: number, right: number) => void} fn
	 */
	function forRow(g, counts, full, least, fn) {
		const place = rowPlace(g, counts), tree = place && view.panes[place.pane];
		if (!place || !tree || place.level >= tree.levels.length)
			return;
		const z = zoomNode(view, place.pane);
		if (place.level < tree.level[z]) {
			fn(tree, tree.ancestor(z, place.level), 0, full);
			return;
		}
		const [from, width] = shownRange(place.pane), scale = full / width, nodes = tree.levels[place.level];
		const end = from + width * (1 - 1e-12);
		let drawn = -1;
		for (let i = tree.find(place.level, from + width * 1e-12); i < nodes.length && tree.x[nodes[i]] < end; i++) {
			const node = nodes[i], left = (tree.x[node] - from) * scale, right = left + tree.total[node] * scale;
			// Of what is thinner, one a pixel.
			if (right - left >= least)
				fn(tree, node, left, Math.max(right, left + .7));
			else if (Math.floor(left) > drawn)
				fn(tree, node, drawn = Math.floor(left), drawn + 1);
		}
	}

	/**
	 * The frame at a point.
	 * @param {number} x
	 * @param {number} y
	 * @returns {At | null}
	 */
	function hit(x, y) {
		const place = rowPlace(rowAt(y), rowCounts());
		if (!place || !view.panes[0].total[0])
			return null;
		const {pane, level} = place, tree = treeOf(view, pane), z = zoomNode(view, pane);
		if (level < tree.level[z])
			return {pane, node: tree.ancestor(z, level)};
		if (level >= tree.levels.length)
			return null;
		const [from, width] = shownRange(pane), at = from + x / view.width * width;
		const node = tree.levels[level][tree.find(level, at)];
		return node !== undefined && tree.x[node] <= at ? {pane, node} : null;
	}

	/**
	 * Scrolls so that the frame is to be seen.
	 * @param {At} at
	 */
	function reveal(at) {
		const top = topOf(at), room = Math.min(3 * ROW, view.height / 4);
		if (top < room)
			scroller.scrollTop += top - room;
		else if (top > view.height - room - ROW)
			scroller.scrollTop += top - view.height + room + ROW;
	}

	/** Scrolls to the root's end. */
	function scrollHome() {
		if (view.panes[1]) {
			scroller.scrollTop = 0;
			scroller.scrollTop = rowTop(rowCounts().callers) - view.height / 2;
		} else {
			scroller.scrollTop = view.flame ? scroller.scrollHeight : 0;
		}
	}

	return {rowCounts, contentHeight, rowTop, rowAt, topOf, nodeBox, forRow, hit, reveal, scrollHome};
}
