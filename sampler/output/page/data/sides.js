// Two sides of samples: how the shares of methods changed from one to the other. Shares are compared, so
// neither length nor rate matters.

export const SIDES = ['before', 'after'];

/** @typedef {'both' | 'before' | 'after'} Widths the share that a bar is as wide as: the mean of both, or one side's */
/** @typedef {import('./selection.js').Selection} Selection */

/**
 * @typedef {object} Change
 * @property {number} points percentage points
 * @property {number} factor
 * @property {number} z how sure it is: its standard errors (binomial counts)
 */

/**
 * @param {string | null} text
 * @returns {Widths}
 */
export const widthsOf = text => text === 'before' || text === 'after' ? text : 'both';

/** @param {Selection} selection */
export const sideSamples = selection => selection.sides.map(c => c.reduce((a, b) => a + b, 0));

/**
 * Bars become as wide as this. With the mean of both shares, what vanished and what is new are both to
 * be seen.
 * @param {Selection} selection
 * @param {number[]} samples on each side
 * @param {Widths} widths
 */
export function setWidths(selection, samples, widths) {
	const [b, a] = samples, all = b + a, [before, after] = selection.sides;
	const [fb, fa] = {both: [b && all / b / 2, a && all / a / 2], before: [1, 0], after: [0, 1]}[widths];
	selection.samples = {both: all, before: b, after: a}[widths];
	selection.value = before.map((n, i) => n * fb + after[i] * fa);
}

/**
 * @param {number[]} samples on each side
 * @param {number} before
 * @param {number} after
 * @returns {Change}
 */
export function changeOf([nb, na], before, after) {
	const b = nb && before / nb, a = na && after / na;
	/** @param {number} n @param {number} of */
	const variance = (n, of) => (n + 1) / (of + 2) * (1 - (n + 1) / (of + 2)) / (of + 2);
	return {points: 100 * (a - b), factor: b ? a / b : Infinity,
		z: (a - b) / Math.sqrt(variance(before, nb) + variance(after, na))};
}

/** @param {number} points */
export const signed = points => (points < 0 ? '−' : '+') + Math.abs(points).toFixed(2);

/**
 * @param {number[]} samples on each side
 * @param {number} before
 * @param {number} after
 */
export function changeText(samples, before, after) {
	const c = changeOf(samples, before, after), times = c.factor >= 10 ? '×' + c.factor.toFixed(0) :
		(c.factor < 1 ? '−' : '+') + Math.abs(100 * (c.factor - 1)).toFixed(0) + ' %';
	return signed(c.points) + ' pt' + (!after ? ', vanished' : !before ? ', new' : ', ' + times) +
		(Math.abs(c.z) < 2 ? ' (within chance)' : '');
}
