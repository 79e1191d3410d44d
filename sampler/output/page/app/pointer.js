// The pointer on the graph.
import {on} from '../base/elements.js';
import {same} from './navigate.js';

/** @typedef {import('../types.js').App} App */

/** @param {App} app */
export function initPointer(app) {
	const {view, graph, tip, nav, menu} = app, {canvas, scroller} = graph;

	/** @param {PointerEvent} e */
	function frameAt(e) {
		const r = canvas.getBoundingClientRect();
		return graph.hit(e.clientX - r.left, e.clientY - r.top);
	}

	on(scroller, 'pointermove', e => {
		const at = frameAt(e);
		if (!same(at, view.hover)) {
			view.hover = at;
			graph.placeSelection();
		}
		canvas.style.cursor = at ? 'pointer' : 'default';
		if (at && e.pointerType !== 'touch')
			tip.showFrame(at, [e.clientX, e.clientY]);
		else
			tip.hide();
	});
	on(scroller, 'pointerleave', () => {
		view.hover = null;
		graph.placeSelection();
		tip.hide();
	});
	on(scroller, 'click', e => {
		const at = frameAt(e);
		view.selected = null;
		if (!at)
			return;
		nav.setZoom(at);
		// A finger does not hover.
		if (e.pointerType === 'touch')
			tip.showFrame(at);
	});
	on(scroller, 'contextmenu', e => {
		const at = frameAt(e);
		if (!at)
			return;
		e.preventDefault();
		menu.openFrame(at, [e.clientX, e.clientY]);
	});
	on(scroller, 'scroll', () => {
		view.hover = null;
		tip.hide();
		graph.redraw();
	});
}
