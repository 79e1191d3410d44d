// Colours of bars, in light and dark.
import {KIND} from '../data/kinds.js';

// By kind. Neighbours stay apart in lightness, too, for eyes that tell few hues apart: the smallest
// OKLab distance, deuteranopia, protanopia and tritanopia simulated, is 8.
const COLOURS = ['#808693', '#d67523', '#b898d0', '#f8ca51', '#4684e4', '#33b67e', '#92ccb0', '#d6c5fc', '#f5e5d3',
	'#d5d9df', '#dde2e8', '#dde2e8', '#dde2e8'];

// Text on bars.
export const ON_BAR = '#0b0d11';

/**
 * @param {string} hex
 * @param {string} other
 * @param {number} share of the other
 */
export function mix(hex, other, share) {
	let out = '#';
	for (let i = 1; i < 7; i += 2) {
		const a = parseInt(hex.slice(i, i + 2), 16), b = parseInt(other.slice(i, i + 2), 16);
		out += Math.round(a + (b - a) * share).toString(16).padStart(2, '0');
	}
	return out;
}

/**
 * A background that is striped as bars are by hatch().
 * @param {string} colour
 */
export const stripes = colour => 'repeating-linear-gradient(135deg,' + colour + ' 0 4px,' + mix(colour, '#000000', .14) +
	' 4px 5px)';

/** @param {number} kind */
export const isHatched = kind => kind === KIND.kernel || kind === KIND.mark;

/** @param {string} s */
function hash(s) {
	let h = 0;
	for (let k = 0; k < s.length && k < 400; k++)
		h = Math.imul(h, 31) + s.charCodeAt(k) | 0;
	return (h ^ h >>> 15 ^ h >>> 7) & 255;
}

export class Colours {
	/** @param {string[]} names */
	constructor(names) {
		this.dark = false;
		// Three shades of each kind, chosen by the name: neighbours of one kind can be told apart, and a
		// method has its colour in every page.
		/** @type {string[][]} */
		this.shades = [];
		this.hashes = new Uint8Array(names.length);
		for (let i = 0; i < names.length; i++)
			this.hashes[i] = hash(names[i]);
		this.setDark(false);
	}

	/** @param {boolean} dark */
	setDark(dark) {
		this.dark = dark;
		this.shades = COLOURS.map(c => {
			const base = this.shade(c);
			return [base, mix(base, '#ffffff', .09), mix(base, '#000000', .05)];
		});
	}

	/** @param {string} colour */
	shade(colour) {
		return this.dark ? mix(colour, '#0d1117', .04) : colour;
	}

	/** @param {number} kind */
	ofKind(kind) {
		return this.shades[kind][0];
	}

	/**
	 * @param {number} kind
	 * @param {number} name
	 */
	of(kind, name) {
		return this.shades[kind][this.hashes[name] % 3];
	}

	get ofRoot() {
		return this.ofKind(KIND.process);
	}

	get ink() {
		return this.dark ? '#e6edf3' : ON_BAR;
	}

	get page() {
		return this.dark ? '#0d1117' : '#ffffff';
	}
}
