// The page of a recording with time slices: ranges of time can be chosen, and compared.
import {createApp, dataOfPage, startApp} from './app/app.js';
import {choosersOfSamples} from './ui/choosers.js';
import {createSides} from './ui/compare.js';
import {headerOfRecording} from './ui/header.js';
import {createRanges} from './ui/ranges.js';

const data = dataOfPage(), app = createApp(data), sides = app.sides = createSides(app);
const slices = app.slices = createRanges(app, sides, data.slices || {ns: 1, n: 1, counts: ''});
app.parts.push(headerOfRecording(app), choosersOfSamples(app), slices.part, sides.part);
startApp(app);
