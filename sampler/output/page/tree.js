// The kind that has most of the time.
function mainKind(columns, at) {
	let best = 0;
	for (let k = 1; k < KINDS; k++)
		if (columns[at + k] > columns[at + best])
			best = k;
	return best;
}

// A tree of methods, frames that differ only in tier or inlining merged; node 0 is the root.
class Tree {
	constructor(rootName) {
		this.n = 0;
		this.grow(1024);
		this.slots = new Int32Array(4096);
		this.add(-1, rootName, -1, 0);
		// The stack being added: variants, nodes, and what waits to be added to each.
		this.path = [];
		this.nodes = [0];
		this.wait = [0];
		this.depth = 0;
	}

	grow(cap) {
		for (const [key, type, width] of [['parent', Int32Array, 1], ['name', Int32Array, 1], ['row', Int32Array, 1],
			['level', Int32Array, 1], ['total', Float64Array, 1], ['self', Float64Array, 1],
			['columns', Float64Array, COLUMNS]]) {
			const a = new type(cap * width);
			if (this[key])
				a.set(this[key]);
			this[key] = a;
		}
		this.cap = cap;
	}

	add(parent, name, row, level) {
		if (this.n === this.cap)
			this.grow(this.cap * 2);
		const i = this.n++;
		this.parent[i] = parent;
		this.name[i] = name;
		this.row[i] = row;
		this.level[i] = level;
		return i;
	}

	slot(parent, name) {
		const mask = this.slots.length - 1;
		let i = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(name + 1, 0x85ebca6b));
		i = (i ^ i >>> 15) & mask;
		for (let s; (s = this.slots[i]) !== 0; i = i + 1 & mask)
			if (this.parent[s] === parent && this.name[s] === name)
				break;
		return i;
	}

	child(parent, name, row) {
		let at = this.slot(parent, name);
		if (this.slots[at])
			return this.slots[at];
		if (this.n * 2 > this.slots.length) {
			this.slots = new Int32Array(this.slots.length * 2);
			for (let i = 1; i < this.n; i++)
				this.slots[this.slot(this.parent[i], this.name[i])] = i;
			at = this.slot(parent, name);
		}
		return this.slots[at] = this.add(parent, name, row, this.level[parent] + 1);
	}

	count(node, variant, value) {
		const kind = variantKind[variant], at = node * COLUMNS;
		this.total[node] += value;
		this.columns[at + kind] += value;
		if (isCompiled(kind))
			this.columns[at + KINDS + variantExact[variant]] += value;
	}

	pop(to) {
		for (let d = this.depth; d > to; d--) {
			if (d > 0)
				this.count(this.nodes[d], this.path[d - 1], this.wait[d]);
			this.wait[d - 1] += this.wait[d];
		}
		this.depth = Math.min(this.depth, to);
	}

	// frame(k): variant of frame k, root first. rootVariant: the root is a frame too.
	insert(n, frame, value, row, rootVariant = -1) {
		let d = 0;
		while (d < n && d < this.depth && this.path[d] === frame(d))
			d++;
		this.pop(d);
		for (; d < n; d++) {
			const v = frame(d);
			this.path[d] = v;
			this.nodes[d + 1] = this.child(this.nodes[d], variantName[v], row);
			this.wait[d + 1] = 0;
		}
		this.depth = n;
		this.wait[n] += value;
		this.self[this.nodes[n]] += value;
		if (rootVariant >= 0)
			this.count(0, rootVariant, value);
		else
			this.total[0] += value;
	}

	// Puts the frames of each level in their order, x from 0 to the root's total.
	finish(bySize) {
		this.pop(0);
		const n = this.n, first = this.first = new Int32Array(n).fill(-1);
		const next = this.next = new Int32Array(n).fill(-1);
		this.x = new Float64Array(n);
		this.height = new Int32Array(n);
		this.kinds = new Uint8Array(n).fill(255);
		this.levels = [Int32Array.of(0)];
		for (let i = n - 1; i > 0; i--) {
			const p = this.parent[i];
			next[i] = first[p];
			first[p] = i;
			this.height[p] = Math.max(this.height[p], this.height[i] + 1);
		}
		const compare = bySize ? (a, b) => this.total[b] - this.total[a] || this.name[a] - this.name[b] :
			(a, b) => this.name[a] - this.name[b];
		for (let level = this.levels[0]; level.length;) {
			const below = [];
			for (const p of level) {
				const children = [];
				for (let c = first[p]; c >= 0; c = next[c])
					children.push(c);
				if (children.length > 1)
					children.sort(compare);
				let x = this.x[p];
				for (const c of children) {
					this.x[c] = x;
					x += this.total[c];
					below.push(c);
				}
			}
			level = Int32Array.from(below);
			if (level.length)
				this.levels.push(level);
		}
		this.slots = this.path = this.nodes = this.wait = null;
		return this;
	}

	// First position in a level whose frame ends right of x.
	find(level, x) {
		const nodes = this.levels[level];
		let lo = 0, hi = nodes.length;
		while (lo < hi) {
			const mid = lo + hi >> 1;
			if (this.x[nodes[mid]] + this.total[nodes[mid]] > x)
				hi = mid;
			else
				lo = mid + 1;
		}
		return lo;
	}

	ancestor(node, level) {
		while (this.level[node] > level)
			node = this.parent[node];
		return node;
	}

	isBelow(node, top) {
		return this.level[node] >= this.level[top] && this.ancestor(node, this.level[top]) === top;
	}

	kind(node) {
		return this.kinds[node] < KINDS ? this.kinds[node] : this.kinds[node] = mainKind(this.columns, node * COLUMNS);
	}

	// Names from the root (without it) to the node.
	names(node) {
		const out = [];
		for (; node > 0; node = this.parent[node])
			out.push(this.name[node]);
		return out.reverse();
	}
}

let bySize = true;

function buildMain() {
	const tree = new Tree(ROOT_NAME), kinds = new Float64Array(KINDS);
	let skip = 0, path;
	const frame = d => path[d + skip];
	forRows((p, depth, row, passes) => {
		kinds[variantKind[p[depth - 1]]] += rows.value[row];
		if (!passes)
			return;
		path = p;
		skip = filter.merge ? rootsOf(p, depth) : 0;
		tree.insert(depth - skip, frame, rows.value[row], row);
	});
	tree.finish(bySize);
	tree.leafKinds = kinds;
	return tree;
}

// All callers and all callees of a method. A recursive one counts once a stack, where it was entered first.
function buildSandwich(name) {
	const callees = new Tree(name), callers = new Tree(name);
	let at = 0, path;
	const below = d => path[at + 1 + d], above = d => path[at - 1 - d];
	forRows((p, depth, row, passes) => {
		if (!passes)
			return;
		const skip = filter.merge ? rootsOf(p, depth) : 0;
		for (at = skip; at < depth && variantName[p[at]] !== name; at++)
			;
		if (at === depth)
			return;
		path = p;
		callees.insert(depth - at - 1, below, rows.value[row], row, p[at]);
		callers.insert(at - skip, above, rows.value[row], row, p[at]);
	});
	return {callees: callees.finish(bySize), callers: callers.finish(bySize)};
}

// Methods with self and total (once a stack), of a main tree.
function buildTable(tree) {
	const byName = new Map(), open = new Map();
	const order = [], path = [];
	// Depth first: a method is counted where no caller is the same method.
	const {first, next} = tree;
	order.push(first[0]);
	while (order.length) {
		const node = order.pop();
		if (node < 0) {
			const done = path.pop();
			open.set(done, open.get(done) - 1);
			continue;
		}
		if (next[node] >= 0)
			order.push(next[node]);
		const name = tree.name[node];
		let m = byName.get(name);
		if (!m)
			byName.set(name, m = {name, self: 0, total: 0, node, columns: new Float64Array(COLUMNS)});
		m.self += tree.self[node];
		if (!open.get(name)) {
			m.total += tree.total[node];
			for (let c = 0; c < COLUMNS; c++)
				m.columns[c] += tree.columns[node * COLUMNS + c];
		}
		open.set(name, (open.get(name) || 0) + 1);
		path.push(name);
		order.push(-1);
		if (first[node] >= 0)
			order.push(first[node]);
	}
	return [...byName.values()].filter(m => !isRoot(mainKind(m.columns, 0)));
}
