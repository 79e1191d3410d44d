// Light or dark: as chosen here before, else as the system has it.
import {on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */

const KEY = 'jsampler-theme';

/** What was chosen, where the browser keeps it. */
function stored() {
	try {
		return localStorage.getItem(KEY);
	} catch (e) {
		return null;
	}
}

/** @param {string} theme */
function store(theme) {
	try {
		localStorage.setItem(KEY, theme);
	} catch (e) {
		// Kept for this page only.
	}
}

/** @param {App} app */
export function createTheme(app) {
	const system = matchMedia('(prefers-color-scheme: dark)'), chosen = stored();

	/** @param {boolean} dark */
	function set(dark) {
		document.documentElement.classList.toggle('dark', dark);
		app.colours.setDark(dark);
	}

	/** @param {boolean} dark */
	function change(dark) {
		set(dark);
		for (const part of app.parts)
			part.recolour?.();
		app.toolbar.updateLegend();
		app.table.draw();
		app.graph.redraw();
	}

	function toggle() {
		change(!app.colours.dark);
		store(app.colours.dark ? 'dark' : 'light');
	}

	function init() {
		set(chosen ? chosen === 'dark' : system.matches);
		on(system, 'change', () => {
			if (!chosen && app.colours.dark !== system.matches)
				change(system.matches);
		});
	}

	return {init, toggle};
}
