// The page of a recording.
import {createApp, dataOfPage, startApp} from './app/app.js';
import {choosersOfSamples} from './ui/choosers.js';
import {headerOfRecording} from './ui/header.js';

const app = createApp(dataOfPage());
app.parts.push(headerOfRecording(app), choosersOfSamples(app));
startApp(app);
