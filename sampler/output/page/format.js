// Numbers for people.
const count = n => Math.round(n).toLocaleString('en-US');

function percent(part, whole) {
	const p = whole ? 100 * part / whole : 0;
	return p.toFixed(p >= 99.95 || p === 0 ? 0 : p >= .095 ? 1 : 2) + ' %';
}

function time(ns) {
	const s = ns / 1e9;
	if (s >= 600)
		return (s / 60).toFixed(s >= 6000 ? 0 : 1) + ' min';
	if (s >= 1)
		return s.toFixed(s >= 100 ? 0 : s >= 10 ? 1 : 2) + ' s';
	if (s >= .001)
		return (s * 1000).toFixed(s >= .0095 ? 0 : 1).replace('.0', '') + ' ms';
	return count(s * 1e6) + ' µs';
}

const isTime = meta.unit === 'nanoseconds';

// Samples as what they stand for: time, or a number of events.
function amount(samples) {
	const v = meta.samples ? samples * meta.weight / meta.samples : 0;
	if (isTime)
		return time(v);
	const [unit, letter] = v >= 1e9 ? [1e9, ' G'] : v >= 1e6 ? [1e6, ' M'] : v >= 1e5 ? [1e3, ' k'] : [1, ''];
	return (letter ? (v / unit).toFixed(1) : count(v)) + letter + ' ' + meta.event;
}

// 95 % of repetitions lie within (binomial), in points of 100.
function error(part, whole) {
	const p = whole ? Math.min(1, part / whole) : 0;
	const points = whole ? 196 * Math.sqrt(p * (1 - p) / whole) : 0;
	return '± ' + points.toFixed(points >= .095 ? 1 : 2);
}

const clip = (s, n) => s.length > n ? s.slice(0, n / 2) + ' … ' + s.slice(-n / 2) : s;

// How a frame or method ran, most first: [[kind, share]].
function ways(columns, at = 0) {
	let all = 0;
	for (let k = 0; k < KINDS; k++)
		all += columns[at + k];
	const out = [];
	for (let k = 0; k < KINDS; k++)
		if (columns[at + k])
			out.push([k, columns[at + k] / all]);
	return out.sort((a, b) => b[1] - a[1]);
}

const waysText = list => list.map(([k, share]) => data.kinds[k] + ' ' + percent(share, 1)).join(', ');

function summaryText(tree, node) {
	const name = clip(names[tree.name[node]], 1000), t = tree.total[node];
	return name + ': total ' + percent(t, total()) + ' ' + error(t, total()) + ' (' + amount(t) + ', ' + count(t) + ' samples)' +
		(tree === view.panes[1] ? '' : ', self ' + percent(tree.self[node], total())) +
		(node || tree.name[0] !== ROOT_NAME ? '; ' + waysText(ways(tree.columns, node * COLUMNS)) : '');
}

function element(tag, className, text) {
	const e = document.createElement(tag);
	if (className)
		e.className = className;
	if (text !== undefined)
		e.textContent = text;
	return e;
}

const on = (target, type, fn) => target.addEventListener(type, fn);
