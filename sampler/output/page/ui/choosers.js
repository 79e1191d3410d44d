// Choosers of one process, thread or state, where samples differ in it.
import {isRoot} from '../data/kinds.js';
import {clip, percent} from '../data/text.js';
import {$, button, element, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').Part} Part */
/** @typedef {import('../data/profile.js').Label} Label */
/** @typedef {import('../data/profile.js').Profile} Profile */

/**
 * @typedef {object} Chooser
 * @property {'process' | 'thread' | 'state'} key of the filter
 * @property {string} all
 * @property {(label: Label) => string} valueOf
 * @property {(label: Label) => string} textOf
 */

/** @type {Chooser[]} */
const CHOOSERS = [
	{key: 'process', all: 'All processes', valueOf: l => String(l[0]), textOf: l => l[0] ? 'PID ' + l[0] : ''},
	{key: 'thread', all: 'All threads', valueOf: l => l[1] + ' ' + l[2],
		textOf: l => l[1] || l[2] ? (l[2] || 'thread') + ' [' + l[1] + ']' : ''},
	{key: 'state', all: 'All states', valueOf: l => l[3], textOf: l => l[3]},
];

/** @param {Profile} profile */
function sumsByLabel({rows, labels}) {
	const sums = new Float64Array(labels.length || 1);
	for (let i = 0; i < rows.n; i++)
		sums[rows.label[i]] += rows.value[i];
	return sums;
}

/**
 * What there is to choose from, most first.
 * @param {Profile} profile
 * @param {Chooser} chooser
 * @param {Float64Array} sums
 */
function optionsOf({labels}, {valueOf, textOf}, sums) {
	/** @type {Map<string, {value: string, text: string, sum: number}>} */
	const options = new Map();
	labels.forEach((l, i) => {
		const value = valueOf(l), sum = sums[i] + (options.get(value)?.sum || 0);
		options.set(value, {value, text: textOf(l), sum});
	});
	return [...options.values()].sort((a, b) => b.sum - a.sum);
}

/**
 * @param {App} app
 * @param {Chooser} chooser
 * @param {Float64Array} sums
 */
function addChooser(app, chooser, sums) {
	const {all, key} = chooser, options = optionsOf(app.profile, chooser, sums), select = element('select');
	if (options.length < 2 || options.every(o => o.text === ''))
		return;
	select.id = key;
	select.title = all;
	select.setAttribute('aria-label', all);
	select.append(new Option(all + ' (' + options.length + ')', ''));
	for (const {value, text, sum} of options)
		select.append(new Option(clip(text, 80) + ' – ' + percent(sum, app.profile.meta.samples), '=' + value));
	on(select, 'change', () => {
		app.selection.filter[key] = select.value ? select.value.slice(1) : null;
		app.nav.rebuild();
	});
	$('choosers').append(select);
}

/** @param {Profile} profile */
function hasRoots({rows, variantKind}) {
	for (let i = 0; i < rows.n; i++)
		if (rows.shared[i] === 0 && isRoot(variantKind[rows.frames[rows.start[i]]]))
			return true;
	return false;
}

/**
 * @param {App} app
 * @returns {Part}
 */
export function choosersOfSamples(app) {
	function init() {
		const sums = sumsByLabel(app.profile);
		for (const chooser of CHOOSERS)
			addChooser(app, chooser, sums);
		if (!hasRoots(app.profile))
			return;
		const merge = button('Merge threads', 'One graph for all threads (T)', app.filters.toggleMerge);
		merge.id = 'merge';
		$('choosers').append(merge);
	}
	return {init};
}
