// A picture (SVG) of what is shown, all rows.
import {KIND_ORDER} from '../data/kinds.js';
import {ROW} from './layout.js';

/** @typedef {import('../data/tree.js').Tree} Tree */
/** @typedef {import('../types.js').App} App */

const WIDTH = 1200;

/** @param {string} s */
const escape = s => s.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]/gu, c => Number(c.codePointAt(0)) > 0xffff ? c : '?')
	.replace(/[&<>"]/g, c => '&#' + c.charCodeAt(0) + ';');

/** @param {App} app */
function legendOf({colours, view, profile}) {
	return KIND_ORDER.filter(k => view.main.leafKinds[k]).map((k, i) => '<rect x="' + (300 + i * 100) +
		'" y="7" width="12" height="12" fill="' + colours.ofKind(k) + '"/><text x="' + (316 + i * 100) + '" y="17" fill="' +
		colours.ink + '">' + profile.kinds[k] + '</text>');
}

/**
 * @param {App} app
 * @param {Tree} tree
 * @param {number} node
 * @param {number} left
 * @param {number} width
 * @param {number} y
 */
function frame(app, tree, node, left, width, y) {
	const text = app.graph.label(tree.name[node], width - 7);
	return '<g><title>' + escape(app.look.summary(tree, node)) + '</title><rect x="' + left.toFixed(2) + '" y="' + y +
		'" width="' + Math.max(.3, width - (width > 3 ? 1 : 0)).toFixed(2) + '" height="' + (ROW - 1) + '" fill="' +
		app.look.fill(tree, node) + '"/>' +
		(text ? '<text x="' + (left + 4).toFixed(2) + '" y="' + (y + 13) + '">' + escape(text) + '</text>' : '') + '</g>';
}

/**
 * @param {App} app
 * @param {string} title
 */
export function svgText(app, title) {
	const {graph, view, colours, look} = app, counts = graph.rowCounts(), all = counts.callers + counts.base;
	const out = ['<svg xmlns="http://www.w3.org/2000/svg" width="' + WIDTH + '" height="' + (all * ROW + 30) +
		'" font-family="system-ui, sans-serif" font-size="12"><rect width="100%" height="100%" fill="' +
		colours.page + '"/><text x="4" y="17" font-weight="bold" fill="' + colours.ink + '">' +
		escape(title.slice(0, 200)) + '</text>'];
	if (look.legendInPicture)
		out.push(...legendOf(app));
	for (let g = 0; g < all; g++)
		graph.forRow(g, counts, WIDTH, .3, (tree, node, left, right) =>
			out.push(frame(app, tree, node, left, right - left, 26 + (view.flame ? all - 1 - g : g) * ROW)));
	out.push('</svg>\n');
	return out.join('\n');
}
