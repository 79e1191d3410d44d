// The menu of a frame or of a method.
import {treeOf} from '../graph/layout.js';
import {$, element, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').At} At */
/** @typedef {[text: string, key: string, action: () => void]} Item */

/** @param {string} text */
const quoted = text => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/**
 * @param {App} app
 * @param {At} at
 * @returns {Item[]}
 */
function frameItems({view, nav, filters}, at) {
	/** @type {Item[]} */
	const items = [['Zoom in', 'click', () => nav.setZoom(at)]];
	if ((at.pane || at.node) && !view.panes[1])
		items.push(['Only this stack', 'S', () => filters.stack(at, false)],
			['Hide this stack', 'H', () => filters.stack(at, true)]);
	return items;
}

/**
 * @param {App} app
 * @param {number} name
 * @returns {Item[]}
 */
function methodItems({profile, filters, search, output}, name) {
	const text = profile.names[name];
	return [
		['Only stacks with this method', '', () => filters.method(name, false)],
		['Hide stacks with this method', 'X', () => filters.method(name, true)],
		['Search for this name', '', () => search.searchFor('^' + quoted(text.slice(0, 900)) + (text.length > 900 ? '' : '$'))],
		['Copy the name', '', () => output.copyText(text, 'Copied the name')],
	];
}

/** @param {App} app */
export function createMenu(app) {
	const {view, profile} = app, menu = $('menu');

	/**
	 * @param {At | null} at
	 * @param {number} name
	 */
	function itemsOf(at, name) {
		const [zoom, ...stack] = at ? frameItems(app, at) : [], method = name !== profile.rootName;
		/** @type {Item[]} */
		const items = zoom ? [zoom] : [];
		if (method)
			items.push(['Callers and callees', 'C', () => app.nav.openSandwich(name)]);
		items.push(...stack, ...method ? methodItems(app, name) : []);
		if (at && !view.panes[1])
			items.push(['Copy stacks through this frame', '', () => app.output.copyFolded(at)]);
		return items;
	}

	/** @param {Item} item */
	function buttonOf([text, key, action]) {
		const b = element('button', '', text);
		b.setAttribute('role', 'menuitem');
		if (key)
			b.append(element('kbd', '', key));
		on(b, 'click', () => {
			close();
			action();
		});
		return b;
	}

	/**
	 * @param {number} x
	 * @param {number} y
	 * @param {At | null} at
	 * @param {number} name
	 */
	function open(x, y, at, name) {
		const buttons = itemsOf(at, name).map(buttonOf);
		menu.replaceChildren(...buttons);
		app.tip.hide();
		menu.hidden = false;
		menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 6)) + 'px';
		menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 6)) + 'px';
		buttons[0].focus();
	}

	/**
	 * @param {At} at
	 * @param {[number, number]} point
	 */
	function openFrame(at, [x, y] = app.graph.placeOf(at)) {
		open(x, y, at, treeOf(view, at.pane).name[at.node]);
	}

	function close() {
		if (menu.hidden)
			return;
		menu.hidden = true;
		app.graph.scroller.focus({preventScroll: true});
	}

	/**
	 * To the next item, or the one before.
	 * @param {number} by
	 */
	function move(by) {
		const items = /** @type {HTMLElement[]} */ ([...menu.children]);
		const i = items.findIndex(item => item === document.activeElement);
		items[(i + by + items.length) % items.length].focus();
	}

	function init() {
		// The menu key's own event may come when our menu is there already.
		on(menu, 'contextmenu', e => e.preventDefault());
		on(document, 'pointerdown', e => {
			if (!menu.contains(e.target))
				close();
		});
	}

	return {init, open, openFrame, close, move, isOpen: () => !menu.hidden};
}
