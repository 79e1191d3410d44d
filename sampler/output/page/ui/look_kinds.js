// How the time was spent: bars, tooltips, table and legend by how methods ran.
import {COLUMNS, isLikely, isRoot, KIND_ORDER, KINDS, ways} from '../data/kinds.js';
import {hotMethods} from '../data/methods.js';
import {amount, clip, count, error, percent, samplesText, waysText} from '../data/text.js';
import {hatch, kindStrip} from '../graph/bar.js';
import {isHatched, stripes} from '../graph/colours.js';
import {element, tableRow} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').Look} Look */
/** @typedef {import('../types.js').What} What */
/** @typedef {import('../graph/colours.js').Colours} Colours */

const MARKS = ['?', 'k', 'n', '0', '1', 'j', 'i', 'J', 's', '!', '', '', ''];
const HINTS = ['no name is known', 'the Linux kernel', 'C and C++: the JVM itself, libraries',
	'bytecode that is not compiled', 'compiled by C1, the quick compiler', 'compiled by C2, the optimizing compiler',
	'compiled into the code of its caller', 'calls from Java to native methods', 'code that the JVM generates for itself',
	'stacks that could not be followed to their end'];
const SURE_NAMES = ['sure', 'likely'];

/**
 * @param {Colours} colours
 * @param {number} kind
 */
function swatch(colours, kind) {
	const s = element('span', 'swatch', MARKS[kind]), colour = colours.ofKind(kind);
	s.style.background = isHatched(kind) ? stripes(colour) : colour;
	return s;
}

/**
 * A bar of parts that are as wide as their shares.
 * @param {Colours} colours
 * @param {[kind: number, share: number][]} parts
 */
function splitBar(colours, parts) {
	const bar = element('span', 'split');
	for (const [kind, share] of parts) {
		const part = element('span');
		part.style.width = share * 100 + '%';
		part.style.background = colours.ofKind(kind);
		bar.append(part);
	}
	return bar;
}

/**
 * How sure the names in compiled code are.
 * @param {Float64Array} columns
 * @param {number} at
 */
function exactness(columns, at) {
	const sure = [0, 0];
	for (let e = 0; e < COLUMNS - KINDS; e++)
		sure[isLikely(e)] += columns[at + KINDS + e];
	const all = sure[0] + sure[1];
	if (!all)
		return [];
	return [element('p', '', 'Name in compiled code: ' +
		sure.flatMap((n, i) => n ? [SURE_NAMES[i] + ' ' + percent(n, all)] : []).join(', '))];
}

/**
 * How a frame or method ran, and how sure its name is.
 * @param {App} app
 * @param {Float64Array} columns
 * @param {number} at
 */
function tipWays({colours, profile}, columns, at) {
	const list = ways(columns, at).filter(w => !isRoot(w[0])), legend = element('div', 'ways');
	if (!list.length)
		return [];
	for (const [kind, share] of list) {
		const item = element('span');
		item.append(swatch(colours, kind), profile.kinds[kind] + (list.length > 1 ? ' ' + percent(share, 1) : ''));
		legend.append(item);
	}
	if (list.length === 1)
		legend.style.marginTop = '7px';
	return [...list.length > 1 ? [splitBar(colours, list)] : [], legend, ...exactness(columns, at)];
}

/**
 * @param {App} app
 * @param {What} what
 */
function tip(app, what) {
	const {names, meta} = app.profile, all = app.total(), grid = element('table');
	/** @param {string} label @param {number} n */
	const line = (label, n) =>
		grid.append(tableRow([label, percent(n, all), error(n, all), amount(meta, n), samplesText(n)]));
	line('Total', what.total);
	if (!what.caller)
		line('Self', what.self);
	/** @type {HTMLElement[]} */
	const out = [element('h3', '', clip(names[what.name], 1200)), grid];
	if (what.zoomed && what.zoomed < all && what.total < what.zoomed)
		out.push(element('p', '', percent(what.total, what.zoomed) + ' of the zoomed part'));
	return what.columns ? out.concat(tipWays(app, what.columns, what.at)) : out;
}

/**
 * Switches that leave a kind out.
 * @param {App} app
 */
function legend({view, profile, selection, colours}) {
	const kinds = view.main.leafKinds, all = kinds.reduce((a, b) => a + b, 0), off = selection.filter.kindsOff;
	return KIND_ORDER.filter(k => kinds[k] || off.has(k)).map(k => {
		const b = element('button');
		b.dataset.kind = String(k);
		b.setAttribute('aria-pressed', String(!off.has(k)));
		b.title = profile.kinds[k] + ': ' + HINTS[k] + '.\nClick: leave this time out. Shift-click: show only this.';
		b.append(swatch(colours, k), profile.kinds[k],
			element('span', '', percent(kinds[k], all) + ' ' + amount(profile.meta, kinds[k])));
		return b;
	});
}

/**
 * @param {App} app
 * @returns {Look}
 */
export function lookByKind(app) {
	const {profile, view, colours, total} = app, {names, rootName, meta} = profile;
	return {
		fill: (tree, node) => tree.name[node] === rootName ? colours.ofRoot : colours.of(tree.kind(node), tree.name[node]),
		thinFill: (tree, node) => colours.ofKind(tree.kind(node)),
		decorate(pen, tree, node, bar) {
			const kind = tree.kind(node), all = tree.total[node];
			if (tree.name[node] !== rootName && bar.width > 4 && tree.columns[node * COLUMNS + kind] < all * .98)
				kindStrip(pen, colours, tree, node, bar);
			if (isHatched(kind))
				hatch(pen, bar);
		},
		rootText() {
			const some = app.filters.active(), all = total(), text = amount(meta, all) + ' · ' + count(all) + ' samples';
			if (view.width <= 60)
				return '';
			return some ? 'shown: ' + text + ' (' + percent(all, app.selection.samples) + ' of all)' : 'all: ' + text;
		},
		summary(tree, node) {
			const t = tree.total[node], all = total();
			return clip(names[tree.name[node]], 1000) + ': total ' + percent(t, all) + ' ' + error(t, all) + ' (' +
				amount(meta, t) + ', ' + count(t) + ' samples)' +
				(tree === view.panes[1] ? '' : ', self ' + percent(tree.self[node], all)) +
				(node || tree.name[0] !== rootName ? '; ' + waysText(profile, tree.columns, node * COLUMNS) : '');
		},
		tip: what => tip(app, what),
		legend: () => legend(app),
		legendInPicture: true,
		methods: () => hotMethods(view.main),
		table: {title: 'Hot methods', self: 'Time in the method itself', total: 'Time in the method and what it calls',
			least: 1},
		numbers: m => [percent(m.self, total()), percent(m.total, total())],
		methodBar: m => splitBar(colours, m.columns ? ways(m.columns) : []),
	};
}
