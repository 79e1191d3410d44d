// The canvas: rows of frames, drawn only where they are to be seen.
const ROW = 19, FONT = '12px system-ui, sans-serif';
const $ = id => document.getElementById(id);
const canvas = $('canvas'), scroller = $('scroller'), spacer = $('spacer'), pen = canvas.getContext('2d');

// By kind. Neighbours stay apart in lightness, too, for eyes that tell few hues apart: the smallest
// OKLab distance, deuteranopia, protanopia and tritanopia simulated, is 8.
const COLOURS = ['#808693', '#d67523', '#b898d0', '#f8ca51', '#4684e4', '#33b67e', '#92ccb0', '#d6c5fc', '#f5e5d3',
	'#d5d9df', '#dde2e8', '#dde2e8', '#dde2e8'];
const MARKS = ['?', 'k', 'n', '0', '1', 'j', 'i', 'J', 's', '!', '', '', ''];
// By exactness: the first two are right in 99 of 100 samples and more (docs/measurements.md).
const SURE_NAMES = ['sure', 'likely'], isLikely = exactness => exactness >> 1;

// panes: [callees or all stacks, callers or nothing]; the first one's root is drawn.
const view = {panes: [], method: -1, zoom: null, flame: true, selected: null, hover: null, marked: -1,
	search: null, matched: null, width: 0, height: 0, dark: false};

const ratio = () => window.devicePixelRatio || 1;
const ink = () => view.dark ? '#e6edf3' : '#0b0d11';
// Samples that pass the filters.
const total = () => view.main.total[0];

function mix(hex, other, share) {
	let out = '#';
	for (let i = 1; i < 7; i += 2) {
		const a = parseInt(hex.slice(i, i + 2), 16), b = parseInt(other.slice(i, i + 2), 16);
		out += Math.round(a + (b - a) * share).toString(16).padStart(2, '0');
	}
	return out;
}

// Three shades of each kind, chosen by the name: neighbours of one kind can be told apart, and a
// method has its colour in every page.
let shades = [];

function makeShades() {
	shades = COLOURS.map(c => {
		const base = view.dark ? mix(c, '#0d1117', .04) : c;
		return [base, mix(base, '#ffffff', .09), mix(base, '#000000', .05)];
	});
}

const nameHash = new Uint8Array(names.length);
names.forEach((s, i) => {
	let h = 0;
	for (let k = 0; k < s.length && k < 400; k++)
		h = Math.imul(h, 31) + s.charCodeAt(k) | 0;
	nameHash[i] = (h ^ h >>> 15 ^ h >>> 7) & 255;
});

const colourOf = (kind, name) => shades[kind][nameHash[name] % 3];

// Without the package: java/util/HashMap.put is HashMap.put where room is short.
const shortNames = new Array(names.length);

function shortName(name) {
	let s = shortNames[name];
	if (s === undefined) {
		s = names[name].slice(0, 600);
		if (s[0] !== '[' && /^[^ (<:]*\/[^ ]*\./.test(s))
			s = s.slice(s.lastIndexOf('/') + 1) || s;
		shortNames[name] = s;
	}
	return s;
}

const widths = new Map();

function textWidth(s) {
	let w = widths.get(s);
	if (w === undefined) {
		if (widths.size > 50000)
			widths.clear();
		widths.set(s, w = pen.measureText(s).width);
	}
	return w;
}

// The name, the short name, or its beginning, whatever fits; '' when nothing does.
function fitted(name, width) {
	if (width < 16)
		return '';
	if (names[name].length * 4 < width && textWidth(names[name]) <= width)
		return names[name];
	const s = shortName(name), w = textWidth(s);
	if (w <= width)
		return s;
	// Measuring again would cost more than a guess; fillText() squeezes what is guessed too long.
	const n = Math.floor(s.length * (width - 7) / w);
	return n > 1 ? s.slice(0, n) + '…' : '';
}

// Rows that there are: of callers (above the method) and of callees, the root's included.
function rowCounts() {
	const [base, callers] = view.panes, z = view.zoom;
	const rowsOf = (tree, pane) => z && z.pane === pane ? tree.level[z.node] + tree.height[z.node] : tree.height[0];
	return {callers: callers ? rowsOf(callers, 1) : 0, base: rowsOf(base, 0) + 1};
}

function contentHeight() {
	const c = rowCounts();
	return (c.callers + c.base) * ROW + 6;
}

// Top of row g, counted from the root's side; g = callers' rows is the first pane's root.
function rowTop(g) {
	if (!view.flame)
		return 3 + g * ROW - scroller.scrollTop;
	const room = Math.max(contentHeight(), view.height);
	return room - 3 - (g + 1) * ROW - scroller.scrollTop;
}

function rowAt(y) {
	if (!view.flame)
		return Math.floor((y + scroller.scrollTop - 3) / ROW);
	const room = Math.max(contentHeight(), view.height);
	return Math.floor((room - 3 - y - scroller.scrollTop) / ROW);
}

// What is in row g: a pane and a level of its tree.
function rowPlace(g, counts) {
	if (g < 0 || g >= counts.callers + counts.base)
		return null;
	return g >= counts.callers ? {pane: 0, level: g - counts.callers} : {pane: 1, level: counts.callers - g};
}

const rowOf = (pane, level, counts) => pane ? counts.callers - level : counts.callers + level;

// The part of the tree's width that is shown: [from, width].
function shownRange(pane) {
	const tree = view.panes[pane], z = view.zoom;
	return z && z.pane === pane ? [tree.x[z.node], tree.total[z.node]] : [0, tree.total[0]];
}

function nodeBox(pane, node) {
	const tree = view.panes[pane], [from, width] = shownRange(pane), scale = view.width / width;
	const left = Math.max(0, (tree.x[node] - from) * scale);
	const right = Math.min(view.width, (tree.x[node] + tree.total[node] - from) * scale);
	return {left, width: right - left};
}

function resize() {
	view.width = scroller.clientWidth;
	view.height = scroller.clientHeight;
	canvas.width = Math.round(view.width * ratio());
	canvas.height = Math.round(view.height * ratio());
	canvas.style.width = view.width + 'px';
	canvas.style.height = view.height + 'px';
	spacer.style.height = Math.max(contentHeight(), view.height) - view.height + 'px';
}

let drawing = 0;

function redraw() {
	if (!drawing)
		drawing = requestAnimationFrame(() => {
			drawing = 0;
			draw();
		});
}

// Thin frames that follow each other in one colour are one rectangle.
const run = {left: 0, right: 0, top: 0, kind: -1, faded: false};

function endRun() {
	if (run.kind >= 0) {
		pen.globalAlpha = run.faded ? .28 : 1;
		pen.fillStyle = shades[run.kind][0];
		pen.fillRect(run.left, run.top, run.right - run.left, ROW - 1);
	}
	run.kind = -1;
}

function fillOf(tree, node) {
	const name = tree.name[node];
	return name === ROOT_NAME ? shades[KIND.process][0] : colourOf(tree.kind(node), name);
}

function drawFrame(tree, node, left, right, top) {
	const name = tree.name[node], kind = tree.kind(node), width = right - left, gap = width > 3 ? 1 : 0;
	const root = name === ROOT_NAME;
	const faded = !!view.matched && !view.matched[name] || view.marked >= 0 && name !== view.marked;
	if (width < 2) {
		if (run.kind !== kind || run.faded !== faded || run.top !== top || left > run.right + .3) {
			endRun();
			Object.assign(run, {left, top, kind, faded});
		}
		run.right = right;
		return;
	}
	pen.globalAlpha = faded ? .28 : 1;
	pen.fillStyle = fillOf(tree, node);
	pen.fillRect(left, top, width - gap, ROW - 1);
	const at = node * COLUMNS, all = tree.total[node];
	if (!root && width > 5 && tree.columns[at + kind] < all * .98) {
		// How the rest of it ran.
		for (let k = 0, x = left; k < KINDS; k++) {
			const w = tree.columns[at + k] / all * (width - gap);
			if (!w)
				continue;
			pen.fillStyle = shades[k][0];
			pen.fillRect(x, top + ROW - 4, w, 3);
			x += w;
		}
	}
	if (kind === KIND.kernel || kind === KIND.mark)
		hatch(left, top, width - gap);
	if (view.matched && !faded) {
		pen.strokeStyle = ink();
		pen.lineWidth = 1;
		pen.strokeRect(left + .5, top + .5, Math.max(1, width - gap - 1), ROW - 2);
	}
	const text = root ? rootText() : fitted(name, width - 7);
	if (text) {
		pen.fillStyle = faded ? ink() : '#0b0d11';
		pen.globalAlpha = faded ? .55 : 1;
		pen.fillText(text, left + 4, top + 13, width - 6);
	}
	pen.globalAlpha = 1;
}

// Kernel frames are the orange ones and the hatched ones.
function hatch(left, top, width) {
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

function rootText() {
	const all = filterActive() ? 'shown: ' : 'all: ';
	return view.width > 60 ? all + amount(total()) + ' · ' + count(total()) + ' samples' +
		(filterActive() ? ' (' + percent(total(), meta.samples) + ' of all)' : '') : '';
}

// Calls fn(tree, node, left, right) for the frames of row g that are at least `least` wide.
function forRow(g, counts, full, least, fn) {
	const place = rowPlace(g, counts), tree = place && view.panes[place.pane];
	if (!place || place.level >= tree.levels.length)
		return;
	const z = view.zoom && view.zoom.pane === place.pane ? view.zoom.node : 0;
	if (place.level < tree.level[z])
		return fn(tree, tree.ancestor(z, place.level), 0, full);
	const [from, width] = shownRange(place.pane), scale = full / width, nodes = tree.levels[place.level];
	const end = from + width * (1 - 1e-12);
	let drawn = -1;
	for (let i = tree.find(place.level, from + width * 1e-12); i < nodes.length && tree.x[nodes[i]] < end; i++) {
		const node = nodes[i], left = (tree.x[node] - from) * scale, right = left + tree.total[node] * scale;
		// Of what is thinner, one a pixel.
		if (right - left >= least)
			fn(tree, node, left, Math.max(right, left + .7));
		else if (Math.floor(left) > drawn)
			fn(tree, node, drawn = Math.floor(left), drawn + 1);
	}
}

function draw() {
	const counts = rowCounts(), r = ratio();
	pen.setTransform(r, 0, 0, r, 0, 0);
	pen.clearRect(0, 0, view.width, view.height);
	pen.font = FONT;
	if (!view.panes[0].total[0])
		return;
	const a = rowAt(0), b = rowAt(view.height);
	for (let g = Math.max(0, Math.min(a, b)); g <= Math.max(a, b); g++)
		forRow(g, counts, view.width, .5, (tree, node, left, right) =>
			drawFrame(tree, node, left, right, rowTop(g)));
	endRun();
	if (view.panes[1]) {
		// A line on both sides of the method that callers and callees are of.
		const top = rowTop(counts.callers);
		pen.strokeStyle = ink();
		pen.lineWidth = 2;
		pen.strokeRect(1, top, view.width - 2, ROW - 1);
	}
	placeSelection();
}

function hit(x, y) {
	const counts = rowCounts(), place = rowPlace(rowAt(y), counts);
	if (!place || !view.panes[0].total[0])
		return null;
	const tree = view.panes[place.pane], z = view.zoom && view.zoom.pane === place.pane ? view.zoom.node : 0;
	if (place.level < tree.level[z])
		return {pane: place.pane, node: tree.ancestor(z, place.level)};
	if (place.level >= tree.levels.length)
		return null;
	const [from, width] = shownRange(place.pane), at = from + x / view.width * width;
	const nodes = tree.levels[place.level], node = nodes[tree.find(place.level, at)];
	return node !== undefined && tree.x[node] <= at ? {pane: place.pane, node} : null;
}

// For those who hear the page.
const say = text => { $('say').textContent = text; };

const same = (a, b) => a === b || a && b && a.pane === b.pane && a.node === b.node;

// Outlines of the frame under the pointer and of the chosen one are elements: no drawing needed.
function placeOutline(element, at) {
	const counts = rowCounts();
	let box = null, top = 0;
	if (at) {
		box = nodeBox(at.pane, at.node);
		top = rowTop(rowOf(at.pane, view.panes[at.pane].level[at.node], counts));
	}
	element.hidden = !box || box.width <= 0 || top < -ROW || top > view.height;
	if (element.hidden)
		return;
	element.style.transform = 'translate(' + box.left + 'px,' + top + 'px)';
	element.style.width = Math.max(2, box.width) + 'px';
}

function placeSelection() {
	placeOutline($('hover'), view.hover);
	placeOutline($('selected'), view.selected);
}

// Scrolls so that the frame is to be seen.
function reveal(at) {
	const counts = rowCounts(), top = rowTop(rowOf(at.pane, view.panes[at.pane].level[at.node], counts));
	const room = Math.min(3 * ROW, view.height / 4);
	if (top < room)
		scroller.scrollTop += top - room;
	else if (top > view.height - room - ROW)
		scroller.scrollTop += top - view.height + room + ROW;
}

// To the root's end.
function scrollHome() {
	const counts = rowCounts();
	if (view.panes[1]) {
		scroller.scrollTop = 0;
		scroller.scrollTop = rowTop(counts.callers) - view.height / 2;
	} else {
		scroller.scrollTop = view.flame ? scroller.scrollHeight : 0;
	}
}

// SVG of what is shown, all rows.
function svgText() {
	const counts = rowCounts(), all = counts.callers + counts.base, width = 1200, out = [];
	const escape = s => s.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]/gu, c => c.codePointAt(0) > 0xffff ? c : '?')
		.replace(/[&<>"]/g, c => '&#' + c.charCodeAt(0) + ';');
	out.push('<svg xmlns="http://www.w3.org/2000/svg" width="' + width + '" height="' + (all * ROW + 30) +
		'" font-family="system-ui, sans-serif" font-size="12"><rect width="100%" height="100%" fill="' +
		(view.dark ? '#0d1117' : '#ffffff') + '"/><text x="4" y="17" font-weight="bold" fill="' +
		ink() + '">' + escape(document.title.slice(0, 200)) + '</text>');
	KIND_ORDER.filter(k => view.main.leafKinds[k]).forEach((k, i) => out.push('<rect x="' + (300 + i * 100) +
		'" y="7" width="12" height="12" fill="' + shades[k][0] + '"/><text x="' + (316 + i * 100) + '" y="17" fill="' +
		ink() + '">' + data.kinds[k] + '</text>'));
	const frame = (tree, node, left, w, y) => {
		const name = tree.name[node], root = name === ROOT_NAME;
		const text = root ? rootText() : fitted(name, w - 7);
		out.push('<g><title>' + escape(summaryText(tree, node)) + '</title><rect x="' + left.toFixed(2) + '" y="' + y +
			'" width="' + Math.max(.3, w - (w > 3 ? 1 : 0)).toFixed(2) + '" height="' + (ROW - 1) + '" fill="' +
			fillOf(tree, node) + '"/>' +
			(text ? '<text x="' + (left + 4).toFixed(2) + '" y="' + (y + 13) + '">' + escape(text) + '</text>' : '') +
			'</g>');
	};
	for (let g = 0; g < all; g++)
		forRow(g, counts, width, .3, (tree, node, left, right) =>
			frame(tree, node, left, right - left, 26 + (view.flame ? all - 1 - g : g) * ROW));
	out.push('</svg>\n');
	return out.join('\n');
}
