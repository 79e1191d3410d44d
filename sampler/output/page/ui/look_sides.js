// How the time changed from one side to the other: colours say by how much, widths are the mean of both
// shares, or those of one side.
import {changedMethods} from '../data/methods.js';
import {changeOf, changeText, SIDES, sideSamples, signed} from '../data/sides.js';
import {clip, count, error, percent, samplesText} from '../data/text.js';
import {hatch} from '../graph/bar.js';
import {mix, stripes} from '../graph/colours.js';
import {element, tableRow} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').Look} Look */
/** @typedef {import('../types.js').What} What */
/** @typedef {import('../graph/colours.js').Colours} Colours */

const SAME = '#dfe3e8';
export const GREW = '#ec6a3c', SHRANK = '#4f8fe6';

/**
 * Full colour at twice or half the share; none where chance explains the change.
 * @param {Colours} colours
 * @param {number[]} samples on each side
 * @param {number} before
 * @param {number} after
 */
function changeColour(colours, samples, before, after) {
	const c = changeOf(samples, before, after), sure = Math.abs(c.z) >= 2;
	if (!before || !after)
		return colours.shade(mix(SAME, after ? GREW : SHRANK, sure ? 1 : .4));
	return colours.shade(sure ? mix(SAME, c.points > 0 ? GREW : SHRANK,
		Math.min(1, .15 + .85 * Math.abs(Math.log2(c.factor)))) : SAME);
}

/**
 * @param {string} name
 * @param {number[]} samples on each side
 * @param {number[]} s total before, total after, self before, self after
 * @param {boolean} caller
 */
function tip(name, samples, s, caller) {
	const grid = element('table');
	(caller ? ['Total'] : ['Total', 'Self']).forEach((label, i) => SIDES.forEach((side, k) => {
		const n = s[2 * i + k], of = samples[k];
		grid.append(tableRow([label + ' ' + side, percent(n, of), error(n, of), samplesText(n)]));
	}));
	const out = [element('h3', '', clip(name, 1200)), grid,
		element('p', '', 'Total: ' + changeText(samples, s[0], s[1]))];
	if (!caller && (s[2] || s[3]))
		out.push(element('p', '', 'Self: ' + changeText(samples, s[2], s[3])));
	return out;
}

/** @param {Colours} colours */
function legend(colours) {
	/** @param {string} colour @param {string} text @param {string} hint */
	const item = (colour, text, hint, striped = false) => {
		const line = element('span'), s = element('span', 'swatch');
		s.style.background = striped ? stripes(colour) : colour;
		Object.assign(line.style, {display: 'inline-flex', gap: '4px', margin: '3px 10px 3px 4px'});
		line.title = hint;
		line.append(s, text);
		return line;
	};
	return [
		item(colours.shade(SHRANK), 'vanished', 'On no stack of the after side', true),
		item(colours.shade(SHRANK), 'half or less', 'Its share shrank'),
		item(colours.shade(mix(SAME, SHRANK, .4)), 'less', 'Its share shrank'),
		item(colours.shade(SAME), 'the same', 'Within two standard errors of the sampling'),
		item(colours.shade(mix(SAME, GREW, .4)), 'more', 'Its share grew'),
		item(colours.shade(GREW), 'twice or more', 'Its share grew'),
		item(colours.shade(GREW), 'new', 'On no stack of the before side', true),
	];
}

/**
 * Of what is selected now: two other sides are another look.
 * @param {App} app
 * @param {() => import('../data/sides.js').Widths} widths
 * @returns {Look}
 */
export function lookBySides(app, widths) {
	const {profile, view, colours, selection} = app, {names, rootName} = profile, samples = sideSamples(selection);
	const none = [0, 0, 0, 0];
	/** @param {number[]} s */
	const points = ([before, after]) => signed(changeOf(samples, before, after).points);
	/** @param {number[]} s */
	const colour = ([before, after]) => changeColour(colours, samples, before, after);
	return {
		fill: (tree, node) => tree.name[node] === rootName ? colours.ofRoot :
			changeColour(colours, samples, tree.sides[0][node], tree.sides[1][node]),
		thinFill: null,
		decorate(pen, tree, node, bar) {
			if (!tree.sides[0][node] || !tree.sides[1][node])
				hatch(pen, bar);
		},
		rootText() {
			const text = {both: 'before and after', before: 'as before', after: 'as after'}[widths()];
			return view.width > 60 ? text + ': ' + samples.map(count).join(' → ') + ' samples' : '';
		},
		summary(tree, node) {
			const before = tree.sides[0][node], after = tree.sides[1][node];
			return clip(names[tree.name[node]], 1000) + ': before ' + percent(before, samples[0]) + ', after ' +
				percent(after, samples[1]) + ', ' + changeText(samples, before, after);
		},
		tip: what => tip(names[what.name], samples, what.sides || none, !!what.caller),
		legend: () => legend(colours),
		// Kinds have no colours here.
		legendInPicture: false,
		methods: () => changedMethods(selection),
		// Bars in relation to the largest change, which may be far below a point.
		table: {title: 'Changed methods', self: 'Change of its self share, in points',
			total: 'Change of its total share, in points', least: 1e-9},
		numbers({sides: s = none}) {
			return [points(s.slice(2)), points(s)];
		},
		methodBar({sides: s = none}, by) {
			const bar = element('span', 'split'), part = element('span');
			part.style.width = '100%';
			part.style.background = colour(by === 'total' ? s : s.slice(2));
			bar.append(part);
			return bar;
		},
	};
}
