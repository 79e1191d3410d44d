// Hot methods beside the graph; only the lines in sight are elements.
const LINE = 25;
const table = {all: [], shown: [], sort: 'self', down: true, filter: '', current: -1};
const list = $('list');

// A regular expression; without capital letters it looks at neither case. null: nothing to look for.
function pattern(text) {
	return text ? new RegExp(text, /[A-Z]/.test(text.replace(/\\./g, '')) ? '' : 'i') : null;
}

function compareMethods(a, b) {
	const d = table.sort === 'name' ? (shortName(a.name) < shortName(b.name) ? -1 : 1) :
		a[table.sort] - b[table.sort] || a.total - b.total || b.name - a.name;
	return table.down ? -d : d;
}

function updateTable() {
	let re = null;
	try {
		re = pattern(table.filter);
		$('tablefilter').removeAttribute('aria-invalid');
	} catch (e) {
		$('tablefilter').setAttribute('aria-invalid', 'true');
	}
	table.shown = table.all.filter(m => !re || re.test(names[m.name])).sort(compareMethods);
	$('tablecount').textContent = count(table.shown.length);
	$('listspace').style.height = table.shown.length * LINE + 'px';
	for (const b of $('columns').children) {
		const on = b.dataset.sort === table.sort;
		b.textContent = b.textContent.replace(/ [▾▴]$/, '') + (on ? table.down ? ' ▾' : ' ▴' : '');
		if (on)
			b.setAttribute('aria-sort', table.down ? 'descending' : 'ascending');
		else
			b.removeAttribute('aria-sort');
	}
	table.most = {self: 1, total: 1};
	for (const m of table.shown) {
		table.most.self = Math.max(table.most.self, m.self);
		table.most.total = Math.max(table.most.total, m.total);
	}
	drawTable();
}

function splitBar(columns) {
	const bar = element('span', 'split');
	for (const [kind, share] of ways(columns)) {
		const part = element('span');
		part.style.width = share * 100 + '%';
		part.style.background = shades[kind][0];
		bar.append(part);
	}
	return bar;
}

function methodLine(m, i) {
	const line = element('div', 'method' + (m.name === view.method ? ' current' : ''));
	const name = element('span', 'name'), full = names[m.name].slice(0, 600), short = shortName(m.name);
	const by = table.sort === 'total' ? 'total' : 'self';
	line.style.top = i * LINE + 'px';
	line.setAttribute('role', 'option');
	line.dataset.i = i;
	const bar = splitBar(m.columns);
	bar.style.width = 'calc((100% - 12px) * ' + m[by] / table.most[by] + ')';
	name.append(short, element('i', '', full !== short ? full.slice(0, -short.length - 1) : ''), bar);
	line.append(element('span', '', percent(m.self, total())), element('span', '', percent(m.total, total())), name);
	return line;
}

function drawTable() {
	const from = Math.max(0, Math.floor(list.scrollTop / LINE) - 4);
	const to = Math.min(table.shown.length, from + Math.ceil(list.clientHeight / LINE) + 8);
	const lines = [$('listspace')];
	for (let i = from; i < to; i++)
		lines.push(methodLine(table.shown[i], i));
	list.removeAttribute('aria-activedescendant');
	if (table.current >= from && table.current < to) {
		const line = lines[table.current - from + 1];
		line.classList.add('current');
		line.setAttribute('aria-selected', true);
		line.id = 'current';
		list.setAttribute('aria-activedescendant', 'current');
	}
	list.replaceChildren(...lines);
}

const methodAt = e => {
	const line = e.target.closest('.method');
	return line ? table.shown[line.dataset.i] : null;
};

function moveCurrent(by) {
	table.current = Math.max(0, Math.min(table.shown.length - 1, table.current + by));
	const top = table.current * LINE;
	if (top < list.scrollTop)
		list.scrollTop = top;
	else if (top + LINE > list.scrollTop + list.clientHeight)
		list.scrollTop = top + LINE - list.clientHeight;
	drawTable();
}

function initTable() {
	on($('columns'), 'click', e => {
		const key = e.target.dataset.sort;
		if (!key)
			return;
		table.down = key === table.sort ? !table.down : key !== 'name';
		table.sort = key;
		list.scrollTop = 0;
		updateTable();
	});
	on($('tablefilter'), 'input', e => {
		table.filter = e.target.value;
		list.scrollTop = 0;
		updateTable();
	});
	on(list, 'scroll', drawTable);
	on(list, 'click', e => {
		const m = methodAt(e);
		if (m)
			openSandwich(m.name);
	});
	on(list, 'contextmenu', e => {
		const m = methodAt(e);
		if (m) {
			e.preventDefault();
			openMenu(e.clientX, e.clientY, null, m.name);
		}
	});
	on(list, 'pointermove', e => {
		const m = methodAt(e);
		view.marked = m && !view.panes[1] ? m.name : -1;
		redraw();
		if (m)
			showTip(e.clientX, e.clientY, {name: m.name, total: m.total, self: m.self, columns: m.columns, at: 0});
		else
			hideTip();
	});
	on(list, 'pointerleave', () => {
		view.marked = -1;
		redraw();
		hideTip();
	});
	on(list, 'keydown', e => {
		const by = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10}[e.key], m = table.shown[table.current],
			r = list.getBoundingClientRect();
		if (by)
			moveCurrent(by);
		else if (e.key === 'Enter' && m)
			openSandwich(m.name);
		else if (e.key === 'ContextMenu' && m)
			openMenu(r.left + 70, r.top + table.current * LINE - list.scrollTop + 20, null, m.name);
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	});
	new ResizeObserver(drawTable).observe(list);
}
