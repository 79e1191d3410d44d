// Numbers and names for people.
import {ways} from './kinds.js';

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {import('./profile.js').Meta} Meta */

/** @param {number} n */
export const count = n => Math.round(n).toLocaleString('en-US');

/** @param {number} n */
export const samplesText = n => count(n) + (n === 1 ? ' sample' : ' samples');

/**
 * @param {number} part
 * @param {number} whole
 */
export function percent(part, whole) {
	const p = whole ? 100 * part / whole : 0;
	return p.toFixed(p >= 99.95 || p === 0 ? 0 : p >= .095 ? 1 : 2) + ' %';
}

/** @param {number} ns */
export function time(ns) {
	const s = ns / 1e9;
	if (s >= 600)
		return (s / 60).toFixed(s >= 6000 ? 0 : 1) + ' min';
	if (s >= 1)
		return s.toFixed(s >= 100 ? 0 : s >= 10 ? 1 : 2) + ' s';
	if (s >= .001)
		return (s * 1000).toFixed(s >= .0095 ? 0 : 1).replace('.0', '') + ' ms';
	return count(s * 1e6) + ' µs';
}

/** @param {Meta} meta */
export const isTime = meta => meta.unit === 'nanoseconds';

/**
 * Samples as what they stand for: time, or a number of events.
 * @param {Meta} meta
 * @param {number} samples
 */
export function amount(meta, samples) {
	const v = meta.samples ? samples * meta.weight / meta.samples : 0;
	if (isTime(meta))
		return time(v);
	/** @type {[number, string]} */
	const [unit, letter] = v >= 1e9 ? [1e9, ' G'] : v >= 1e6 ? [1e6, ' M'] : v >= 1e5 ? [1e3, ' k'] : [1, ''];
	return (letter ? (v / unit).toFixed(1) : count(v)) + letter + ' ' + meta.event;
}

/**
 * 95 % of repetitions lie within (binomial), in points of 100.
 * @param {number} part
 * @param {number} whole
 */
export function error(part, whole) {
	const p = whole ? Math.min(1, part / whole) : 0;
	const points = whole ? 196 * Math.sqrt(p * (1 - p) / whole) : 0;
	return '± ' + points.toFixed(points >= .095 ? 1 : 2);
}

/**
 * @param {string} s
 * @param {number} n characters
 */
export const clip = (s, n) => s.length > n ? s.slice(0, n / 2) + ' … ' + s.slice(-n / 2) : s;

/**
 * @param {Profile} profile
 * @param {Float64Array} columns
 */
export const waysText = (profile, columns, at = 0) =>
	ways(columns, at).map(([k, share]) => profile.kinds[k] + ' ' + percent(share, 1)).join(', ');

/**
 * A regular expression; without capital letters it looks at neither case. null: nothing to look for.
 * @param {string | null} text
 */
export function pattern(text) {
	return text ? new RegExp(text, /[A-Z]/.test(text.replace(/\\./g, '')) ? '' : 'i') : null;
}

/**
 * Names without their package: java/util/HashMap.put is HashMap.put where room is short.
 * @param {string[]} names
 */
export function newShortNames(names) {
	/** @type {string[]} */
	const short = new Array(names.length);
	/** @param {number} name */
	return name => {
		let s = short[name];
		if (s === undefined) {
			s = names[name].slice(0, 600);
			if (s[0] !== '[' && /^[^ (<:]*\/[^ ]*\./.test(s))
				s = s.slice(s.lastIndexOf('/') + 1) || s;
			short[name] = s;
		}
		return s;
	};
}
