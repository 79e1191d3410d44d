// The canvas: rows of frames, drawn only where they are to be seen.
import {$, penOf, ratio} from '../base/elements.js';
import {outline} from './bar.js';
import {ON_BAR} from './colours.js';
import {createFitter, FONT} from './fit.js';
import {createLayout, ROW} from './layout.js';

/** @typedef {import('../data/tree.js').Tree} Tree */
/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */

/**
 * Thin frames that follow each other in one colour are one rectangle.
 * @param {CanvasRenderingContext2D} pen
 */
function createRun(pen) {
	let from = 0, to = 0, row = 0, colour = '', alpha = 1;

	function end() {
		if (colour) {
			pen.globalAlpha = alpha;
			pen.fillStyle = colour;
			pen.fillRect(from, row, to - from, ROW - 1);
		}
		colour = '';
	}

	/**
	 * @param {string} c
	 * @param {number} a
	 * @param {number} left
	 * @param {number} right
	 * @param {number} top
	 */
	function add(c, a, left, right, top) {
		if (colour !== c || alpha !== a || row !== top || left > to + .3) {
			end();
			[from, row, colour, alpha] = [left, top, c, a];
		}
		to = right;
	}
	return {add, end};
}

/** @param {App} app */
export function createGraph(app) {
	const {view, profile} = app, canvas = /** @type {HTMLCanvasElement} */ ($('canvas')), scroller = $('scroller');
	const pen = penOf(canvas), fitted = createFitter(profile.names, app.shortName, pen);
	const layout = createLayout(view, scroller), run = createRun(pen);
	let drawing = 0;

	function resize() {
		view.width = scroller.clientWidth;
		view.height = scroller.clientHeight;
		canvas.width = Math.round(view.width * ratio());
		canvas.height = Math.round(view.height * ratio());
		canvas.style.width = view.width + 'px';
		canvas.style.height = view.height + 'px';
		$('spacer').style.height = Math.max(layout.contentHeight(), view.height) - view.height + 'px';
	}

	function redraw() {
		if (!drawing)
			drawing = requestAnimationFrame(() => {
				drawing = 0;
				draw();
			});
	}

	/**
	 * The text on a bar.
	 * @param {number} name
	 * @param {number} width
	 */
	const label = (name, width) => name === profile.rootName ? app.look.rootText() : fitted(name, width);

	/**
	 * @param {Tree} tree
	 * @param {number} node
	 * @param {number} left
	 * @param {number} right
	 * @param {number} top
	 */
	function drawFrame(tree, node, left, right, top) {
		const name = tree.name[node], width = right - left, {look, colours} = app;
		const faded = !!view.matched && !view.matched[name] || view.marked >= 0 && name !== view.marked;
		if (width < 2 && look.thinFill) {
			run.add(look.thinFill(tree, node), faded ? .28 : 1, left, right, top);
			return;
		}
		if (!tree.total[node])
			return;
		const bar = {left, top, width: width - (width > 3 ? 1 : 0)};
		pen.globalAlpha = faded ? .28 : 1;
		pen.fillStyle = look.fill(tree, node);
		pen.fillRect(left, top, bar.width, ROW - 1);
		look.decorate(pen, tree, node, bar);
		if (view.matched && !faded && width >= 2)
			outline(pen, colours.ink, bar);
		const text = label(name, width - 7);
		if (text) {
			pen.fillStyle = faded ? colours.ink : ON_BAR;
			pen.globalAlpha = faded ? .55 : 1;
			pen.fillText(text, left + 4, top + 13, width - 6);
		}
		pen.globalAlpha = 1;
	}

	function draw() {
		const counts = layout.rowCounts(), r = ratio();
		pen.setTransform(r, 0, 0, r, 0, 0);
		pen.clearRect(0, 0, view.width, view.height);
		pen.font = FONT;
		if (!view.panes[0].total[0])
			return;
		const a = layout.rowAt(0), b = layout.rowAt(view.height);
		for (let g = Math.max(0, Math.min(a, b)); g <= Math.max(a, b); g++) {
			const top = layout.rowTop(g);
			layout.forRow(g, counts, view.width, .5, (tree, node, left, right) =>
				drawFrame(tree, node, left, right, top));
		}
		run.end();
		if (view.panes[1]) {
			// A line on both sides of the method that callers and callees are of.
			pen.strokeStyle = app.colours.ink;
			pen.lineWidth = 2;
			pen.strokeRect(1, layout.rowTop(counts.callers), view.width - 2, ROW - 1);
		}
		placeSelection();
	}

	/**
	 * Outlines of the frame under the pointer and of the chosen one are elements: no drawing needed.
	 * @param {HTMLElement} box
	 * @param {At | null} at
	 */
	function placeOutline(box, at) {
		const {left, width} = at ? layout.nodeBox(at) : {left: 0, width: 0}, top = at ? layout.topOf(at) : 0;
		box.hidden = width <= 0 || top < -ROW || top > view.height;
		if (box.hidden)
			return;
		box.style.transform = 'translate(' + left + 'px,' + top + 'px)';
		box.style.width = Math.max(2, width) + 'px';
	}

	function placeSelection() {
		placeOutline($('hover'), view.hover);
		placeOutline($('selected'), view.selected);
	}

	/**
	 * A place on a frame: [x, y] in the window.
	 * @param {At} at
	 * @returns {[number, number]}
	 */
	function placeOf(at) {
		const r = canvas.getBoundingClientRect(), box = layout.nodeBox(at);
		return [r.left + Math.min(box.left + 20, view.width - 60), r.top + layout.topOf(at) + 4];
	}

	/** The scroller's size changed: the root's end stays where it is. */
	function follow() {
		const bottom = scroller.scrollHeight - scroller.scrollTop - view.height;
		resize();
		if (view.flame)
			scroller.scrollTop = scroller.scrollHeight - bottom - view.height;
		redraw();
	}

	/** From now on the graph follows the size of its element. */
	function init() {
		pen.font = FONT;
		new ResizeObserver(follow).observe(scroller);
	}

	return {...layout, canvas, scroller, label, init, resize, redraw, draw, placeSelection, placeOf};
}
