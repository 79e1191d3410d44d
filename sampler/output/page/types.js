// What the modules of the page share: types only.

/** @typedef {import('./data/profile.js').Profile} Profile */
/** @typedef {import('./data/selection.js').Selection} Selection */
/** @typedef {import('./data/tree.js').Tree} Tree */
/** @typedef {import('./data/methods.js').Method} Method */
/** @typedef {import('./data/sides.js').Widths} Widths */

/**
 * @typedef {object} At a frame in the graph
 * @property {number} pane 0: callees or all stacks, 1: callers
 * @property {number} node
 */

/**
 * @typedef {object} View what is shown, and how
 * @property {Tree} main all stacks
 * @property {[Tree, Tree | null]} panes callees or all stacks, callers or nothing; the first one's root is drawn
 * @property {number} method whose callers and callees are shown, or -1
 * @property {At | null} zoom
 * @property {At | null} selected
 * @property {At | null} hover
 * @property {number} marked name of the method under the pointer in the table, or -1
 * @property {boolean} flame roots are at the bottom
 * @property {boolean} bySize order of neighbours; else by name
 * @property {string | null} search
 * @property {Uint8Array | null} matched 1 for each name that the search finds
 * @property {number} width of the canvas
 * @property {number} height
 */

/**
 * @typedef {object} What a tooltip is about: a frame or a method
 * @property {number} name
 * @property {number} total
 * @property {number} self
 * @property {Float64Array | null} columns
 * @property {number} at its first column
 * @property {number} [zoomed] width that is shown
 * @property {boolean} [caller]
 * @property {number[]} [sides]
 */

/**
 * @typedef {object} Bar where a frame is drawn
 * @property {number} left
 * @property {number} top
 * @property {number} width
 */

/**
 * @typedef {object} Look what colours, texts, tooltips, the table and the legend say: how the time was spent
 * (look_kinds.js), or how it changed (look_sides.js)
 * @property {(tree: Tree, node: number) => string} fill colour of a bar
 * @property {((tree: Tree, node: number) => string) | null} thinFill where neighbours below 2 pixels of one colour are
 *   drawn as one
 * @property {(pen: CanvasRenderingContext2D, tree: Tree, node: number, bar: Bar) => void} decorate
 * @property {() => string} rootText
 * @property {(tree: Tree, node: number) => string} summary of a frame, in one line
 * @property {(what: What) => HTMLElement[]} tip
 * @property {() => Element[]} legend
 * @property {boolean} legendInPicture
 * @property {() => Method[]} methods
 * @property {{title: string, self: string, total: string, least: number}} table titles, and what fills a bar at least
 * @property {(m: Method) => [self: string, total: string]} numbers
 * @property {(m: Method, by: 'self' | 'total') => HTMLElement} methodBar
 */

/**
 * @typedef {object} Part of some pages
 * @property {() => void} [init] adds its elements and keys
 * @property {string} [help] a paragraph
 * @property {[key: string, text: string][]} [keys] for the help
 * @property {() => boolean} [filters] it leaves something out
 * @property {() => void} [reset] everything is shown again
 * @property {(address: URLSearchParams) => void} [save]
 * @property {(address: URLSearchParams) => void} [load] the graph is made again afterwards
 * @property {() => void} [recolour] light became dark, or the other way round
 */

/**
 * @typedef {object} App all that belongs to one page; there is no other state
 * @property {Profile} profile
 * @property {Selection} selection
 * @property {View} view
 * @property {import('./graph/colours.js').Colours} colours
 * @property {Look} look
 * @property {Part[]} parts
 * @property {Record<string, () => void>} keys
 * @property {(name: number) => string} shortName
 * @property {() => number} total samples that pass the filters
 * @property {ReturnType<typeof import('./graph/graph.js').createGraph>} graph
 * @property {ReturnType<typeof import('./ui/table.js').createTable>} table
 * @property {ReturnType<typeof import('./ui/tip.js').createTip>} tip
 * @property {ReturnType<typeof import('./ui/menu.js').createMenu>} menu
 * @property {ReturnType<typeof import('./ui/toolbar.js').createToolbar>} toolbar
 * @property {ReturnType<typeof import('./ui/chips.js').createChips>} chips
 * @property {ReturnType<typeof import('./app/navigate.js').createNavigation>} nav
 * @property {ReturnType<typeof import('./app/filters.js').createFilters>} filters
 * @property {ReturnType<typeof import('./app/search.js').createSearch>} search
 * @property {ReturnType<typeof import('./app/address.js').createAddress>} address
 * @property {ReturnType<typeof import('./app/output.js').createOutput>} output
 * @property {ReturnType<typeof import('./ui/theme.js').createTheme>} theme
 * @property {ReturnType<typeof import('./ui/compare.js').createSides>} [sides] where two sides can be compared
 * @property {ReturnType<typeof import('./ui/ranges.js').createRanges>} [slices] where there are time slices
 */

export {};
