// Comparing two sides: the look of it, and buttons for what bars are as wide as.
import {setWidths, sideSamples, widthsOf} from '../data/sides.js';
import {$, button} from '../base/elements.js';
import {lookByKind} from './look_kinds.js';
import {lookBySides} from './look_sides.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').Part} Part */
/** @typedef {import('../data/sides.js').Widths} Widths */

/** @type {[Widths, string, string][]} */
const WIDTHS = [['both', 'Both', 'Width: the mean of both shares (B)'], ['before', 'Before', 'Width: share before (B)'],
	['after', 'After', 'Width: share after (B)']];

/** @param {App} app */
export function createSides(app) {
	const {selection} = app;
	const sides = {
		on: false,
		samples: [0, 0],
		/** @type {Widths} */
		mode: 'both',
	};

	function updateButtons() {
		for (const b of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-mode]'))) {
			b.hidden = !sides.on;
			b.setAttribute('aria-pressed', String(b.dataset.mode === sides.mode));
		}
	}

	/**
	 * Compares samples of each row before and after; null: nothing is compared. The graph is made again
	 * afterwards.
	 * @param {[before: Float64Array, after: Float64Array] | null} counts
	 */
	function compare(counts) {
		sides.on = !!counts;
		selection.sides = counts || [];
		if (counts) {
			sides.samples = sideSamples(selection);
			selection.count = counts[0].map((n, i) => n + counts[1][i]);
			setWidths(selection, sides.samples, sides.mode);
		}
		app.look = counts ? lookBySides(app, () => sides.mode) : lookByKind(app);
		updateButtons();
	}

	/** @param {Widths} mode */
	function setMode(mode) {
		sides.mode = mode;
		if (sides.on)
			setWidths(selection, sides.samples, mode);
		updateButtons();
	}

	/** @param {Widths} mode */
	function choose(mode) {
		if (!sides.on)
			return;
		setMode(mode);
		app.nav.rebuild();
	}

	/** @type {Part} */
	const part = {
		keys: [['B', 'width: both, before, after']],
		help: 'Colours compare shares before and after: orange grew, blue shrank, grey within chance; striped frames are on ' +
			'one side only. Widths are the mean of both shares, or those of one side.',
		init() {
			for (const [mode, text, title] of WIDTHS) {
				const b = button(text, title, () => choose(mode));
				b.dataset.mode = mode;
				$('choosers').append(b);
			}
			updateButtons();
			const after = /** @type {const} */ ({both: 'before', before: 'after', after: 'both'});
			app.keys.b = () => choose(after[sides.mode]);
		},
		save(address) {
			if (sides.on && sides.mode !== 'both')
				address.set('s', sides.mode);
		},
		load: address => setMode(widthsOf(address.get('s'))),
	};

	return Object.assign(sides, {part, compare});
}
