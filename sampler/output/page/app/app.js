// The app object: all the state of a page, and its parts by name.
import {readProfile} from '../data/profile.js';
import {selectAll} from '../data/selection.js';
import {newShortNames} from '../data/text.js';
import {Tree} from '../data/tree.js';
import {Colours} from '../graph/colours.js';
import {createGraph} from '../graph/graph.js';
import {createChips} from '../ui/chips.js';
import {initHelp} from '../ui/help.js';
import {lookByKind} from '../ui/look_kinds.js';
import {createMenu} from '../ui/menu.js';
import {createTable} from '../ui/table.js';
import {createTheme} from '../ui/theme.js';
import {createTip} from '../ui/tip.js';
import {createToolbar} from '../ui/toolbar.js';
import {createAddress} from './address.js';
import {createFilters} from './filters.js';
import {initKeys, pageKeys} from './keys.js';
import {createNavigation} from './navigate.js';
import {createOutput} from './output.js';
import {initPointer} from './pointer.js';
import {createSearch} from './search.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').View} View */
/** @typedef {import('../data/profile.js').PageData} PageData */

/**
 * How a page opens: with nothing yet, until the address was read.
 * @param {import('../types.js').Selection} selection
 * @returns {View}
 */
function newView(selection) {
	const main = new Tree(selection, selection.profile.rootName).finish(true);
	return {main, panes: [main, null], method: -1, zoom: null, selected: null, hover: null, marked: -1, flame: true,
		bySize: true, search: null, matched: null, width: 0, height: 0};
}

/**
 * An app whose look is the kinds of frames. Parts are added to it before it starts.
 * @param {PageData} data
 */
export function createApp(data) {
	const profile = readProfile(data), selection = selectAll(profile), view = newView(selection);
	const app = /** @type {App} */ (/** @type {Partial<App>} */ ({profile, selection, view, parts: [],
		colours: new Colours(profile.names), shortName: newShortNames(profile.names), total: () => view.main.total[0]}));
	app.look = lookByKind(app);
	app.graph = createGraph(app);
	app.tip = createTip(app);
	app.menu = createMenu(app);
	app.table = createTable(app);
	app.chips = createChips(app);
	app.toolbar = createToolbar(app);
	app.theme = createTheme(app);
	app.nav = createNavigation(app);
	app.filters = createFilters(app);
	app.search = createSearch(app);
	app.address = createAddress(app);
	app.output = createOutput(app);
	app.keys = pageKeys(app);
	return app;
}

/**
 * Shows the page, as its address says.
 * @param {App} app
 */
export function startApp(app) {
	app.theme.init();
	for (const part of app.parts)
		part.init?.();
	initHelp(app);
	app.table.init();
	initPointer(app);
	app.menu.init();
	app.toolbar.init();
	app.search.init();
	initKeys(app);
	app.address.init();
	app.graph.init();
	// The only global: for tests, and for who looks at it in the console.
	Object.assign(window, {app});
}

/** The data that stands in the page. */
export function dataOfPage() {
	const script = /** @type {HTMLElement} */ (document.getElementById('data'));
	return /** @type {PageData} */ (JSON.parse(script.textContent || ''));
}
