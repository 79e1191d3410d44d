// The buttons above the graph, the divider beside it and the legend.
import {$, $input, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */

function initDivider() {
	const divider = $('divider');
	on(divider, 'pointerdown', e => {
		divider.setPointerCapture(e.pointerId);
		e.preventDefault();
	});
	on(divider, 'pointermove', e => {
		if (divider.hasPointerCapture(e.pointerId))
			$('table').style.width = Math.max(180, Math.min(innerWidth - 200, innerWidth - e.clientX)) + 'px';
	});
}

/** @param {App} app */
export function createToolbar(app) {
	const {view, selection: {filter}} = app, table = $('table');

	/** Buttons say what is so now. */
	function update() {
		$('orient').textContent = view.flame ? 'Flame' : 'Icicle';
		$('orient').title = view.flame ? 'Flame: roots at the bottom. Turn upside down (I)' :
			'Icicle: roots at the top. Turn upside down (I)';
		$('order').textContent = view.bySize ? 'By size' : 'By name';
		$('back').hidden = !(view.zoom || view.panes[1]);
		$('tablebutton').setAttribute('aria-pressed', String(!table.hidden));
		for (const key of /** @type {const} */ (['process', 'thread', 'state']))
			if ($(key))
				$input(key).value = filter[key] === null ? '' : '=' + filter[key];
		if ($('merge')) {
			$('merge').setAttribute('aria-pressed', String(filter.merge));
			$('merge').textContent = filter.merge ? 'Split threads' : 'Merge threads';
		}
	}

	/** @param {boolean} shown */
	function showTable(shown) {
		table.hidden = $('divider').hidden = !shown;
	}

	function toggleTable() {
		showTable(table.hidden);
		app.nav.show();
	}

	/** The legend again; the focus stays on its kind. */
	function updateLegend() {
		const legend = $('legend'), focus = document.activeElement;
		const kind = focus instanceof HTMLElement && focus.dataset.kind;
		legend.replaceChildren(...app.look.legend());
		for (const b of kind ? legend.children : [])
			if (b instanceof HTMLElement && b.dataset.kind === kind)
				b.focus();
	}

	/** @param {any} e */
	function clickLegend(e) {
		const b = e.target.closest('button');
		if (b)
			app.filters.toggleKind(+b.dataset.kind, e.shiftKey);
	}

	function init() {
		const {keys, output} = app;
		/** @type {Record<string, () => void>} */
		const actions = {
			previous: keys.N, next: keys.n, back: keys.Escape, orient: keys.i, order: keys.o, tablebutton: keys.m,
			copy: () => output.copyFolded(), svg: output.saveSvg, theme: keys.d, helpbutton: keys['?'],
		};
		for (const id of Object.keys(actions))
			on($(id), 'click', actions[id]);
		on($('legend'), 'click', clickLegend);
		initDivider();
	}

	return {init, update, updateLegend, showTable, toggleTable};
}
