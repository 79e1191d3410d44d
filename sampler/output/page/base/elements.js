// Elements. Text from the recording only ever becomes textContent.

/** @param {string} id */
export const $ = id => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} id */
export const $input = id => /** @type {HTMLInputElement} */ ($(id));

/** @param {string} id */
export const $button = id => /** @type {HTMLButtonElement} */ ($(id));

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} [className]
 * @param {string} [text]
 */
export function element(tag, className, text) {
	const e = document.createElement(tag);
	if (className)
		e.className = className;
	if (text !== undefined)
		e.textContent = text;
	return e;
}

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} action
 */
export function button(text, title, action) {
	const b = element('button', '', text);
	b.title = title;
	on(b, 'click', action);
	return b;
}

/**
 * @param {EventTarget} target
 * @param {string} type
 * @param {(e: any) => void} fn
 */
export const on = (target, type, fn) => target.addEventListener(type, fn);

/**
 * A row of a table.
 * @param {string[]} cells
 */
export function tableRow(cells) {
	const row = element('tr');
	row.append(...cells.map(text => element('td', '', text)));
	return row;
}

export const ratio = () => window.devicePixelRatio || 1;

/**
 * A pen on a canvas that becomes as large as its element, in the screen's pixels.
 * @param {HTMLCanvasElement} canvas
 */
export const penOf = canvas => /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));

/**
 * For those who hear the page.
 * @param {string} text
 */
export const say = text => { $('say').textContent = text; };

// The table would leave no room beside it: it covers the graph, when it is asked for.
export const narrow = () => innerWidth <= 760;
