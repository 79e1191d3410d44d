// What is left out now, each with a button that takes it back; and what there is to say when nothing is left.
import {clip, percent} from '../data/text.js';
import {$, element, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../data/selection.js').Entry} Entry */

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} remove
 */
function chip(text, title, remove) {
	const c = element('span', 'chip'), x = element('button', '', '×');
	c.append(element('span', '', clip(text, 200)), x);
	c.title = clip(title, 1500);
	x.setAttribute('aria-label', 'Remove ' + clip(text, 200));
	on(x, 'click', remove);
	return c;
}

/** @param {App} app */
export function createChips(app) {
	const {view, selection, profile: {names, meta}} = app, {filter} = selection;

	/** @param {Entry} entry */
	function entryChip(entry) {
		const {hide, names: stack, name = -1} = entry;
		const what = stack ? (hide ? 'Hidden: stack ' : 'Only: stack ') + '… ' + names[stack[stack.length - 1]] :
			(hide ? 'Hidden: ' : 'Only with: ') + names[name];
		const title = stack ? stack.map(n => names[n].slice(0, 200)).join('\n') : names[name];
		return chip(what, title, () => {
			filter.list = filter.list.filter(other => other !== entry);
			app.nav.rebuild();
		});
	}

	function filterChips() {
		const chips = filter.list.map(entryChip);
		if (!app.filters.active())
			return chips;
		const all = element('button', '', 'Show everything');
		on(all, 'click', app.filters.reset);
		const share = 'Shown: ' + percent(app.total(), selection.samples) + ' of the recording';
		return [...chips, element('span', '', share), all];
	}

	function sandwichChip() {
		const name = names[view.method];
		return chip((view.flame ? 'Callees above, callers below: ' : 'Callers above, callees below: ') + name, name,
			app.nav.closeSandwich);
	}

	function update() {
		const chips = [...view.panes[1] ? [sandwichChip()] : [], ...filterChips()], empty = $('empty');
		$('chips').hidden = !chips.length;
		$('chips').replaceChildren(...chips);
		empty.hidden = app.total() > 0;
		empty.textContent = !selection.samples ? 'No samples: the target used no ' +
			(meta.event === 'cpu' ? 'CPU time' : meta.event) + ' while it was recorded.' :
			'Nothing is left: everything is filtered out.';
	}

	return {update};
}
