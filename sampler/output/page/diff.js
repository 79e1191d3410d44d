// Two sides in one page (compare.js): each row was sampled before or after, which the state of its label
// says; the thread of the label names the side's files. Stands between compare.js and main.js and
// replaces functions of the files before it.
const labelSide = data.labels.map(l => SIDES.indexOf(l[3]));
sides.files = ['', ''];
sides.counts = SIDES.map((side, k) => rows.count.map((n, i) => labelSide[rows.label[i]] === k ? n : 0));
sides.samples = sides.counts.map(c => c.reduce((a, b) => a + b, 0));
data.labels.forEach((l, i) => { sides.files[labelSide[i]] = l[2]; });

compareSides(true);
setSideMode('both');

initChoosers = initModes;

initHeader = () => {
	$('title').textContent = 'Before and after';
	document.title = 'Before and after – difference';
	$('command').textContent = sides.files.join(' → ');
	on($('command'), 'click', () => $('command').classList.toggle('open'));
	SIDES.forEach((side, k) => {
		const fact = element('div');
		fact.append(element('dt', '', 'Samples ' + side), element('dd', '', count(sides.samples[k])));
		fact.title = clip(sides.files[k], 1000);
		$('facts').append(fact);
	});
};

const initHelpPlain = initHelp;
initHelp = () => {
	KEYS.push(['B', 'width: both, before, after']);
	initHelpPlain();
	$('keys').before(element('p', '', COMPARE_HELP));
};

const stateTextPlain = stateText, loadStatePlain = loadState;
stateText = () => stateTextPlain() + (sides.mode === 'both' ? '' : (stateTextPlain() ? '&' : '') + 's=' + sides.mode);
loadState = () => {
	setSideMode(modeOf(new URLSearchParams(location.hash.slice(1)).get('s')));
	updateModes();
	loadStatePlain();
};
