// Two sides of samples in one graph: how the shares of methods changed from one to the other. Shares are
// compared, so neither length nor rate matters. Stands between ui.js and main.js. While two sides are
// compared, functions of the files before it have others in their place. Who compares (diff.js,
// slices.js) fills `sides` and calls compareSides().
const SIDES = ['before', 'after'];
// counts: samples of each row, on each side; samples: their sums.
const sides = {on: false, counts: [], samples: [0, 0], mode: 'both'};

// Widths: the mean of both shares, so that what vanished and what is new are both to be seen; or as one
// side had it.
function setSideMode(mode) {
	const [b, a] = sides.samples, all = b + a;
	const factors = {both: [b && all / b / 2, a && all / a / 2], before: [1, 0], after: [0, 1]}[mode];
	sides.mode = mode;
	meta.samples = {both: all, before: b, after: a}[mode];
	rows.value = rows.count.map((n, i) => sides.counts[0][i] * factors[0] + sides.counts[1][i] * factors[1]);
}

const sidesOf = (tree, node) => tree.sides.map(a => a[node]);

// How sure a change of a share is: its standard errors (binomial counts).
function change(before, after) {
	const [nb, na] = sides.samples, b = nb && before / nb, a = na && after / na;
	const variance = (n, of) => (n + 1) / (of + 2) * (1 - (n + 1) / (of + 2)) / (of + 2);
	return {points: 100 * (a - b), factor: b ? a / b : Infinity,
		z: (a - b) / Math.sqrt(variance(before, nb) + variance(after, na))};
}

const SAME = '#dfe3e8', GREW = '#ec6a3c', SHRANK = '#4f8fe6';
const shade = c => view.dark ? mix(c, '#0d1117', .04) : c;

// Full colour at twice or half the share; none where chance explains the change.
function changeColour(before, after) {
	const c = change(before, after), sure = Math.abs(c.z) >= 2;
	if (!before || !after)
		return shade(mix(SAME, after ? GREW : SHRANK, sure ? 1 : .4));
	return shade(sure ? mix(SAME, c.points > 0 ? GREW : SHRANK, Math.min(1, .15 + .85 * Math.abs(Math.log2(c.factor))))
		: SAME);
}

const signed = points => (points < 0 ? '−' : '+') + Math.abs(points).toFixed(2) + ' pt';

function changeText(before, after) {
	const c = change(before, after), times = c.factor >= 10 ? '×' + c.factor.toFixed(0) :
		(c.factor < 1 ? '−' : '+') + Math.abs(100 * (c.factor - 1)).toFixed(0) + ' %';
	return signed(c.points) + (!after ? ', vanished' : !before ? ', new' : ', ' + times) +
		(Math.abs(c.z) < 2 ? ' (within chance)' : '');
}

// Methods, on the stacks of each side once a stack.
let methodSides = new Map();

const growPlain = Tree.prototype.grow, insertPlain = Tree.prototype.insert;

// sides: total before, total after, self before, self after, in samples.
const treeOfSides = {
	grow(cap) {
		this.sides = (this.sides || [0, 0, 0, 0]).map(old => {
			const a = new Float64Array(cap);
			if (old)
				a.set(old);
			return a;
		});
		growPlain.call(this, cap);
	},
	insert(n, frame, value, row, rootVariant) {
		insertPlain.call(this, n, frame, value, row, rootVariant);
		for (let side = 0; side < 2; side++) {
			const count = sides.counts[side][row];
			for (let d = 0; count && d <= n; d++)
				this.sides[side][this.nodes[d]] += count;
			this.sides[side + 2][this.nodes[n]] += count;
		}
	},
};

const changed = {
	fillOf: (tree, node) => tree.name[node] === ROOT_NAME ? shades[KIND.process][0] :
		changeColour(tree.sides[0][node], tree.sides[1][node]),

	drawFrame(tree, node, left, right, top) {
		const name = tree.name[node], width = right - left, gap = width > 3 ? 1 : 0;
		const faded = !!view.matched && !view.matched[name] || view.marked >= 0 && name !== view.marked;
		if (!tree.total[node])
			return;
		pen.globalAlpha = faded ? .28 : 1;
		pen.fillStyle = fillOf(tree, node);
		pen.fillRect(left, top, width - gap, ROW - 1);
		if (!tree.sides[0][node] || !tree.sides[1][node])
			hatch(left, top, width - gap);
		if (view.matched && !faded && width >= 2) {
			pen.strokeStyle = ink();
			pen.lineWidth = 1;
			pen.strokeRect(left + .5, top + .5, Math.max(1, width - gap - 1), ROW - 2);
		}
		const text = name === ROOT_NAME ? rootText() : fitted(name, width - 7);
		if (text) {
			pen.fillStyle = faded ? ink() : '#0b0d11';
			pen.globalAlpha = faded ? .55 : 1;
			pen.fillText(text, left + 4, top + 13, width - 6);
		}
		pen.globalAlpha = 1;
	},

	rootText: () => view.width > 60 ? {both: 'before and after', before: 'as before', after: 'as after'}[sides.mode] +
		': ' + sides.samples.map(count).join(' → ') + ' samples' : '',

	summaryText(tree, node) {
		const [b, a] = sidesOf(tree, node);
		return clip(names[tree.name[node]], 1000) + ': before ' + percent(b, sides.samples[0]) + ', after ' +
			percent(a, sides.samples[1]) + ', ' + changeText(b, a);
	},

	describe: at => ({...plain.describe(at), sides: sidesOf(view.panes[at.pane], at.node)}),

	tipContent(what) {
		const s = what.sides || (methodSides.get(what.name) || [0, 0, 0, 0]), grid = element('table');
		const line = (label, ...cells) => {
			const row = element('tr');
			for (const text of [label, ...cells])
				row.append(element('td', '', text));
			grid.append(row);
		};
		(what.caller ? ['Total'] : ['Total', 'Self']).forEach((label, i) => {
			SIDES.forEach((side, k) => {
				const n = s[2 * i + k], of = sides.samples[k];
				line(label + ' ' + side, percent(n, of), error(n, of), count(n) + (n === 1 ? ' sample' : ' samples'));
			});
		});
		const out = [element('h3', '', clip(names[what.name], 1200)), grid,
			element('p', '', 'Total: ' + changeText(s[0], s[1]))];
		if (!what.caller && (s[2] || s[3]))
			out.push(element('p', '', 'Self: ' + changeText(s[2], s[3])));
		return out;
	},

	// Sorted by how much methods changed.
	buildTable() {
		const seen = new Map(), columns = new Map();
		methodSides = new Map();
		forRows((path, depth, row, passes) => {
			if (!passes)
				return;
			const n = sides.counts.map(c => c[row]);
			for (let d = depth - 1; d >= 0; d--) {
				const v = path[d], name = variantName[v];
				if (isRoot(variantKind[v]))
					continue;
				if (!methodSides.has(name)) {
					methodSides.set(name, [0, 0, 0, 0]);
					columns.set(name, new Float64Array(COLUMNS));
				}
				const s = methodSides.get(name), first = seen.get(name) !== row;
				seen.set(name, row);
				for (let side = 0; side < 2; side++) {
					if (d === depth - 1)
						s[2 + side] += n[side];
					if (first) {
						s[side] += n[side];
						columns.get(name)[variantKind[v]] += n[side];
					}
				}
			}
		});
		return [...methodSides].map(([name, s]) => ({name, columns: columns.get(name), sides: s,
			self: Math.abs(change(s[2], s[3]).points), total: Math.abs(change(s[0], s[1]).points)}));
	},

	methodLine(m, i) {
		const line = element('div', 'method' + (m.name === view.method ? ' current' : ''));
		const name = element('span', 'name'), full = names[m.name].slice(0, 600), short = shortName(m.name);
		const by = table.sort === 'total' ? 'total' : 'self', s = m.sides;
		line.style.top = i * LINE + 'px';
		line.setAttribute('role', 'option');
		line.dataset.i = i;
		const bar = element('span', 'split'), part = element('span');
		part.style.width = '100%';
		part.style.background = by === 'total' ? changeColour(s[0], s[1]) : changeColour(s[2], s[3]);
		bar.append(part);
		bar.style.width = 'calc((100% - 12px) * ' + m[by] / table.most[by] + ')';
		name.append(short, element('i', '', full !== short ? full.slice(0, -short.length - 1) : ''), bar);
		const points = (b, a) => signed(change(b, a).points).replace(' pt', '');
		line.append(element('span', '', points(s[2], s[3])), element('span', '', points(s[0], s[1])), name);
		return line;
	},

	updateTable() {
		plain.updateTable();
		// Bars in relation to the largest change, which may be far below a point.
		table.most = {self: 1e-9, total: 1e-9};
		for (const m of table.shown)
			for (const key of ['self', 'total'])
				table.most[key] = Math.max(table.most[key], m[key]);
		drawTable();
	},

	updateLegend() {
		const swatchOf = (colour, text, hint, striped) => {
			const item = element('span'), s = element('span', 'swatch');
			s.style.background = striped ? 'repeating-linear-gradient(135deg,' + colour + ' 0 4px,' +
				mix(colour, '#000000', .14) + ' 4px 5px)' : colour;
			Object.assign(item.style, {display: 'inline-flex', gap: '4px', margin: '3px 10px 3px 4px'});
			item.title = hint;
			item.append(s, text);
			return item;
		};
		$('legend').replaceChildren(
			swatchOf(shade(SHRANK), 'vanished', 'On no stack of the side after', true),
			swatchOf(shade(SHRANK), 'half or less', 'Its share shrank'),
			swatchOf(shade(mix(SAME, SHRANK, .4)), 'less', 'Its share shrank'),
			swatchOf(shade(SAME), 'the same', 'Within two standard errors of the sampling'),
			swatchOf(shade(mix(SAME, GREW, .4)), 'more', 'Its share grew'),
			swatchOf(shade(GREW), 'twice or more', 'Its share grew'),
			swatchOf(shade(GREW), 'new', 'On no stack of the side before', true));
	},

	// As difference tools take it: a stack, its samples before, its samples after.
	foldedText(extra) {
		const lines = new Map();
		forRows((path, depth, row, passes) => {
			if (!passes)
				return;
			const text = [...path.slice(filter.merge ? rootsOf(path, depth) : 0, depth)].map(v => names[variantName[v]]).join('\0');
			if (!lines.has(text))
				lines.set(text, [0, 0]);
			sides.counts.forEach((c, side) => { lines.get(text)[side] += c[row]; });
		}, filter.list.concat(extra));
		return [...lines.keys()].sort().map(l => l.replaceAll('\0', ';') + ' ' + lines.get(l).join(' ') + '\n').join('');
	},

	svgText() {
		// Kinds have no colours here, so the picture has no legend of them.
		const kinds = view.main.leafKinds;
		view.main.leafKinds = new Float64Array(KINDS);
		const text = plain.svgText();
		view.main.leafKinds = kinds;
		return text;
	},
};

const plain = {fillOf, drawFrame, rootText, summaryText, describe, tipContent, buildTable, methodLine, updateTable,
	updateLegend, foldedText, svgText};
const treePlain = {grow: growPlain, insert: insertPlain};

// On or off; rebuild() comes next.
function compareSides(on) {
	sides.on = on;
	({fillOf, drawFrame, rootText, summaryText, describe, tipContent, buildTable, methodLine, updateTable, updateLegend,
		foldedText, svgText} = on ? changed : plain);
	Object.assign(Tree.prototype, on ? treeOfSides : treePlain);
	const [self, whole] = $('columns').children;
	self.title = on ? 'Change of its own share, in points' : 'Time in the method itself';
	whole.title = on ? 'Change of its share with what it calls, in points' : 'Time in the method and what it calls';
	$('tablehead').querySelector('strong').textContent = on ? 'Changed methods' : 'Hot methods';
	updateModes();
}

const MODES = {both: ['Both', 'Width: the mean of both shares (B)'], before: ['Before', 'Width: share before (B)'],
	after: ['After', 'Width: share after (B)']};

function updateModes() {
	for (const b of document.querySelectorAll('[data-mode]')) {
		b.hidden = !sides.on;
		b.setAttribute('aria-pressed', b.dataset.mode === sides.mode);
	}
}

function chooseSide(mode) {
	if (!sides.on)
		return;
	setSideMode(mode);
	updateModes();
	rebuild();
}

function initModes() {
	for (const [mode, [text, title]] of Object.entries(MODES)) {
		const b = element('button', '', text);
		b.dataset.mode = mode;
		b.title = title;
		on(b, 'click', () => chooseSide(mode));
		$('choosers').append(b);
	}
	updateModes();
	keys.b = () => chooseSide({both: 'before', before: 'after', after: 'both'}[sides.mode]);
}

const COMPARE_HELP = 'Colours compare shares before and after: orange grew, blue shrank, grey within chance; striped ' +
	'frames are on one side only. Widths are the mean of both shares, or those of one side.';

function modeOf(text) {
	return text === 'before' || text === 'after' ? text : 'both';
}
