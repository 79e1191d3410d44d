// Methods beside the graph; only the lines in sight are elements.
import {count, pattern} from '../data/text.js';
import {$, $input, element, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').Method} Method */

const LINE = 25;

/** @param {App} app */
export function createTable(app) {
	const {view, profile, shortName} = app, list = $('list'), filterBox = $input('tablefilter');
	const table = {
		/** @type {Method[]} */
		all: [],
		/** @type {Method[]} */
		shown: [],
		/** @type {'self' | 'total' | 'name'} */
		sort: 'self',
		down: true,
		// Place of the line that was reached by keys.
		current: -1,
		// What bars as wide as the table stand for.
		most: {self: 1, total: 1},
	};

	/**
	 * @param {Method} a
	 * @param {Method} b
	 */
	function compare(a, b) {
		const d = table.sort === 'name' ? (shortName(a.name) < shortName(b.name) ? -1 : 1) :
			a[table.sort] - b[table.sort] || a.total - b.total || b.name - a.name;
		return table.down ? -d : d;
	}

	function readFilter() {
		try {
			filterBox.removeAttribute('aria-invalid');
			return pattern(filterBox.value);
		} catch (e) {
			filterBox.setAttribute('aria-invalid', 'true');
			return null;
		}
	}

	function updateHead() {
		const {title, self, total} = app.look.table;
		/** @type {HTMLElement} */ ($('tablehead').querySelector('strong')).textContent = title;
		for (const b of /** @type {HTMLElement[]} */ ([...$('columns').children])) {
			const key = b.dataset.sort, sorted = key === table.sort;
			if (key !== 'name')
				b.title = key === 'self' ? self : total;
			const arrow = sorted ? table.down ? ' ▾' : ' ▴' : '';
			b.textContent = String(b.textContent).replace(/ [▾▴]$/, '') + arrow;
			if (sorted)
				b.setAttribute('aria-sort', table.down ? 'descending' : 'ascending');
			else
				b.removeAttribute('aria-sort');
		}
	}

	/** Filters and sorts. */
	function update() {
		const re = readFilter(), {least} = app.look.table;
		table.shown = table.all.filter(m => !re || re.test(profile.names[m.name])).sort(compare);
		$('tablecount').textContent = count(table.shown.length);
		$('listspace').style.height = table.shown.length * LINE + 'px';
		updateHead();
		table.most = {self: least, total: least};
		for (const m of table.shown) {
			table.most.self = Math.max(table.most.self, m.self);
			table.most.total = Math.max(table.most.total, m.total);
		}
		draw();
	}

	/**
	 * @param {Method} m
	 * @param {number} i
	 */
	function lineOf(m, i) {
		const line = element('div', 'method' + (m.name === view.method ? ' current' : ''));
		const name = element('span', 'name'), full = profile.names[m.name].slice(0, 600), short = shortName(m.name);
		const by = table.sort === 'total' ? 'total' : 'self', bar = app.look.methodBar(m, by);
		const [self, total] = app.look.numbers(m);
		line.style.top = i * LINE + 'px';
		line.setAttribute('role', 'option');
		line.dataset.i = String(i);
		bar.style.width = 'calc((100% - 12px) * ' + m[by] / table.most[by] + ')';
		name.append(short, element('i', '', full !== short ? full.slice(0, -short.length - 1) : ''), bar);
		line.append(element('span', '', self), element('span', '', total), name);
		return line;
	}

	function draw() {
		const from = Math.max(0, Math.floor(list.scrollTop / LINE) - 4);
		const to = Math.min(table.shown.length, from + Math.ceil(list.clientHeight / LINE) + 8);
		const lines = [];
		for (let i = from; i < to; i++)
			lines.push(lineOf(table.shown[i], i));
		list.removeAttribute('aria-activedescendant');
		if (table.current >= from && table.current < to) {
			const line = lines[table.current - from];
			line.classList.add('current');
			line.setAttribute('aria-selected', 'true');
			line.id = 'current';
			list.setAttribute('aria-activedescendant', 'current');
		}
		list.replaceChildren($('listspace'), ...lines);
	}

	/** @param {number} by lines */
	function moveCurrent(by) {
		table.current = Math.max(0, Math.min(table.shown.length - 1, table.current + by));
		const top = table.current * LINE;
		if (top < list.scrollTop)
			list.scrollTop = top;
		else if (top + LINE > list.scrollTop + list.clientHeight)
			list.scrollTop = top + LINE - list.clientHeight;
		draw();
	}

	/** @param {any} e */
	function sortBy(e) {
		const key = e.target.dataset.sort;
		if (!key)
			return;
		table.down = key === table.sort ? !table.down : key !== 'name';
		table.sort = key;
		list.scrollTop = 0;
		update();
	}

	/**
	 * @param {any} e
	 * @returns {Method | null}
	 */
	function methodAt(e) {
		const line = e.target.closest('.method');
		return line ? table.shown[line.dataset.i] : null;
	}

	/**
	 * @param {any} e
	 * @param {Method | null} m
	 */
	function point(e, m) {
		view.marked = m && !view.panes[1] ? m.name : -1;
		app.graph.redraw();
		if (m)
			app.tip.showMethod(e.clientX, e.clientY, m);
		else
			app.tip.hide();
	}

	/** @param {KeyboardEvent} e */
	function onKey(e) {
		const by = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10}[e.key], m = table.shown[table.current];
		const r = list.getBoundingClientRect();
		if (by)
			moveCurrent(by);
		else if (e.key === 'Enter' && m)
			app.nav.openSandwich(m.name);
		else if (e.key === 'ContextMenu' && m)
			app.menu.open(r.left + 70, r.top + table.current * LINE - list.scrollTop + 20, null, m.name);
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}

	function init() {
		on($('columns'), 'click', sortBy);
		on(filterBox, 'input', () => {
			list.scrollTop = 0;
			update();
		});
		on(list, 'scroll', draw);
		on(list, 'click', e => {
			const m = methodAt(e);
			if (m)
				app.nav.openSandwich(m.name);
		});
		on(list, 'contextmenu', e => {
			const m = methodAt(e);
			if (!m)
				return;
			e.preventDefault();
			app.menu.open(e.clientX, e.clientY, null, m.name);
		});
		on(list, 'pointermove', e => point(e, methodAt(e)));
		on(list, 'pointerleave', e => point(e, null));
		on(list, 'keydown', onKey);
		new ResizeObserver(draw).observe(list);
	}

	return Object.assign(table, {init, update, draw});
}
