// The help: what the page's own text does not say, and the keys.
import {$, element} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */

/** @type {[string, string][]} */
const KEYS = [['click, Enter', 'zoom in'], ['Esc', 'back'], ['/', 'search'], ['N, Shift+N', 'next, previous match'],
	['I', 'flame or icicle'], ['O', 'order by size or name'], ['C', 'callers and callees'], ['S', 'only this stack'],
	['H', 'hide this stack'], ['X', 'hide stacks with this method'], ['arrows', 'move from frame to frame'],
	['T', 'merge threads'], ['M', 'table of methods'], ['0', 'show everything'], ['D', 'light or dark'],
	['right click, menu key', 'more']];

/** @param {App} app */
export function initHelp({parts}) {
	for (const [key, text] of [...KEYS, ...parts.flatMap(part => part.keys || [])])
		$('keys').append(element('kbd', '', key), element('span', '', text));
	const help = parts.flatMap(part => part.help || []).join(' ');
	if (help)
		$('keys').before(element('p', '', help));
}
