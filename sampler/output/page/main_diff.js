// The page of two sides: each row was sampled before or after, which the state of its label says; the
// thread of the label names the side's files.
import {createApp, dataOfPage, startApp} from './app/app.js';
import {SIDES} from './data/sides.js';
import {clip, count} from './data/text.js';
import {createSides} from './ui/compare.js';
import {$} from './base/elements.js';
import {addFacts, setCommand} from './ui/header.js';

/** @typedef {import('./types.js').App} App */
/** @typedef {import('./data/profile.js').Profile} Profile */

/**
 * Samples of each row on one side.
 * @param {Profile} profile
 * @param {string} side
 */
const countsOf = ({rows, labels}, side) => rows.count.map((n, i) => labels[rows.label[i]][3] === side ? n : 0);

/** @param {App} app */
function initHeader({profile: {labels}, sides}) {
	const files = SIDES.map(side => labels.find(l => l[3] === side)?.[2] || '');
	$('title').textContent = 'Before and after';
	document.title = 'Before and after – difference';
	setCommand(files.join(' → '));
	addFacts(SIDES.map((side, k) => ['Samples ' + side, count(sides ? sides.samples[k] : 0), clip(files[k], 1000)]));
}

const app = createApp(dataOfPage()), sides = app.sides = createSides(app);
sides.compare([countsOf(app.profile, SIDES[0]), countsOf(app.profile, SIDES[1])]);
app.parts.push({init: () => initHeader(app)}, sides.part);
startApp(app);
