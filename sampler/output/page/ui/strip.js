// The strip above the graph: how the time was spent in the course of the recording.
import {KIND_ORDER, KINDS} from '../data/kinds.js';
import {count, waysText} from '../data/text.js';
import {element, penOf, ratio} from '../base/elements.js';
import {GREW, SHRANK} from './look_sides.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../data/slices.js').Slices} Slices */
/** @typedef {import('../data/slices.js').Range} Range */

const HEIGHT = 54;

/**
 * The element; it says what it is to those who hear the page.
 * @param {number} slices
 */
function stripElement(slices) {
	const strip = element('canvas');
	strip.id = 'strip';
	strip.tabIndex = 0;
	strip.setAttribute('role', 'slider');
	strip.setAttribute('aria-label', 'Time: arrow keys move the range, and with Shift its end');
	strip.setAttribute('aria-valuemin', '0');
	strip.setAttribute('aria-valuemax', String(slices));
	Object.assign(strip.style, {display: 'block', width: '100%', height: HEIGHT + 'px', background: 'var(--panel)',
		cursor: 'crosshair', touchAction: 'none'});
	return strip;
}

/**
 * @param {App} app
 * @param {Slices} slices
 */
export function createStrip(app, slices) {
	const strip = stripElement(slices.n), pen = penOf(strip), kindsAt = slices.kindsBySlice();
	// A bar for each slice, or for as many as a pixel holds: samples by kind.
	const bars = {n: 0, by: 1, most: 0, sums: [new Float64Array(KINDS)]};

	/** @param {number} i */
	function sumsOfBar(i) {
		const kinds = new Float64Array(KINDS);
		for (let s = i * bars.by; s < Math.min(slices.n, (i + 1) * bars.by); s++)
			for (let k = 0; k < KINDS; k++)
				kinds[k] += kindsAt[s * KINDS + k];
		return kinds;
	}

	function layBars() {
		bars.by = Math.max(1, Math.ceil(slices.n / Math.max(1, strip.clientWidth)));
		bars.n = Math.ceil(slices.n / bars.by);
		bars.sums = Array.from({length: bars.n}, (_, i) => sumsOfBar(i));
		bars.most = Math.max(1, ...bars.sums.map(k => k.reduce((a, b) => a + b, 0)));
	}

	/**
	 * @param {number} i
	 * @param {number} left
	 * @param {number} right
	 */
	function drawBar(i, left, right) {
		let y = HEIGHT;
		for (const kind of KIND_ORDER) {
			const h = bars.sums[i][kind] / bars.most * (HEIGHT - 4);
			if (!h)
				continue;
			pen.fillStyle = app.colours.ofKind(kind);
			pen.fillRect(left, y - h, right - left - (right - left > 3 ? 1 : 0), h);
			y -= h;
		}
	}

	/**
	 * @param {(Range | null)[]} ranges
	 * @param {number} width
	 */
	function drawBars(ranges, width) {
		for (let i = 0; i < bars.n; i++) {
			const from = i * bars.by, to = (i + 1) * bars.by, inside = ranges.some(r => r && from < r[1] && to > r[0]);
			pen.globalAlpha = inside || !ranges[0] ? 1 : .3;
			drawBar(i, from * width / slices.n, Math.min(width, to * width / slices.n));
		}
		pen.globalAlpha = 1;
	}

	/** @param {[Range | null, Range | null]} ranges */
	function draw(ranges) {
		const width = strip.clientWidth, r = ratio();
		strip.width = Math.round(width * r);
		strip.height = HEIGHT * r;
		pen.setTransform(r, 0, 0, r, 0, 0);
		layBars();
		drawBars(ranges, width);
		// Before and after in the colours of what shrank and what grew; alone as anything chosen.
		ranges.forEach((range, k) => {
			if (!range)
				return;
			const left = range[0] * width / slices.n, w = (range[1] - range[0]) * width / slices.n;
			pen.strokeStyle = ranges[1] ? [SHRANK, GREW][k] : getComputedStyle(strip).color;
			pen.lineWidth = 2;
			pen.strokeRect(left + 1, 1, Math.max(2, w - 2), HEIGHT - 2);
		});
	}

	/** @param {number} x in the window */
	function sliceAt(x) {
		const r = strip.getBoundingClientRect();
		return Math.max(0, Math.min(slices.n - 1, Math.floor((x - r.left) / r.width * slices.n)));
	}

	/** @param {number} slice */
	function describe(slice) {
		const sum = bars.sums[Math.floor(slice / bars.by)];
		strip.title = slices.text([slice, slice + 1]) + ': ' + count(sum.reduce((a, b) => a + b, 0)) + ' samples\n' +
			waysText(app.profile, sum);
	}

	return {strip, bars, kindsAt, draw, sliceAt, describe};
}
