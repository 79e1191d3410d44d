// Names on bars, as much of them as fits.

export const FONT = '12px system-ui, sans-serif';

/**
 * @param {string[]} names
 * @param {(name: number) => string} shortName
 * @param {CanvasRenderingContext2D} pen
 */
export function createFitter(names, shortName, pen) {
	/** @type {Map<string, number>} */
	const widths = new Map();

	/** @param {string} s */
	function textWidth(s) {
		let w = widths.get(s);
		if (w === undefined) {
			if (widths.size > 50000)
				widths.clear();
			widths.set(s, w = pen.measureText(s).width);
		}
		return w;
	}

	/**
	 * The name, the short name, or its beginning, whatever fits; '' when nothing does.
	 * @param {number} name
	 * @param {number} width
	 */
	return (name, width) => {
		if (width < 16)
			return '';
		if (names[name].length * 4 < width && textWidth(names[name]) <= width)
			return names[name];
		const s = shortName(name), w = textWidth(s);
		if (w <= width)
			return s;
		// Measuring again would cost more than a guess; fillText() squeezes what is guessed too long.
		const n = Math.floor(s.length * (width - 7) / w);
		return n > 1 ? s.slice(0, n) + '…' : '';
	};
}
