// What was recorded.
import {amount, clip, count, isTime, time} from '../data/text.js';
import {$, element, on} from '../base/elements.js';

/** @typedef {import('../types.js').App} App */
/** @typedef {import('../types.js').Part} Part */
/** @typedef {import('../data/profile.js').Meta} Meta */
/** @typedef {[label: string, value: string, hint?: string, warn?: boolean]} Fact */

const TAKES_VALUE = /^(-cp|-classpath|--class-path|-p|--module-path|--add-\w+|--patch-module|--limit-modules)$/;

/**
 * The main class or jar of a command line.
 * @param {string} command
 */
function programName(command) {
	const words = command.split(' ');
	for (let i = 1; i < words.length; i++) {
		if (words[i] === '-jar' && words[i + 1])
			return words[i + 1].replace(/.*\//, '');
		if (TAKES_VALUE.test(words[i]))
			i++;
		else if (words[i] === '-m' || words[i] === '--module')
			return words[i + 1] || '';
		else if (words[i] && words[i][0] !== '-' && words[i][0] !== '@')
			return words[i];
	}
	return (words[0] || '').replace(/.*\//, '');
}

/** @param {Meta} meta */
function eventText(meta) {
	const every = isTime(meta) ? time(meta.period) : count(meta.period) + ' ' + meta.event;
	const what = {cpu: 'CPU time', wall: 'wall-clock time'}[meta.event] || meta.event;
	return meta.period ? what + ', every ' + every : what;
}

/** @param {number} start ms since 1970 */
function startText(start) {
	const at = new Date(start);
	/** @param {number} n */
	const two = n => String(n).padStart(2, '0');
	return at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' ' + two(at.getHours()) + ':' +
		two(at.getMinutes()) + ', ';
}

/**
 * @param {Meta} meta
 * @returns {Fact[]}
 */
function factsOf(meta) {
	const complete = meta.samples ? (Math.floor(1e4 * meta.complete / meta.samples) / 100).toFixed(2) + ' %' : '–';
	return [
		['Samples', count(meta.samples)],
		[isTime(meta) ? 'Time sampled' : 'Events', amount(meta, meta.samples)],
		['Lost', count(meta.lost), 'Samples that were taken but not kept', meta.lost > meta.samples / 100],
		['Complete stacks', complete, 'Stacks that reach the thread\'s first frame. Incomplete ' + count(meta.incomplete) +
			', resynchronised ' + count(meta.resynchronised) + ', frozen ' + count(meta.frozen),
		meta.complete < meta.samples * .98],
		['Event', eventText(meta), 'Unit: ' + meta.unit],
		.../** @type {Fact[]} */ (meta.jdk ? [['JDK', clip(meta.jdk, 60), clip(meta.jdk, 1000)]] : []),
		['Recorded', (meta.start ? startText(meta.start) : '') + time(meta.duration),
			'jsampler ' + meta.version + (meta.jsampler ? ': ' + clip(meta.jsampler, 1000) : '')],
	];
}

/** @param {Fact[]} facts */
export function addFacts(facts) {
	for (const [label, value, hint, warn] of facts) {
		const fact = element('div', warn ? 'warn' : '');
		fact.append(element('dt', '', label), element('dd', '', value));
		fact.title = hint || '';
		$('facts').append(fact);
	}
}

/**
 * The line below the title; a click, or Enter, shows the whole of it.
 * @param {string} text
 */
export function setCommand(text) {
	const command = $('command');
	command.textContent = text;
	on(command, 'click', () => command.classList.toggle('open'));
	on(command, 'keydown', e => {
		if (e.key !== 'Enter')
			return;
		command.click();
		e.stopPropagation();
	});
}

/**
 * @param {App} app
 * @returns {Part}
 */
export function headerOfRecording({profile: {meta}}) {
	function init() {
		const name = meta.command ? programName(meta.command) : '';
		const title = clip(name.replace(/^.*\.(?=[A-Z])/, '') || 'Profile', 120);
		$('title').textContent = title;
		$('title').title = clip(name, 1000);
		document.title = title + ' – ' + (meta.event === 'cpu' ? 'CPU profile' : meta.event + ' profile');
		setCommand(meta.command);
		$('command').title = 'Command line of the target (click to show all of it)';
		addFacts(factsOf(meta));
	}
	return {init};
}
