// What the page's data modules make of a page, without a browser: node page_data.mjs PAGE.html prints JSON.
import {readFileSync} from 'node:fs';
import {changedMethods, hotMethods} from '../../sampler/output/page/data/methods.js';
import {buildMain, buildSandwich} from '../../sampler/output/page/data/panes.js';
import {readProfile} from '../../sampler/output/page/data/profile.js';
import {foldedText, selectAll} from '../../sampler/output/page/data/selection.js';
import {setWidths, sideSamples} from '../../sampler/output/page/data/sides.js';
import {Slices} from '../../sampler/output/page/data/slices.js';

const page = readFileSync(process.argv[2], 'utf-8');
const data = JSON.parse(/<script type="application\/json" id=data>(.*?)<\/script>/s.exec(page)[1]);
const profile = readProfile(data), selection = selectAll(profile), out = {};
const main = buildMain(selection, true), methods = hotMethods(main).sort((a, b) => b.self - a.self);

out.folded = foldedText(selection, []);
out.total = main.total[0];
out.hottest = [profile.names[methods[0].name], methods[0].self, methods[0].total];
const {callees, callers} = buildSandwich(selection, true, methods[0].name);
out.sandwich = [callees.total[0], callers.total[0]];
selection.filter.kindsOff.add(4);
out.withoutC1 = buildMain(selection, true).total[0];
selection.filter.kindsOff.clear();
if (data.slices) {
	const slices = new Slices(profile, data.slices);
	selection.sides = [slices.countsIn([0, 4]), slices.countsIn([6, 10])];
	selection.count = selection.sides[0].map((n, i) => n + selection.sides[1][i]);
	out.samples = sideSamples(selection);
	setWidths(selection, out.samples, 'both');
	out.changed = changedMethods(selection).sort((a, b) => b.total - a.total).slice(0, 2).map(m => profile.names[m.name]).sort();
	out.compared = foldedText(selection, []);
	out.width = buildMain(selection, true).total[0];
}
console.log(JSON.stringify(out));
