// The recording as it stands in the page (page_data.h), and the rows that pass the filters.
const data = JSON.parse(document.getElementById('data').textContent);
const meta = data.meta;
const KIND = {unknown: 0, kernel: 1, native: 2, interpreted: 3, c1: 4, c2: 5, inlined: 6, jni: 7, stub: 8, mark: 9,
	thread: 10, process: 11, state: 12};
const KINDS = data.kinds.length;
const isRoot = kind => kind >= KIND.thread;

function readNames(pairs) {
	const names = new Array(pairs.length / 2);
	let before = '';
	for (let i = 0; i < names.length; i++) {
		before = before.slice(0, pairs[2 * i]) + pairs[2 * i + 1];
		names[i] = before;
	}
	return names;
}

const names = readNames(data.names);
const ROOT_NAME = names.length;
names.push('all');
const variants = data.variants.length;
const variantName = new Int32Array(variants), variantKind = new Uint8Array(variants),
	variantExact = new Uint8Array(variants);
data.variants.forEach((v, i) => {
	variantName[i] = Math.floor(v / 64);
	variantKind[i] = v >> 2 & 15;
	variantExact[i] = v & 3;
});
// What a frame adds to, besides its total: its kind, and for compiled code how sure its name is.
const COLUMNS = KINDS + 4;
const isCompiled = kind => kind >= KIND.c1 && kind <= KIND.inlined;

// The next of the numbers in a packed text (page_json.h), at each call.
function numbersOf(packed) {
	const text = atob(packed);
	let at = 0;
	return () => {
		let v = 0, scale = 1, byte;
		do {
			byte = text.charCodeAt(at++);
			v += (byte & 127) * scale;
			scale *= 128;
		} while (byte > 127);
		return v;
	};
}

function readRows() {
	const n = data.rows, number = numbersOf(data.stacks);
	const r = {n, shared: new Int32Array(n), start: new Int32Array(n + 1), frames: new Int32Array(data.stacks.length),
		label: new Int32Array(n), count: new Float64Array(n), value: null, depth: 0};
	const weight = data.weighted ? new Float64Array(n) : null;
	let used = 0;
	for (let i = 0; i < n; i++) {
		r.shared[i] = number();
		r.start[i] = used;
		const more = number();
		for (let k = 0; k < more; k++)
			r.frames[used++] = number();
		r.depth = Math.max(r.depth, r.shared[i] + more);
		r.count[i] = number();
		if (data.labels.length > 1)
			r.label[i] = number();
		if (weight)
			weight[i] = number();
	}
	r.start[n] = used;
	r.frames = r.frames.slice(0, used);
	// Samples of unequal weight count as so many samples of the average weight.
	r.value = weight ? weight.map(w => w * meta.samples / meta.weight) : r.count;
	return r;
}

const rows = readRows();
data.stacks = data.names = data.variants = null;

const rowDepth = row => rows.shared[row] + rows.start[row + 1] - rows.start[row];

// Variants of a row, root first: its own frames, then those it shares with the rows before.
function rowPath(row) {
	const out = [];
	for (let need = rowDepth(row), i = row; need > 0; i--) {
		const shared = rows.shared[i];
		for (let d = Math.min(need, rowDepth(i)) - 1; d >= shared; d--)
			out[d] = rows.frames[rows.start[i] + d - shared];
		need = Math.min(need, shared);
	}
	return out;
}

// Names of a row's frames; merged: without process, thread, state.
function rowNames(row, merged) {
	const path = rowPath(row);
	return path.slice(merged ? rootsOf(path, path.length) : 0).map(v => variantName[v]);
}

// What is left out. Entries of the list: {hide: or keep only, names: a stack from its root (merged:
// without process, thread, state) or name: a method anywhere}.
const filter = {thread: null, state: null, process: null, kindsOff: new Set(), list: [], merge: false};

function filterActive() {
	return filter.thread !== null || filter.state !== null || filter.process !== null || filter.kindsOff.size > 0 ||
		filter.list.length > 0;
}

function labelPasses() {
	return data.labels.map(([pid, tid, thread, state]) =>
		(filter.thread === null || filter.thread === tid + ' ' + thread) &&
		(filter.state === null || filter.state === state) && (filter.process === null || filter.process === String(pid)));
}

// For each entry of the list: how many of the current row's first frames agree with it.
function newMatcher(entry) {
	const wanted = entry.names;
	let agreed = 0, hit = -1;
	if (!wanted)
		return (path, shared, depth) => {
			if (hit >= shared)
				hit = -1;
			for (let d = shared; hit < 0 && d < depth; d++)
				if (variantName[path[d]] === entry.name)
					hit = d;
			return hit >= 0;
		};
	return (path, shared, depth) => {
		const skip = entry.merged ? rootsOf(path, depth) : 0;
		agreed = Math.max(0, Math.min(agreed, shared - skip));
		while (agreed < wanted.length && agreed + skip < depth &&
			variantName[path[agreed + skip]] === wanted[agreed])
			agreed++;
		return agreed === wanted.length;
	};
}

// Calls fn(path, depth, row, passes kinds) for all rows that pass; path holds variants, root first.
function forRows(fn, list = filter.list) {
	const path = new Int32Array(rows.depth + 1), pass = labelPasses();
	const matchers = list.map(e => [newMatcher(e), e.hide]);
	for (let i = 0; i < rows.n; i++) {
		const shared = rows.shared[i], from = rows.start[i], depth = shared + rows.start[i + 1] - from;
		for (let d = shared; d < depth; d++)
			path[d] = rows.frames[from + d - shared];
		let ok = true;
		for (const [match, hide] of matchers)
			if (match(path, shared, depth) === hide)
				ok = false;
		if (ok && rows.count[i] && pass[rows.label[i]])
			fn(path, depth, i, !filter.kindsOff.has(variantKind[path[depth - 1]]));
	}
}

// Roots that only say which process, thread or state it was.
function rootsOf(path, depth) {
	let n = 0;
	while (n < depth && isRoot(variantKind[path[n]]))
		n++;
	return n;
}

// Folded text of what is shown, methods merged: equal to the folded output without suffixes.
function foldedText(extra) {
	const lines = new Map();
	forRows((path, depth, row, passes) => {
		if (!passes)
			return;
		const parts = [];
		for (let d = filter.merge ? rootsOf(path, depth) : 0; d < depth; d++)
			parts.push(names[variantName[path[d]]]);
		// Sorted frame by frame, whatever characters are in them.
		const text = parts.join('\0');
		lines.set(text, (lines.get(text) || 0) + rows.count[row]);
	}, filter.list.concat(extra));
	return [...lines.keys()].sort().map(l => l.replaceAll('\0', ';') + ' ' + lines.get(l) + '\n').join('');
}
