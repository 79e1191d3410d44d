// What bars carry besides their colour: how the rest of a method ran, hatches, outlines.
import {COLUMNS, KINDS} from '../data/kinds.js';
import {ROW} from './layout.js';

/** @typedef {import('../data/tree.js').Tree} Tree */
/** @typedef {import('../types.js').Bar} Bar */
/** @typedef {import('./colours.js').Colours} Colours */
/** @typedef {CanvasRenderingContext2D} Pen */

/**
 * Kernel frames are the orange ones and the hatched ones.
 * @param {Pen} pen
 * @param {Bar} bar
 */
export function hatch(pen, {left, top, width}) {
	if (width < 6)
		return;
	pen.save();
	pen.beginPath();
	pen.rect(left, top, width, ROW - 1);
	pen.clip();
	pen.strokeStyle = 'rgba(21,24,29,.13)';
	pen.lineWidth = 1;
	pen.beginPath();
	for (let x = left - ROW; x < left + width; x += 6) {
		pen.moveTo(x, top + ROW);
		pen.lineTo(x + ROW, top);
	}
	pen.stroke();
	pen.restore();
}

/**
 * A strip along the lower edge: the kinds that the method ran as, each with its share.
 * @param {Pen} pen
 * @param {Colours} colours
 * @param {Tree} tree
 * @param {number} node
 * @param {Bar} bar
 */
export function kindStrip(pen, colours, tree, node, {left, top, width}) {
	const at = node * COLUMNS, all = tree.total[node];
	for (let k = 0, x = left; k < KINDS; k++) {
		const w = tree.columns[at + k] / all * width;
		if (!w)
			continue;
		pen.fillStyle = colours.ofKind(k);
		pen.fillRect(x, top + ROW - 4, w, 3);
		x += w;
	}
}

/**
 * @param {Pen} pen
 * @param {string} colour
 * @param {Bar} bar
 */
export function outline(pen, colour, {left, top, width}) {
	pen.strokeStyle = colour;
	pen.lineWidth = 1;
	pen.strokeRect(left + .5, top + .5, Math.max(1, width - 1), ROW - 2);
}
