// Trees of methods: frames that differ only in tier or inlining are one. Node 0 is the root.
import {COLUMNS, isCompiled, KINDS, mainKind} from './kinds.js';

/** @typedef {import('./selection.js').Selection} Selection */

/**
 * A longer copy.
 * @template {Int32Array | Float64Array} T
 * @param {T} old
 * @param {number} length
 * @returns {T}
 */
function longer(old, length) {
	const a = new /** @type {any} */ (old.constructor)(length);
	a.set(old);
	return a;
}

export class Tree {
	/**
	 * @param {Selection} selection
	 * @param {number} rootName
	 */
	constructor({profile, sides}, rootName) {
		this.variantName = profile.variantName;
		this.variantKind = profile.variantKind;
		this.variantExact = profile.variantExact;
		this.sideCounts = sides;
		this.n = 0;
		this.cap = 1024;
		this.parent = new Int32Array(this.cap);
		this.name = new Int32Array(this.cap);
		// A row whose stack leads to the node, and the frames on the way.
		this.row = new Int32Array(this.cap);
		this.level = new Int32Array(this.cap);
		this.total = new Float64Array(this.cap);
		this.self = new Float64Array(this.cap);
		this.columns = new Float64Array(this.cap * COLUMNS);
		// Where sides are compared, in samples: total before, total after, self before, self after.
		this.sides = [...sides, ...sides].map(() => new Float64Array(this.cap));
		this.slots = new Int32Array(4096);
		this.add(-1, rootName, -1, 0);
		// The stack being added: variants, nodes, and what waits to be added to each.
		/** @type {number[]} */
		this.path = [];
		this.nodes = [0];
		this.wait = [0];
		this.depth = 0;
		// Made by finish().
		this.first = this.next = this.height = new Int32Array(0);
		this.x = new Float64Array(0);
		this.kinds = new Uint8Array(0);
		/** @type {Int32Array[]} */
		this.levels = [];
		// Time by the kind of the innermost frame, in the main tree.
		this.leafKinds = new Float64Array(0);
	}

	grow() {
		const cap = this.cap *= 2;
		this.parent = longer(this.parent, cap);
		this.name = longer(this.name, cap);
		this.row = longer(this.row, cap);
		this.level = longer(this.level, cap);
		this.total = longer(this.total, cap);
		this.self = longer(this.self, cap);
		this.columns = longer(this.columns, cap * COLUMNS);
		this.sides = this.sides.map(s => longer(s, cap));
	}

	/**
	 * @param {number} parent
	 * @param {number} name
	 * @param {number} row
	 * @param {number} level
	 */
	add(parent, name, row, level) {
		if (this.n === this.cap)
			this.grow();
		const i = this.n++;
		this.parent[i] = parent;
		this.name[i] = name;
		this.row[i] = row;
		this.level[i] = level;
		return i;
	}

	/**
	 * Where the child is in the hash table, or would be.
	 * @param {number} parent
	 * @param {number} name
	 */
	slot(parent, name) {
		const mask = this.slots.length - 1;
		let i = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(name + 1, 0x85ebca6b));
		i = (i ^ i >>> 15) & mask;
		for (let s; (s = this.slots[i]) !== 0; i = i + 1 & mask)
			if (this.parent[s] === parent && this.name[s] === name)
				break;
		return i;
	}

	/**
	 * @param {number} parent
	 * @param {number} name
	 * @param {number} row
	 */
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

	/**
	 * @param {number} node
	 * @param {number} variant
	 * @param {number} value
	 */
	count(node, variant, value) {
		const kind = this.variantKind[variant], at = node * COLUMNS;
		this.total[node] += value;
		this.columns[at + kind] += value;
		if (isCompiled(kind))
			this.columns[at + KINDS + this.variantExact[variant]] += value;
	}

	/** @param {number} to */
	pop(to) {
		for (let d = this.depth; d > to; d--) {
			if (d > 0)
				this.count(this.nodes[d], this.path[d - 1], this.wait[d]);
			this.wait[d - 1] += this.wait[d];
		}
		this.depth = Math.min(this.depth, to);
	}

	/**
	 * Adds a stack.
	 * @param {number} n frames
	 * @param {(k: number) => number} frame variant of frame k, root first
	 * @param {number} value
	 * @param {number} row
	 * @param {number} rootVariant the root is a frame too
	 */
	insert(n, frame, value, row, rootVariant = -1) {
		let d = 0;
		while (d < n && d < this.depth && this.path[d] === frame(d))
			d++;
		this.pop(d);
		for (; d < n; d++) {
			const v = frame(d);
			this.path[d] = v;
			this.nodes[d + 1] = this.child(this.nodes[d], this.variantName[v], row);
			this.wait[d + 1] = 0;
		}
		this.depth = n;
		this.wait[n] += value;
		this.self[this.nodes[n]] += value;
		if (rootVariant >= 0)
			this.count(0, rootVariant, value);
		else
			this.total[0] += value;
		this.countSides(n, row);
	}

	/**
	 * @param {number} n
	 * @param {number} row
	 */
	countSides(n, row) {
		for (let side = 0; side < this.sideCounts.length; side++) {
			const count = this.sideCounts[side][row];
			for (let d = 0; count && d <= n; d++)
				this.sides[side][this.nodes[d]] += count;
			this.sides[side + 2][this.nodes[n]] += count;
		}
	}

	/**
	 * Puts the frames of each level in their order, x from 0 to the root's total.
	 * @param {boolean} bySize
	 */
	finish(bySize) {
		this.pop(0);
		const n = this.n, first = this.first = new Int32Array(n).fill(-1);
		const next = this.next = new Int32Array(n).fill(-1);
		this.x = new Float64Array(n);
		this.height = new Int32Array(n);
		this.kinds = new Uint8Array(n).fill(255);
		for (let i = n - 1; i > 0; i--) {
			const p = this.parent[i];
			next[i] = first[p];
			first[p] = i;
			this.height[p] = Math.max(this.height[p], this.height[i] + 1);
		}
		const {total, name} = this;
		this.layLevels(bySize ? (a, b) => total[b] - total[a] || name[a] - name[b] : (a, b) => name[a] - name[b]);
		this.slots = new Int32Array(0);
		this.path = this.nodes = this.wait = [];
		return this;
	}

	/** @param {(a: number, b: number) => number} compare */
	layLevels(compare) {
		this.levels = [Int32Array.of(0)];
		for (let level = this.levels[0]; level.length;) {
			const below = [];
			for (const p of level) {
				const children = [];
				for (let c = this.first[p]; c >= 0; c = this.next[c])
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
	}

	/**
	 * First position in a level whose frame ends right of x.
	 * @param {number} level
	 * @param {number} x
	 */
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

	/**
	 * @param {number} node
	 * @param {number} level
	 */
	ancestor(node, level) {
		while (this.level[node] > level)
			node = this.parent[node];
		return node;
	}

	/**
	 * @param {number} node
	 * @param {number} top
	 */
	isBelow(node, top) {
		return this.level[node] >= this.level[top] && this.ancestor(node, this.level[top]) === top;
	}

	/** @param {number} node */
	kind(node) {
		return this.kinds[node] < KINDS ? this.kinds[node] : this.kinds[node] = mainKind(this.columns, node * COLUMNS);
	}

	/**
	 * Names from the root (without it) to the node.
	 * @param {number} node
	 */
	names(node) {
		const out = [];
		for (; node > 0; node = this.parent[node])
			out.push(this.name[node]);
		return out.reverse();
	}
}
