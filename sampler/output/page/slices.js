// Time slices: a strip that shows how the time was spent in the course of the recording. One range of it
// chosen is all that the page shows; a second one is compared with it (compare.js). Stands between
// compare.js and main.js and replaces functions of the files before it.
const slices = {ns: data.slices.ns, n: data.slices.n, start: new Int32Array(rows.n + 1), at: [], count: [],
	ranges: [null, null], all: {count: rows.count, value: rows.value, samples: meta.samples}, drag: null};

// Of each row the slices, from 0 on, in which it has samples. Samples of no slice are in no range.
function readSlices() {
	const number = numbersOf(data.slices.counts);
	for (let row = 0; row < rows.n; row++) {
		for (let k = number(); k > 0; k--) {
			slices.at.push(number() - 1);
			slices.count.push(number());
		}
		slices.start[row + 1] = slices.at.length;
	}
	data.slices = null;
}

readSlices();

// Samples of each row from slice a to slice b, that one left out.
function countsIn([a, b]) {
	const counts = new Float64Array(rows.n);
	for (let row = 0; row < rows.n; row++)
		for (let i = slices.start[row]; i < slices.start[row + 1]; i++)
			if (slices.at[i] >= a && slices.at[i] < b)
				counts[row] += slices.count[i];
	return counts;
}

// What is in the ranges becomes what there is; rebuild() comes next.
function takeRanges() {
	const [a, b] = slices.ranges, all = slices.all;
	meta.samples = all.samples;
	rows.count = a ? countsIn(a) : all.count;
	// The weights of a row's samples are not kept by slice: each counts as the row's average.
	rows.value = a ? all.value.map((v, i) => v * rows.count[i] / all.count[i]) : all.value;
	compareSides(!!b);
	if (!b)
		return;
	sides.counts = [rows.count, countsIn(b)];
	sides.samples = sides.counts.map(c => c.reduce((x, y) => x + y, 0));
	rows.count = rows.count.map((n, i) => n + sides.counts[1][i]);
	setSideMode(sides.mode);
}

function setRanges(a, b) {
	slices.ranges = a ? [a, b] : [b, null];
	takeRanges();
	rebuild();
	drawStrip();
}

// The strip: a bar for each slice, or for as many as a pixel holds, by kind.
const STRIP = 54;
const kindsAt = new Float64Array(slices.n * KINDS);
let strip, stripPen, bars = {n: 0, by: 1, most: 0};

function sumKinds() {
	forRows((path, depth, row) => {
		const kind = variantKind[path[depth - 1]];
		for (let i = slices.start[row]; i < slices.start[row + 1]; i++)
			if (slices.at[i] >= 0)
				kindsAt[slices.at[i] * KINDS + kind] += slices.count[i];
	}, []);
}

function layBars() {
	bars.by = Math.max(1, Math.ceil(slices.n / Math.max(1, strip.clientWidth)));
	bars.n = Math.ceil(slices.n / bars.by);
	bars.sums = Array.from({length: bars.n}, (x, i) => {
		const kinds = new Float64Array(KINDS);
		for (let s = i * bars.by; s < Math.min(slices.n, (i + 1) * bars.by); s++)
			for (let k = 0; k < KINDS; k++)
				kinds[k] += kindsAt[s * KINDS + k];
		return kinds;
	});
	bars.most = Math.max(1, ...bars.sums.map(k => k.reduce((a, b) => a + b, 0)));
}

function drawBars(width) {
	for (let i = 0; i < bars.n; i++) {
		const left = i * bars.by * width / slices.n, right = Math.min(width, (i + 1) * bars.by * width / slices.n);
		const inside = slices.ranges.some(r => r && i * bars.by < r[1] && (i + 1) * bars.by > r[0]);
		let y = STRIP;
		stripPen.globalAlpha = inside || !slices.ranges[0] ? 1 : .3;
		for (const kind of KIND_ORDER) {
			const h = bars.sums[i][kind] / bars.most * (STRIP - 4);
			if (!h)
				continue;
			stripPen.fillStyle = shades[kind][0];
			stripPen.fillRect(left, y - h, right - left - (right - left > 3 ? 1 : 0), h);
			y -= h;
		}
	}
	stripPen.globalAlpha = 1;
}

function drawStrip() {
	const width = strip.clientWidth, r = ratio();
	strip.width = Math.round(width * r);
	strip.height = STRIP * r;
	stripPen.setTransform(r, 0, 0, r, 0, 0);
	layBars();
	drawBars(width);
	// Before and after in the colours of what shrank and what grew; alone as anything chosen.
	slices.ranges.forEach((range, k) => {
		if (!range)
			return;
		const left = range[0] * width / slices.n, w = (range[1] - range[0]) * width / slices.n;
		stripPen.strokeStyle = slices.ranges[1] ? [SHRANK, GREW][k] : getComputedStyle(strip).color;
		stripPen.lineWidth = 2;
		stripPen.strokeRect(left + 1, 1, Math.max(2, w - 2), STRIP - 2);
	});
	sayRanges();
}

const seconds = slice => (slice * slices.ns / 1e9).toFixed(slices.ns < 1e9 ? slices.ns < 1e8 ? 2 : 1 : 0);
const rangeText = ([a, b]) => seconds(a) + ' – ' + seconds(b) + ' s';

function sayRanges() {
	const [a, b] = slices.ranges;
	$('range').textContent = b ? rangeText(a) + ' compared with ' + rangeText(b) : a ? rangeText(a) +
		'. Drag with Shift, or press Compare, for a second range' :
		'Drag, or use arrow keys, for a range of the ' + seconds(slices.n) + ' s';
	$('unrange').hidden = !a;
	$('compare').hidden = !a || !!b;
	$('swap').hidden = !b;
	strip.setAttribute('aria-valuenow', a ? a[0] : 0);
	strip.setAttribute('aria-valuetext', a ? rangeText(a) + (b ? ' compared with ' + rangeText(b) : '') : 'all');
}

function sliceAt(x) {
	const r = strip.getBoundingClientRect();
	return Math.max(0, Math.min(slices.n - 1, Math.floor((x - r.left) / r.width * slices.n)));
}

// While the pointer is down only the strip follows it.
function dragTo(x) {
	const at = sliceAt(x), from = slices.drag.from;
	slices.ranges[slices.drag.side] = [Math.min(at, from), Math.max(at, from) + 1];
	drawStrip();
}

function initDrag() {
	on(strip, 'pointerdown', e => {
		const second = slices.ranges[0] && (e.shiftKey || slices.second);
		slices.drag = {from: sliceAt(e.clientX), side: second ? 1 : 0};
		slices.second = false;
		if (!second)
			slices.ranges = [null, null];
		strip.setPointerCapture(e.pointerId);
		dragTo(e.clientX);
		e.preventDefault();
	});
	on(strip, 'pointermove', e => {
		if (slices.drag)
			return dragTo(e.clientX);
		const at = sliceAt(e.clientX), sum = bars.sums[Math.floor(at / bars.by)];
		strip.title = rangeText([at, at + 1]) + ': ' + count(sum.reduce((a, b) => a + b, 0)) + ' samples\n' +
			waysText(ways(sum));
	});
	on(strip, 'pointerup', () => {
		if (slices.drag)
			setRanges(...slices.ranges);
		slices.drag = null;
	});
	on(strip, 'pointercancel', () => { slices.drag = null; });
	on(strip, 'keydown', e => {
		const by = {ArrowLeft: -1, ArrowRight: 1}[e.key];
		if (!by)
			return;
		// The range to compare with, once it was asked for; Swap gets at the other one again.
		const side = slices.ranges[0] && (slices.second || slices.ranges[1]) ? 1 : 0;
		const old = slices.ranges[side] || [0, 0], to = Math.max(1, Math.min(slices.n, old[1] + by));
		// Shift moves the end, else both.
		const range = e.shiftKey ? [Math.min(old[0], to - 1), to] : [Math.max(0, Math.min(to - 1, old[0] + by)), to];
		slices.second = false;
		setRanges(...(side ? [slices.ranges[0], range] : [range, null]));
		e.preventDefault();
		e.stopPropagation();
	});
}

function initStrip() {
	const box = element('div'), line = element('div');
	const button = (id, text, title, fn) => {
		const b = element('button', '', text);
		b.id = id;
		b.title = title;
		on(b, 'click', fn);
		line.append(b);
	};
	box.id = 'time';
	line.id = 'timeline';
	const range = element('span');
	range.id = 'range';
	range.setAttribute('role', 'status');
	line.append(range);
	button('compare', 'Compare…', 'Then drag a second range, or move it by arrow keys', () => {
		slices.second = true;
		strip.focus();
		range.textContent = 'Drag the range to compare with, or move it by arrow keys';
	});
	button('swap', 'Swap', 'Before and after change places', () => setRanges(slices.ranges[1], slices.ranges[0]));
	button('unrange', 'All', 'The whole recording', () => setRanges(null, null));
	strip = element('canvas');
	strip.id = 'strip';
	strip.tabIndex = 0;
	strip.setAttribute('role', 'slider');
	strip.setAttribute('aria-label', 'Time: arrow keys move the range, with Shift its end');
	strip.setAttribute('aria-valuemin', 0);
	strip.setAttribute('aria-valuemax', slices.n);
	stripPen = strip.getContext('2d');
	Object.assign(strip.style, {display: 'block', width: '100%', height: STRIP + 'px', background: 'var(--panel)',
		cursor: 'crosshair', touchAction: 'none'});
	Object.assign(line.style, {display: 'flex', gap: '6px', alignItems: 'center', minHeight: '30px', fontSize: '12px'});
	box.style.padding = '6px 14px 0';
	box.append(strip, line);
	$('legend').before(box);
	sumKinds();
	initDrag();
	new ResizeObserver(drawStrip).observe(strip);
}

const initChoosersPlain = initChoosers, initHelpPlain = initHelp, filterActivePlain = filterActive,
	resetFiltersPlain = resetFilters, stateTextPlain = stateText, loadStatePlain = loadState, makeShadesPlain = makeShades;

initChoosers = () => {
	initChoosersPlain();
	initModes();
	initStrip();
};

initHelp = () => {
	KEYS.push(['B', 'width: both, before, after']);
	initHelpPlain();
	$('keys').before(element('p', '', 'The strip shows the course of the recording. Drag for a range of it; drag with ' +
		'Shift for a second one to compare the first with. ' + COMPARE_HELP));
};

filterActive = () => filterActivePlain() || !!slices.ranges[0] && !sides.on;

resetFilters = () => {
	slices.ranges = [null, null];
	takeRanges();
	resetFiltersPlain();
	drawStrip();
};

makeShades = () => {
	makeShadesPlain();
	if (strip)
		drawStrip();
};

stateText = () => {
	const p = new URLSearchParams(stateTextPlain());
	slices.ranges.forEach((r, k) => r && p.set('r' + k, r.join('-')));
	if (sides.on && sides.mode !== 'both')
		p.set('s', sides.mode);
	return p.toString();
};

function parseRange(text) {
	const m = /^(\d+)-(\d+)$/.exec(text || '');
	return m && +m[1] < +m[2] && +m[2] <= slices.n ? [+m[1], +m[2]] : null;
}

loadState = () => {
	const p = new URLSearchParams(location.hash.slice(1)), a = parseRange(p.get('r0'));
	sides.mode = modeOf(p.get('s'));
	slices.ranges = [a, a && parseRange(p.get('r1'))];
	takeRanges();
	loadStatePlain();
	drawStrip();
};
