// What a person does, and the state in the URL.
let zoomTrail = [];

function show() {
	resize();
	updateControls();
	redraw();
	saveState();
}

// Everything again from the rows: a filter or the order changed. The zoom stays where it is still there.
function rebuild() {
	const z = view.zoom && zoomText(view.zoom), method = view.method;
	view.zoom = view.hover = view.selected = null;
	zoomTrail = [];
	view.main = buildMain();
	view.panes = [view.main, null];
	table.all = buildTable(view.main);
	view.method = -1;
	if (method >= 0)
		setSandwich(method);
	view.zoom = z ? parseZoom(z) : null;
	search(view.search);
	updateLegend();
	updateTable();
	updateChips();
	hideTip();
	show();
	if (view.zoom)
		reveal(view.zoom);
	else
		scrollHome();
}

function setSandwich(name) {
	const s = buildSandwich(name);
	if (!s.callees.total[0])
		return;
	view.method = name;
	view.panes = [s.callees, s.callers];
}

function openSandwich(name) {
	if (name === ROOT_NAME || name === view.method)
		return;
	view.zoom = view.hover = view.selected = null;
	view.marked = -1;
	zoomTrail = [];
	setSandwich(name);
	if (narrow())
		$('table').hidden = true;
	afterMode();
}

function closeSandwich() {
	view.zoom = view.hover = view.selected = null;
	view.method = -1;
	view.panes = [view.main, null];
	zoomTrail = [];
	afterMode();
}

function afterMode() {
	search(view.search);
	updateChips();
	drawTable();
	hideTip();
	show();
	scrollHome();
}

function setZoom(at, trail = true) {
	const to = at && at.node === 0 ? null : at;
	if (trail && !same(to, view.zoom))
		zoomTrail.push(view.zoom);
	view.zoom = to;
	view.hover = null;
	hideTip();
	countMatches();
	show();
	if (!to)
		return scrollHome();
	reveal(to);
	say(summaryText(view.panes[to.pane], to.node));
}

// One step back: menu, zoom, sandwich, search, choice.
function back() {
	if (!$('menu').hidden)
		closeMenu();
	else if (view.zoom)
		setZoom(zoomTrail.length ? zoomTrail.pop() : null, false);
	else if (view.panes[1])
		closeSandwich();
	else if (view.search)
		searchFor('');
	else
		select(null);
}

function filterStack(at, hide) {
	const tree = view.panes[0], entry = {hide, names: tree.names(at.node), merged: filter.merge,
		ref: tree.row[at.node] + '.' + tree.level[at.node] + (filter.merge ? 'm' : '')};
	if (!entry.names.length || view.panes[1])
		return;
	filter.list.push(entry);
	rebuild();
}

function filterMethod(name, hide) {
	filter.list.push({hide, name, ref: 'f' + name});
	if (hide && name === view.method)
		closeSandwich();
	rebuild();
}

function parseEntry(text) {
	const m = /^([ho])(?:f(\d+)|(\d+)\.(\d+)(m?))$/.exec(text);
	if (!m || +m[2] >= ROOT_NAME || +m[3] >= rows.n)
		return null;
	const e = {hide: m[1] === 'h', ref: text.slice(1), merged: m[5] === 'm'};
	if (m[2])
		return {...e, name: +m[2]};
	e.names = rowNames(+m[3], e.merged).slice(0, +m[4]);
	return e.names.length ? e : null;
}

// A frame as pane.row.level: that row's stack leads to it.
const zoomText = at => at.pane + '.' + view.panes[at.pane].row[at.node] + '.' + view.panes[at.pane].level[at.node];

function parseZoom(text) {
	const m = /^([01])\.(\d+)\.(\d+)$/.exec(text || ''), tree = m && view.panes[m[1]];
	if (!tree || +m[2] >= rows.n)
		return null;
	let path = rowNames(+m[2], filter.merge);
	if (view.panes[1]) {
		const at = path.indexOf(view.method);
		if (at < 0)
			return null;
		path = +m[1] ? path.slice(0, at).reverse() : path.slice(at + 1);
	}
	let node = 0;
	for (let d = 0; d < +m[3] && d < path.length; d++) {
		const level = tree.levels[d + 1] || [], end = tree.x[node] + tree.total[node];
		let i = level.length ? tree.find(d + 1, tree.x[node]) : 0;
		while (i < level.length && tree.x[level[i]] < end && (tree.parent[level[i]] !== node || tree.name[level[i]] !== path[d]))
			i++;
		if (i >= level.length || tree.parent[level[i]] !== node || tree.name[level[i]] !== path[d])
			return null;
		node = level[i];
	}
	return node ? {pane: +m[1], node} : null;
}

function select(at, tip) {
	view.selected = at;
	placeSelection();
	if (!at)
		return hideTip();
	reveal(at);
	say(summaryText(view.panes[at.pane], at.node));
	if (tip)
		requestAnimationFrame(() => {
			placeSelection();
			showFrameTip(at);
		});
}

// Search.
function search(text) {
	let re = null;
	$('searchbox').classList.remove('bad');
	try {
		re = pattern(text);
	} catch (e) {
		$('searchbox').classList.add('bad');
		$('searchbox').title = e.message;
		re = null;
	}
	view.search = text || null;
	view.matched = re ? Uint8Array.from(names, (s, i) => i !== ROOT_NAME && re.test(s) ? 1 : 0) : null;
	view.hits = null;
	view.hit = -1;
	countMatches();
	redraw();
}

// Share of what is shown that has a match on its stack, each stack once; and the matching frames.
function countMatches() {
	$('previous').disabled = $('next').disabled = !view.matched;
	if (!view.matched) {
		$('matches').textContent = $('searchbox').classList.contains('bad') ? 'not a regular expression' : '';
		return;
	}
	view.hits = [];
	let sum = 0, all = 0;
	view.panes.forEach((tree, pane) => {
		if (!tree)
			return;
		const covered = new Uint8Array(tree.n), z = view.zoom && view.zoom.pane === pane ? view.zoom.node : 0;
		const from = tree.x[z], end = from + tree.total[z];
		for (let i = pane; i < tree.n; i++) {
			const hit = view.matched[tree.name[i]], above = i && covered[tree.parent[i]];
			covered[i] = hit | above;
			if (!hit)
				continue;
			view.hits.push(pane ? -i : i);
			// The part of it that is in sight.
			if (!above && !pane)
				sum += Math.max(0, Math.min(end, tree.x[i] + tree.total[i]) - Math.max(from, tree.x[i]));
		}
		if (!pane)
			all = tree.total[z];
	});
	view.sorted = false;
	showMatches(sum, all);
}

function showMatches(sum, all) {
	view.matchShare = [sum, all];
	const n = view.hits.length;
	$('matches').textContent = n ? percent(sum, all) + ' · ' + (view.hit >= 0 ? count(view.hit + 1) + ' of ' : '') +
		count(n) : 'no match';
}

// Callers are negative.
const hitPlace = i => i < 0 ? {pane: 1, node: -i} : {pane: 0, node: i};

function nextMatch(by) {
	if (!view.matched || !view.hits.length)
		return;
	const n = view.hits.length, size = i => view.panes[i < 0 ? 1 : 0].total[Math.abs(i)];
	if (!view.sorted)
		view.hits.sort((a, b) => size(b) - size(a) || a - b);
	view.sorted = true;
	view.hit = view.hit < 0 ? by > 0 ? 0 : n - 1 : (view.hit + by + n) % n;
	const at = hitPlace(view.hits[view.hit]), tree = view.panes[at.pane], hit = view.hit;
	const z = view.zoom && view.zoom.pane === at.pane ? view.zoom.node : 0;
	// Somewhere else, or too thin to be seen: zoom to the nearest caller that shows it.
	if (!(tree.isBelow(at.node, z) || tree.isBelow(z, at.node)) || nodeBox(at.pane, at.node).width < 12) {
		let top = at.node;
		while (top > 0 && tree.total[at.node] / tree.total[tree.parent[top]] > .05)
			top = tree.parent[top];
		setZoom({pane: at.pane, node: top});
		view.hit = hit;
	}
	showMatches(...view.matchShare);
	select(at, true);
}

function searchFor(text) {
	$('search').value = text;
	search(text);
	saveState();
}

// Output.
function shownEntry(at) {
	const tree = view.panes[0];
	return {hide: false, names: tree.names(at.node), merged: filter.merge};
}

function shownFolded(at) {
	const extra = [];
	if (view.panes[1])
		extra.push({hide: false, name: view.method});
	else if (at || view.zoom)
		extra.push(shownEntry(at || view.zoom));
	return foldedText(extra.filter(e => !e.names || e.names.length));
}

function copyFolded(at) {
	const text = shownFolded(at);
	copyText(text, 'Copied ' + count(text.split('\n').length - 1) + ' folded stacks');
}

const fileName = () => 'flame-' + ($('title').textContent.replace(/[^\w.-]+/g, '_').slice(0, 60) || 'graph');

// State in the URL: what is left out of it is as a page opens.
function stateText() {
	const p = new URLSearchParams();
	if (view.search)
		p.set('q', view.search);
	if (view.panes[1])
		p.set('m', view.method);
	if (view.zoom)
		p.set('z', zoomText(view.zoom));
	if (!view.flame)
		p.set('i', 1);
	if (!bySize)
		p.set('o', 'name');
	if (filter.kindsOff.size)
		p.set('k', [...filter.kindsOff].sort((a, b) => a - b).join('.'));
	for (const key of ['thread', 'state', 'process'])
		if (filter[key] !== null)
			p.set(key, filter[key]);
	if (filter.merge)
		p.set('g', 1);
	if (filter.list.length)
		p.set('x', filter.list.map(e => (e.hide ? 'h' : 'o') + e.ref).join('-'));
	if ($('table').hidden !== narrow())
		p.set('t', +narrow());
	return p.toString();
}

let saveTimer = 0, savedText = '';

function saveState() {
	clearTimeout(saveTimer);
	saveTimer = setTimeout(() => {
		const text = stateText();
		if (text === savedText)
			return;
		savedText = text;
		try {
			history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
		} catch (e) {
			// A sandboxed frame has no history of its own.
		}
	}, 120);
}

function loadState() {
	const p = new URLSearchParams(location.hash.slice(1));
	savedText = p.toString();
	view.flame = !p.get('i');
	bySize = p.get('o') !== 'name';
	filter.kindsOff = new Set((p.get('k') || '').split('.').filter(Boolean).map(Number).filter(k => k < KINDS));
	for (const key of ['thread', 'state', 'process'])
		filter[key] = p.get(key);
	filter.merge = p.has('g');
	filter.list = (p.get('x') || '').split('-').map(parseEntry).filter(Boolean);
	$('table').hidden = $('divider').hidden = (p.get('t') || (narrow() ? '0' : '1')) === '0';
	const method = +p.get('m');
	view.method = p.has('m') && method >= 0 && method < ROOT_NAME ? method : -1;
	view.search = p.get('q');
	$('search').value = view.search || '';
	view.zoom = null;
	rebuild();
	view.zoom = parseZoom(p.get('z'));
	if (view.zoom) {
		countMatches();
		show();
		reveal(view.zoom);
	}
}

// The table would leave no room beside it: it covers the graph, when it is asked for.
const narrow = () => innerWidth <= 760;

function toggleTable() {
	$('table').hidden = $('divider').hidden = !$('table').hidden;
	show();
}

function turn() {
	view.flame = !view.flame;
	updateChips();
	show();
	if (view.zoom)
		reveal(view.zoom);
	else
		scrollHome();
}

function setTheme(dark) {
	view.dark = dark;
	document.documentElement.classList.toggle('dark', dark);
	makeShades();
}

function toggleTheme() {
	setTheme(!view.dark);
	try {
		localStorage.setItem('jsampler-theme', view.dark ? 'dark' : 'light');
	} catch (e) {
		// Kept for this page only.
	}
	updateLegend();
	drawTable();
	redraw();
}

function initTheme() {
	const system = matchMedia('(prefers-color-scheme: dark)');
	let chosen = null;
	try {
		chosen = localStorage.getItem('jsampler-theme');
	} catch (e) {
		// No storage: as the system has it.
	}
	setTheme(chosen ? chosen === 'dark' : system.matches);
	on(system, 'change', () => {
		if (!chosen && view.dark !== system.matches) {
			setTheme(system.matches);
			updateLegend();
			drawTable();
			redraw();
		}
	});
}

// Keys on the chosen frame, or on the one under the pointer.
const current = () => view.selected || view.hover;

function moveSelection(key) {
	const towardLeaf = key === 'ArrowUp' === view.flame;
	let at = view.selected || view.hover || view.zoom || {pane: 0, node: 0};
	let tree = view.panes[at.pane], level = tree.level[at.node];
	if (key === 'ArrowLeft' || key === 'ArrowRight') {
		const nodes = tree.levels[level], next = tree.find(level, tree.x[at.node]) + (key === 'ArrowLeft' ? -1 : 1);
		if (next >= 0 && next < nodes.length)
			at = {pane: at.pane, node: nodes[next]};
	} else if (at.pane === 1 ? towardLeaf : !towardLeaf) {
		if (at.node)
			at = tree.parent[at.node] || at.pane === 0 ? {pane: at.pane, node: tree.parent[at.node]} : {pane: 0, node: 0};
		else if (view.panes[1])
			at = firstBelow(1, 0) || at;
	} else {
		at = firstBelow(at.pane, at.node) || at;
	}
	select(at, true);
}

function firstBelow(pane, node) {
	const tree = view.panes[pane], level = tree.levels[tree.level[node] + 1];
	const i = level ? tree.find(tree.level[node] + 1, tree.x[node]) : 0;
	return level && i < level.length && tree.parent[level[i]] === node ? {pane, node: level[i]} : null;
}

const frameKeys = {
	Enter: at => setZoom(at),
	c: at => openSandwich(view.panes[at.pane].name[at.node]),
	s: at => filterStack(at, false),
	h: at => filterStack(at, true),
	x: at => at.node && filterMethod(view.panes[at.pane].name[at.node], true),
	ContextMenu: at => openFrameMenu(at, ...placeOf(at)),
};

const keys = {
	'/': () => $('search').select(),
	n: () => nextMatch(1),
	N: () => nextMatch(-1),
	i: turn,
	o: () => {
		bySize = !bySize;
		rebuild();
	},
	m: toggleTable,
	d: toggleTheme,
	t: toggleMerge,
	'0': () => {
		view.method = -1;
		view.zoom = null;
		resetFilters();
		searchFor('');
	},
	'?': () => $('help').showModal(),
	Escape: back,
};

function onKey(e) {
	const inText = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
	if (e.ctrlKey || e.metaKey || e.altKey || $('help').open)
		return;
	if (!$('menu').hidden && /^Arrow/.test(e.key)) {
		const items = [...$('menu').children], i = items.indexOf(document.activeElement);
		items[(i + (e.key === 'ArrowUp' ? -1 : 1) + items.length) % items.length].focus();
		e.preventDefault();
		return;
	}
	if (inText && e.key !== 'Escape')
		return;
	if (inText) {
		if (e.target.id === 'search' && !view.search || e.target.id !== 'search')
			e.target.blur();
		else
			searchFor('');
		e.preventDefault();
		return;
	}
	if (/^Arrow/.test(e.key) && e.target.tagName !== 'BUTTON')
		moveSelection(e.key);
	else if (e.key === 'Enter' && e.target.tagName === 'BUTTON')
		return;
	else if (frameKeys[e.key] && current())
		frameKeys[e.key](current());
	else if (keys[e.key])
		keys[e.key]();
	else
		return;
	e.preventDefault();
}

function initPointer() {
	const place = e => {
		const r = canvas.getBoundingClientRect();
		return hit(e.clientX - r.left, e.clientY - r.top);
	};
	on(scroller, 'pointermove', e => {
		const at = place(e);
		if (!same(at, view.hover)) {
			view.hover = at;
			placeSelection();
		}
		canvas.style.cursor = at ? 'pointer' : 'default';
		if (at && e.pointerType !== 'touch')
			showFrameTip(at, e.clientX, e.clientY);
		else
			hideTip();
	});
	on(scroller, 'pointerleave', () => {
		view.hover = null;
		placeSelection();
		hideTip();
	});
	on(scroller, 'click', e => {
		const at = place(e);
		view.selected = null;
		if (!at)
			return;
		setZoom(at);
		// A finger does not hover.
		if (e.pointerType === 'touch')
			showFrameTip(at);
	});
	on(scroller, 'contextmenu', e => {
		const at = place(e);
		if (!at)
			return;
		e.preventDefault();
		openFrameMenu(at, e.clientX, e.clientY);
	});
	on(scroller, 'scroll', () => {
		view.hover = null;
		hideTip();
		redraw();
	});
	// The menu key's own event may come when our menu is there already.
	on($('menu'), 'contextmenu', e => e.preventDefault());
	on(document, 'pointerdown', e => {
		if (!$('menu').contains(e.target))
			closeMenu();
	});
}

function initDivider() {
	const divider = $('divider');
	on(divider, 'pointerdown', e => {
		divider.setPointerCapture(e.pointerId);
		e.preventDefault();
	});
	on(divider, 'pointermove', e => {
		if (divider.hasPointerCapture(e.pointerId))
			$('table').style.width = Math.max(180, Math.min(innerWidth - 200, innerWidth - e.clientX)) + 'px';
	});
}

function initButtons() {
	on($('back'), 'click', back);
	on($('orient'), 'click', turn);
	on($('order'), 'click', keys.o);
	on($('tablebutton'), 'click', toggleTable);
	on($('copy'), 'click', () => copyFolded());
	on($('svg'), 'click', () => save(svgText(), 'image/svg+xml', fileName() + '.svg'));
	on($('theme'), 'click', toggleTheme);
	on($('helpbutton'), 'click', keys['?']);
	on($('previous'), 'click', () => nextMatch(-1));
	on($('next'), 'click', () => nextMatch(1));
	on($('legend'), 'click', e => {
		const b = e.target.closest('button');
		if (b)
			toggleKind(+b.dataset.kind, e.shiftKey);
	});
	on($('search'), 'input', () => searchFor($('search').value));
	on($('search'), 'keydown', e => {
		if (e.key === 'Enter')
			nextMatch(e.shiftKey ? -1 : 1);
	});
}

function main() {
	pen.font = FONT;
	initTheme();
	initHeader();
	initChoosers();
	initHelp();
	initTable();
	initPointer();
	initDivider();
	initButtons();
	on(document, 'keydown', onKey);
	loadState();
	on(window, 'hashchange', loadState);
	new ResizeObserver(() => {
		const bottom = scroller.scrollHeight - scroller.scrollTop - view.height;
		resize();
		if (view.flame)
			scroller.scrollTop = scroller.scrollHeight - bottom - view.height;
		redraw();
	}).observe(scroller);
}

main();
