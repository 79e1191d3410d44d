// Ranges of time: one that is chosen on the strip is all that the page shows; a second one is compared
// with it.
import {Slices} from '../data/slices.js';
import {$, button, element, on} from '../base/elements.js';
import {createStrip} from './strip.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').Part} Part */
/** @typedef {import('../data/slices.js').Range} Range */
/** @typedef {ReturnType<typeof import('./compare.js').createSides>} Sides */

/**
 * @param {App} app
 * @param {Sides} sides
 * @param {import('../data/profile.js').PackedSlices} packed
 */
export function createRanges(app, sides, packed) {
	const {selection, profile: {rows, meta}} = app, slices = new Slices(app.profile, packed);
	const {strip, draw: drawStrip, sliceAt, describe, ...inside} = createStrip(app, slices);
	const state = {
		n: slices.n,
		/** @type {[Range | null, Range | null]} */
		ranges: [null, null],
		/** @type {{from: number, side: number} | null} */
		drag: null,
		// The next range is to be compared with the first.
		second: false,
	};
	const text = element('span');

	/** What is in the ranges becomes what there is; the graph is made again afterwards. */
	function take() {
		const [a, b] = state.ranges;
		selection.samples = meta.samples;
		selection.count = a ? slices.countsIn(a) : rows.count;
		// The weights of a row's samples are not kept by slice: each counts as the row's average.
		selection.value = a ? rows.value.map((v, i) => v * selection.count[i] / rows.count[i]) : rows.value;
		sides.compare(b ? [selection.count, slices.countsIn(b)] : null);
	}

	function draw() {
		const [a, b] = state.ranges;
		drawStrip(state.ranges);
		text.textContent = a && b ? slices.text(a) + ' compared with ' + slices.text(b) : a ? slices.text(a) +
			'. Drag with Shift, or press Compare, to select a second range' :
			'Drag, or use the arrow keys, to select a range of the ' + slices.seconds(slices.n) + ' s';
		$('unrange').hidden = !a;
		$('compare').hidden = !a || !!b;
		$('swap').hidden = !b;
		strip.setAttribute('aria-valuenow', String(a ? a[0] : 0));
		strip.setAttribute('aria-valuetext', a ? slices.text(a) + (b ? ' compared with ' + slices.text(b) : '') : 'all');
	}

	/**
	 * @param {Range | null} a
	 * @param {Range | null} b
	 */
	function set(a, b) {
		state.ranges = a ? [a, b] : [b, null];
		take();
		app.nav.rebuild();
		draw();
	}

	/**
	 * While the pointer is down only the strip follows it.
	 * @param {{from: number, side: number}} drag
	 * @param {number} x
	 */
	function dragTo({from, side}, x) {
		const at = sliceAt(x);
		state.ranges[side] = [Math.min(at, from), Math.max(at, from) + 1];
		draw();
	}

	/** @param {PointerEvent} e */
	function startDrag(e) {
		const second = state.ranges[0] && (e.shiftKey || state.second);
		state.drag = {from: sliceAt(e.clientX), side: second ? 1 : 0};
		state.second = false;
		if (!second)
			state.ranges = [null, null];
		strip.setPointerCapture(e.pointerId);
		dragTo(state.drag, e.clientX);
		e.preventDefault();
	}

	/** @param {KeyboardEvent} e */
	function onKey(e) {
		const by = {ArrowLeft: -1, ArrowRight: 1}[e.key], [first, other] = state.ranges;
		if (!by)
			return;
		// The range to compare with, once it was asked for; Swap gets at the other one again.
		const side = first && (state.second || other) ? 1 : 0;
		const [from, end] = state.ranges[side] || [0, 0], to = Math.max(1, Math.min(slices.n, end + by));
		// Shift moves the end, else both.
		/** @type {Range} */
		const range = e.shiftKey ? [Math.min(from, to - 1), to] : [Math.max(0, Math.min(to - 1, from + by)), to];
		state.second = false;
		if (side)
			set(first, range);
		else
			set(range, null);
		e.preventDefault();
		e.stopPropagation();
	}

	function initDrag() {
		on(strip, 'pointerdown', startDrag);
		on(strip, 'pointermove', e => {
			if (state.drag)
				dragTo(state.drag, e.clientX);
			else
				describe(sliceAt(e.clientX));
		});
		on(strip, 'pointerup', () => {
			if (state.drag)
				set(...state.ranges);
			state.drag = null;
		});
		on(strip, 'pointercancel', () => { state.drag = null; });
		on(strip, 'keydown', onKey);
	}

	function askForSecond() {
		state.second = true;
		strip.focus();
		text.textContent = 'Drag the range to compare with, or move it with the arrow keys';
	}

	function init() {
		const box = element('div'), line = element('div');
		box.id = 'time';
		line.id = 'timeline';
		text.id = 'range';
		text.setAttribute('role', 'status');
		line.append(text);
		for (const [id, label, title, action] of /** @type {[string, string, string, () => void][]} */ ([
			['compare', 'Compare…', 'Then drag a second range, or move it with the arrow keys', askForSecond],
			['swap', 'Swap', 'Swap before and after', () => set(state.ranges[1], state.ranges[0])],
			['unrange', 'All', 'The whole recording', () => set(null, null)]])) {
			const b = button(label, title, action);
			b.id = id;
			line.append(b);
		}
		Object.assign(line.style, {display: 'flex', gap: '6px', alignItems: 'center', minHeight: '30px', fontSize: '12px'});
		box.style.padding = '6px 14px 0';
		box.append(strip, line);
		$('legend').before(box);
		initDrag();
		new ResizeObserver(draw).observe(strip);
	}

	/** @type {Part} */
	const part = {
		init, recolour: draw,
		help: 'The strip shows the recording over time. Drag to select a range; drag with Shift to select a second ' +
			'one, which is compared with the first.',
		filters: () => !!state.ranges[0] && !sides.on,
		reset() {
			state.ranges = [null, null];
			take();
			draw();
		},
		save: address => state.ranges.forEach((r, k) => r && address.set('r' + k, r.join('-'))),
		load(address) {
			const a = slices.parse(address.get('r0'));
			state.ranges = [a, a && slices.parse(address.get('r1'))];
			take();
			draw();
		},
	};

	return Object.assign(state, inside, {strip, part});
}
