// Header, legend, choosers, tooltip, menu: what stands around the canvas. Text from the recording
// only ever becomes textContent.
function programName() {
	const words = meta.command.split(' ');
	for (let i = 1; i < words.length; i++) {
		if (words[i] === '-jar' && words[i + 1])
			return words[i + 1].replace(/.*\//, '');
		if (/^(-cp|-classpath|--class-path|-p|--module-path|--add-\w+|--patch-module|--limit-modules)$/.test(words[i]))
			i++;
		else if (words[i] === '-m' || words[i] === '--module')
			return words[i + 1] || '';
		else if (words[i] && words[i][0] !== '-' && words[i][0] !== '@')
			return words[i];
	}
	return (words[0] || '').replace(/.*\//, '');
}

function eventText() {
	const every = isTime ? time(meta.period) : count(meta.period) + ' ' + meta.event;
	const what = {cpu: 'CPU time', wall: 'wall-clock time'}[meta.event] || meta.event;
	return meta.period ? what + ', every ' + every : what;
}

function initHeader() {
	const name = meta.command ? programName() : '', title = clip(name.replace(/^.*\.(?=[A-Z])/, '') || 'Profile', 120);
	$('title').textContent = title;
	$('title').title = clip(name, 1000);
	document.title = title + ' – ' + (meta.event === 'cpu' ? 'CPU profile' : meta.event + ' profile');
	$('command').textContent = meta.command;
	$('command').title = 'Command line of the target (click: whole)';
	on($('command'), 'click', () => $('command').classList.toggle('open'));
	on($('command'), 'keydown', e => {
		if (e.key !== 'Enter')
			return;
		$('command').click();
		e.stopPropagation();
	});
	const facts = [['Samples', count(meta.samples)], [isTime ? 'Time sampled' : 'Events', amount(meta.samples)],
		['Lost', count(meta.lost), meta.lost > meta.samples / 100, 'Samples that were taken but not kept'],
		['Complete stacks', meta.samples ? (Math.floor(1e4 * meta.complete / meta.samples) / 100).toFixed(2) + ' %' : '–',
			meta.complete < meta.samples * .98, 'Stacks that reach the thread\'s first frame. Incomplete ' +
			count(meta.incomplete) + ', resynchronised ' + count(meta.resynchronised) + ', frozen ' + count(meta.frozen)],
		['Event', eventText(), false, 'Unit: ' + meta.unit]];
	if (meta.jdk)
		facts.push(['JDK', clip(meta.jdk, 60), false, clip(meta.jdk, 1000)]);
	const at = meta.start ? new Date(meta.start) : null;
	const two = n => String(n).padStart(2, '0');
	facts.push(['Recorded', (at ? at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' ' +
		two(at.getHours()) + ':' + two(at.getMinutes()) + ', ' : '') + time(meta.duration), false,
	'jsampler ' + meta.version + (meta.jsampler ? ': ' + clip(meta.jsampler, 1000) : '')]);
	for (const [label, value, warn, hint] of facts) {
		const fact = element('div', warn ? 'warn' : '');
		fact.append(element('dt', '', label), element('dd', '', value));
		fact.title = hint || '';
		$('facts').append(fact);
	}
}

const KIND_ORDER = [KIND.c2, KIND.inlined, KIND.c1, KIND.interpreted, KIND.jni, KIND.stub, KIND.native, KIND.kernel,
	KIND.unknown, KIND.mark];
const KIND_HINTS = ['no name is known', 'the Linux kernel', 'C and C++: the JVM itself, libraries',
	'byte code that is not compiled', 'compiled by C1, the quick compiler', 'compiled by C2, the optimizing compiler',
	'part of the code of its compiled caller', 'from Java to a native method', 'code that the JVM generates for itself',
	'stacks that could not be followed to their end'];

function swatch(kind) {
	const s = element('span', 'swatch', MARKS[kind]);
	s.style.background = kind === KIND.kernel || kind === KIND.mark ? 'repeating-linear-gradient(135deg,' + shades[kind][0] +
		' 0 4px,' + mix(shades[kind][0], '#000000', .14) + ' 4px 5px)' : shades[kind][0];
	return s;
}

function updateLegend() {
	const kinds = view.main.leafKinds, all = kinds.reduce((a, b) => a + b, 0);
	const focus = document.activeElement && document.activeElement.dataset.kind;
	$('legend').replaceChildren(...KIND_ORDER.filter(k => kinds[k] || filter.kindsOff.has(k)).map(k => {
		const b = element('button');
		b.dataset.kind = k;
		b.setAttribute('aria-pressed', !filter.kindsOff.has(k));
		b.title = data.kinds[k] + ': ' + KIND_HINTS[k] + '.\nClick: leave this time out. Shift-click: only this.';
		b.append(swatch(k), data.kinds[k], element('span', '', percent(kinds[k], all) + ' ' + amount(kinds[k])));
		return b;
	}));
	if (focus)
		for (const b of $('legend').children)
			if (b.dataset.kind === focus)
				b.focus();
}

function toggleKind(kind, only) {
	const others = KIND_ORDER.filter(k => k !== kind), off = filter.kindsOff;
	if (only && !off.has(kind) && others.every(k => off.has(k)))
		off.clear();
	else if (only)
		filter.kindsOff = new Set(others);
	else if (!off.delete(kind))
		off.add(kind);
	rebuild();
}

// One chooser for each thing that samples differ in.
function initChoosers() {
	const value = new Map();
	for (let i = 0; i < rows.n; i++)
		value.set(rows.label[i], (value.get(rows.label[i]) || 0) + rows.value[i]);
	const add = (key, all, keyOf, textOf) => {
		const sums = new Map(), texts = new Map();
		data.labels.forEach((l, i) => {
			const k = keyOf(l);
			sums.set(k, (sums.get(k) || 0) + (value.get(i) || 0));
			texts.set(k, textOf(l));
		});
		const keys = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
		if (!keys.some(k => texts.get(k) !== '') || keys.length < 2)
			return;
		const select = element('select');
		select.id = key;
		select.title = all;
		select.setAttribute('aria-label', all);
		select.append(new Option(all + ' (' + keys.length + ')', ''));
		for (const k of keys)
			select.append(new Option(clip(texts.get(k), 80) + ' – ' + percent(sums.get(k), meta.samples), '=' + k));
		on(select, 'change', () => {
			filter[key] = select.value ? select.value.slice(1) : null;
			rebuild();
		});
		$('choosers').append(select);
	};
	add('process', 'All processes', l => String(l[0]), l => l[0] ? 'PID ' + l[0] : '');
	add('thread', 'All threads', l => l[1] + ' ' + l[2], l => l[1] || l[2] ? (l[2] || 'thread') + ' [' + l[1] + ']' : '');
	add('state', 'All states', l => l[3], l => l[3]);
	let roots = false;
	for (let i = 0; i < rows.n && !roots; i++)
		roots = rows.shared[i] === 0 && isRoot(variantKind[rows.frames[rows.start[i]]]);
	if (!roots)
		return;
	const merge = element('button', '', 'Merge threads');
	merge.id = 'merge';
	merge.title = 'One graph for all threads (T)';
	on(merge, 'click', toggleMerge);
	$('choosers').append(merge);
}

function toggleMerge() {
	if (!$('merge'))
		return;
	filter.merge = !filter.merge;
	rebuild();
}

function updateControls() {
	$('orient').textContent = view.flame ? 'Flame' : 'Icicle';
	$('orient').title = view.flame ? 'Flame: roots at the bottom. Turn upside down (I)' :
		'Icicle: roots at the top. Turn upside down (I)';
	$('order').textContent = bySize ? 'By size' : 'By name';
	$('back').hidden = !(view.zoom || view.panes[1]);
	$('tablebutton').setAttribute('aria-pressed', !$('table').hidden);
	for (const key of ['process', 'thread', 'state'])
		if ($(key))
			$(key).value = filter[key] === null ? '' : '=' + filter[key];
	if ($('merge')) {
		$('merge').setAttribute('aria-pressed', filter.merge);
		$('merge').textContent = filter.merge ? 'Split threads' : 'Merge threads';
	}
}

const stackText = entry => names[entry.names[entry.names.length - 1]];

function chip(text, title, remove) {
	const c = element('span', 'chip'), x = element('button', '', '×');
	c.append(element('span', '', clip(text, 200)), x);
	c.title = clip(title, 1500);
	x.setAttribute('aria-label', 'Remove ' + clip(text, 200));
	on(x, 'click', remove);
	return c;
}

function updateChips() {
	const chips = [];
	if (view.panes[1])
		chips.push(chip((view.flame ? 'Callees above, callers below: ' : 'Callers above, callees below: ') + names[view.method], names[view.method], closeSandwich));
	for (const e of filter.list) {
		const what = e.names ? (e.hide ? 'Hidden: stack ' : 'Only: stack ') + '… ' + stackText(e) :
			(e.hide ? 'Hidden: ' : 'Only with: ') + names[e.name];
		const title = e.names ? e.names.map(n => names[n].slice(0, 200)).join('\n') : names[e.name];
		chips.push(chip(what, title, () => {
			filter.list = filter.list.filter(other => other !== e);
			rebuild();
		}));
	}
	if (filterActive()) {
		const all = element('button', '', 'Show everything');
		on(all, 'click', resetFilters);
		chips.push(element('span', '', 'Shown: ' + percent(total(), meta.samples) + ' of the recording'), all);
	}
	$('chips').hidden = !chips.length;
	$('chips').replaceChildren(...chips);
	$('empty').hidden = total() > 0;
	$('empty').textContent = !meta.samples ? 'No samples: the target used no ' +
		(meta.event === 'cpu' ? 'CPU time' : meta.event) + ' while it was recorded.' :
		'Nothing is left: everything is filtered out.';
}

function resetFilters() {
	Object.assign(filter, {thread: null, state: null, process: null, kindsOff: new Set(), list: []});
	rebuild();
}

// Tooltip. what: name, total, self, columns, at (first column), zoomed (width that is shown).
function tipContent(what) {
	const all = total(), out = [element('h3', '', clip(names[what.name], 1200))];
	const grid = element('table');
	const line = (label, n) => {
		const row = element('tr');
		for (const text of [label, percent(n, all), error(n, all), amount(n), count(n) + (n === 1 ? ' sample' : ' samples')])
			row.append(element('td', '', text));
		grid.append(row);
	};
	line('Total', what.total);
	if (!what.caller)
		line('Self', what.self);
	out.push(grid);
	if (what.zoomed && what.zoomed < all && what.total < what.zoomed)
		out.push(element('p', '', percent(what.total, what.zoomed) + ' of what is zoomed to'));
	const list = what.columns ? ways(what.columns, what.at).filter(w => !isRoot(w[0])) : [];
	if (!list.length)
		return out;
	const bar = element('div', 'split'), legend = element('div', 'ways');
	for (const [kind, share] of list) {
		const part = element('span'), item = element('span');
		part.style.width = share * 100 + '%';
		part.style.background = shades[kind][0];
		bar.append(part);
		item.append(swatch(kind), data.kinds[kind] + (list.length > 1 ? ' ' + percent(share, 1) : ''));
		legend.append(item);
	}
	if (list.length > 1)
		out.push(bar);
	else
		legend.style.marginTop = '7px';
	out.push(legend);
	const exact = [0, 1, 2, 3].map(e => what.columns[what.at + KINDS + e]), compiled = exact.reduce((a, b) => a + b, 0);
	const sure = [0, 0];
	exact.forEach((n, e) => sure[isLikely(e)] += n);
	if (compiled)
		out.push(element('p', '', 'Name in compiled code: ' + sure.map((n, i) => [n, i]).filter(x => x[0])
			.map(([n, i]) => SURE_NAMES[i] + ' ' + percent(n, compiled)).join(', ')));
	return out;
}

function showTip(x, y, what) {
	const tip = $('tip');
	tip.replaceChildren(...tipContent(what));
	tip.hidden = false;
	const w = tip.offsetWidth, h = tip.offsetHeight;
	const left = x + 16 + w > innerWidth ? Math.max(4, x - w - 12) : x + 16;
	const top = y + 18 + h > innerHeight ? Math.max(4, y - h - 12) : y + 18;
	tip.style.transform = 'translate(' + left + 'px,' + top + 'px)';
}

const hideTip = () => { $('tip').hidden = true; };

function describe(at) {
	const tree = view.panes[at.pane], node = at.node;
	const root = node === 0 && tree.name[0] === ROOT_NAME;
	const z = view.zoom && view.zoom.pane === at.pane ? tree.total[view.zoom.node] : 0;
	return {name: tree.name[node], total: tree.total[node], self: tree.self[node], columns: root ? null : tree.columns,
		at: node * COLUMNS, zoomed: z, caller: at.pane > 0};
}

// A place on a frame: [x, y] in the window.
function placeOf(at) {
	const r = canvas.getBoundingClientRect(), box = nodeBox(at.pane, at.node), counts = rowCounts();
	return [r.left + Math.min(box.left + 20, view.width - 60),
		r.top + rowTop(rowOf(at.pane, view.panes[at.pane].level[at.node], counts)) + 4];
}

function showFrameTip(at, x, y) {
	showTip(...(x === undefined ? placeOf(at) : [x, y]), describe(at));
}

const openFrameMenu = (at, x, y) => openMenu(x, y, at, view.panes[at.pane].name[at.node]);

// Menu of a frame (at) or of a method.
function openMenu(x, y, at, name) {
	const menu = $('menu'), root = at && at.pane === 0 && at.node === 0, frame = at && !root;
	const items = [
		at && ['Zoom in', 'click', () => setZoom(at)],
		name !== ROOT_NAME && ['Callers and callees', 'C', () => openSandwich(name)],
		frame && !view.panes[1] && ['Only this stack', 'S', () => filterStack(at, false)],
		frame && !view.panes[1] && ['Hide this stack', 'H', () => filterStack(at, true)],
		name !== ROOT_NAME && ['Only stacks with this method', '', () => filterMethod(name, false)],
		name !== ROOT_NAME && ['Hide stacks with this method', 'X', () => filterMethod(name, true)],
		name !== ROOT_NAME && ['Search for it', '', () => searchFor('^' + names[name].slice(0, 900)
			.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&') + (names[name].length > 900 ? '' : '$'))],
		name !== ROOT_NAME && ['Copy its name', '', () => copyText(names[name], 'Copied the name')],
		at && !view.panes[1] && ['Copy stacks through it', '', () => copyFolded(at)],
	].filter(Boolean);
	menu.replaceChildren(...items.map(([text, key, action]) => {
		const b = element('button', '', text);
		b.setAttribute('role', 'menuitem');
		if (key)
			b.append(element('kbd', '', key));
		on(b, 'click', () => {
			closeMenu();
			action();
		});
		return b;
	}));
	hideTip();
	menu.hidden = false;
	menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 6)) + 'px';
	menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 6)) + 'px';
	menu.firstChild.focus();
}

function closeMenu() {
	if (!$('menu').hidden) {
		$('menu').hidden = true;
		scroller.focus({preventScroll: true});
	}
}

let toastTimer = 0;

function toast(text) {
	$('toast').textContent = text;
	$('toast').hidden = false;
	clearTimeout(toastTimer);
	toastTimer = setTimeout(() => { $('toast').hidden = true; }, 2500);
}

async function copyText(text, done) {
	try {
		await navigator.clipboard.writeText(text);
	} catch (e) {
		// Without a secure context: as people did it before.
		const area = element('textarea');
		area.value = text;
		document.body.append(area);
		area.select();
		const ok = document.execCommand('copy');
		area.remove();
		if (!ok)
			return toast('The browser did not let the page copy');
	}
	toast(done);
}

function save(text, type, name) {
	const a = element('a'), url = URL.createObjectURL(new Blob([text], {type}));
	a.href = url;
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const KEYS = [['click, Enter', 'zoom in'], ['Esc', 'back'], ['/', 'search'], ['N, Shift+N', 'next, previous match'],
	['I', 'flame or icicle'], ['O', 'order by size or name'], ['C', 'callers and callees'], ['S', 'only this stack'],
	['H', 'hide this stack'], ['X', 'hide stacks with this method'], ['arrows', 'move from frame to frame'],
	['T', 'merge threads'], ['M', 'table of methods'], ['0', 'everything again'], ['D', 'light or dark'],
	['right click, menu key', 'more']];

function initHelp() {
	for (const [key, text] of KEYS)
		$('keys').append(element('kbd', '', key), element('span', '', text));
}
