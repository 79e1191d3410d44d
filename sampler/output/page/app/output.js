// What leaves the page: copied text, saved pictures.
import {foldedText as folded} from '../data/selection.js';
import {count} from '../data/text.js';
import {svgText as svg} from '../graph/svg.js';
import {$, element} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */
/** @typedef {import('../data/selection.js').Entry} Entry */

/**
 * @param {string} text
 * @param {string} type
 * @param {string} name of the file
 */
function save(text, type, name) {
	const a = element('a'), url = URL.createObjectURL(new Blob([text], {type}));
	a.href = url;
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/**
 * As people did it before there was a clipboard for pages; it works without a secure context.
 * @param {string} text
 */
function copySelected(text) {
	const area = element('textarea');
	area.value = text;
	document.body.append(area);
	area.select();
	const ok = document.execCommand('copy');
	area.remove();
	return ok;
}

/** @param {App} app */
export function createOutput(app) {
	const {view, selection} = app;
	let timer = 0;

	/**
	 * A short message.
	 * @param {string} text
	 */
	function toast(text) {
		$('toast').textContent = text;
		$('toast').hidden = false;
		clearTimeout(timer);
		timer = setTimeout(() => { $('toast').hidden = true; }, 2500);
	}

	/**
	 * @param {string} text
	 * @param {string} done what to say then
	 */
	async function copyText(text, done) {
		let ok = true;
		try {
			await navigator.clipboard.writeText(text);
		} catch (e) {
			ok = copySelected(text);
		}
		toast(ok ? done : 'The browser did not allow copying');
	}

	/** @param {Entry[]} extra */
	const foldedText = extra => folded(selection, extra);

	/**
	 * What is shown, or the stacks through a frame.
	 * @param {At} [at]
	 */
	function copyFolded(at) {
		const shown = at || view.zoom;
		/** @type {Entry[]} */
		const extra = [];
		if (view.panes[1])
			extra.push({hide: false, name: view.method});
		else if (shown && shown.node)
			extra.push({hide: false, names: view.panes[0].names(shown.node), merged: selection.filter.merge});
		const text = foldedText(extra);
		copyText(text, 'Copied ' + count(text.split('\n').length - 1) + ' folded stacks');
	}

	const svgText = () => svg(app, document.title);

	function saveSvg() {
		const title = $('title').textContent || '';
		save(svgText(), 'image/svg+xml', 'flame-' + (title.replace(/[^\w.-]+/g, '_').slice(0, 60) || 'graph') + '.svg');
	}

	return {save, copyText, foldedText, copyFolded, svgText, saveSvg};
}
