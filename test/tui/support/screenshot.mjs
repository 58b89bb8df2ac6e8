// Draws a terminal's screen as SVG: node test/tui/support/screenshot.mjs OUT.svg [COLUMNSxROWS] -- COMMAND...
// The command runs in tmux for a few seconds; what it shows then is drawn, and the terminal is closed.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const SETTLE_MS = 8_000;
const CELL = { width: 8, height: 17, baseline: 13 };
const PAD = 14;
// A dark window of its own reads on light pages and on dark ones.
const COLOURS = { back: '#14171c', text: '#d5dae2', 31: '#ff7b72', 33: '#e3b341', 36: '#56d4dd' };
const DIM = 0.55;
/** A change of style, or a character. */
const SIGNS = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m|(.)`, 'gu');
const LEFT = '▏▎▍▌▋▊▉█';
const LOW = '▁▂▃▄▅▆▇█';

const cut = process.argv.indexOf('--');
if (cut < 0) {
  console.error('Usage: node test/tui/support/screenshot.mjs OUT.svg [COLUMNSxROWS] -- COMMAND...');
  process.exit(2);
}
const [out, size = '140x40'] = process.argv.slice(2, cut);
const [columns, rows] = size.split('x').map(Number);

const socket = `gw-shot-${process.pid}`;
const tmux = (...args) =>
  execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' });
tmux('-u', 'new-session', '-d', '-x', String(columns), '-y', String(rows), ...process.argv.slice(cut + 1));
await sleep(SETTLE_MS);
const lines = tmux('capture-pane', '-e', '-p').replace(/\n+$/, '').split('\n');
tmux('kill-server');
writeFileSync(out, svgOf(lines));

/** A line as cells with their styles. */
function cellsOf(line) {
  const cells = [];
  let style = {};
  for (const [, codes, character] of line.matchAll(SIGNS)) {
    if (character === undefined) style = applied(style, codes);
    else cells.push({ character, style });
  }
  return cells;
}

function applied(before, codes) {
  let style = before;
  for (const code of codes.split(';')) {
    if (code === '' || code === '0') style = {};
    else if (code === '1') style = { ...style, bold: true };
    else if (code === '2') style = { ...style, dim: true };
    else if (code === '22') style = { ...style, bold: false, dim: false };
    else if (code === '39') style = { ...style, colour: undefined };
    else if (code in COLOURS) style = { ...style, colour: code };
  }
  return style;
}

function svgOf(all) {
  const width = columns * CELL.width + 2 * PAD;
  const height = all.length * CELL.height + 2 * PAD;
  const grid = all.map(cellsOf);
  markColumns(grid);
  const body = grid.flatMap((cells, row) => runsOf(cells).map((run) => drawn(run, row))).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="gw dashboard">
<rect width="100%" height="100%" rx="8" fill="${COLOURS.back}"/>
<g shape-rendering="crispEdges" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" xml:space="preserve">
${body}
</g>
</svg>
`;
}

/** Full blocks of a chart of columns fill their cells; those of bars leave a gap to the next line. */
function markColumns(grid) {
  grid.forEach((cells, row) => {
    cells.forEach((cell, column) => {
      if (cell.character !== '█') return;
      const above = grid[row - 1]?.[column];
      const beside = [cells[column - 1], cells[column + 1]];
      cell.tall = isColumn(above) || beside.some(isColumn);
    });
    for (let column = cells.length - 2; column >= 0; column--) {
      if (cells[column].character === '█') cells[column].tall ||= cells[column + 1].tall;
    }
  });
  // The top of a column that is as high as the chart.
  for (let row = grid.length - 2; row >= 0; row--) {
    grid[row].forEach((cell, column) => {
      if (cell.character === '█') cell.tall ||= grid[row + 1][column]?.tall;
    });
  }
}

function isColumn(cell) {
  return (
    cell !== undefined && (cell.tall === true || (LOW.includes(cell.character) && cell.character !== '█'))
  );
}

/** Cells in a row that are drawn alike. */
function runsOf(cells) {
  const runs = [];
  cells.forEach(({ character, style, tall }, column) => {
    if (character === ' ') return;
    const shape = tall ? { y: 0, height: 1, width: 1, opacity: 1 } : shapeOf(character);
    const last = runs.at(-1);
    const key = JSON.stringify([style, shape && [shape.y, shape.height, shape.opacity]]);
    const joins = last?.key === key && last.column + last.text.length === column && last.whole;
    if (joins) last.text += character;
    else runs.push({ key, column, text: character, style, shape, whole: true });
    const run = runs.at(-1);
    run.whole = shape === undefined || shape.width === 1;
    if (shape) run.cells = run.text.length - 1 + shape.width;
  });
  return runs;
}

/** Blocks and rules as parts of a cell: glyphs of fonts leave gaps between them. */
function shapeOf(character) {
  if (character === '─') return { y: 0.5, height: 0.06, width: 1, opacity: 1 };
  if (character === '░') return { y: 0.12, height: 0.76, width: 1, opacity: 0.22 };
  if (character === '█') return { y: 0.12, height: 0.76, width: 1, opacity: 1 };
  const left = LEFT.indexOf(character);
  if (left >= 0) return { y: 0.12, height: 0.76, width: (left + 1) / 8, opacity: 1 };
  const low = LOW.indexOf(character);
  return low < 0 ? undefined : { y: 1 - (low + 1) / 8, height: (low + 1) / 8, width: 1, opacity: 1 };
}

function drawn({ column, text, style, shape, cells }, row) {
  const x = PAD + column * CELL.width;
  const y = PAD + row * CELL.height;
  const fill = style.colour ? COLOURS[style.colour] : COLOURS.text;
  const opacity = (style.dim ? DIM : 1) * (shape?.opacity ?? 1);
  const faint = opacity < 1 ? ` opacity="${opacity.toFixed(2)}"` : '';
  if (shape) {
    const top = (y + shape.y * CELL.height).toFixed(1);
    const wide = (cells * CELL.width).toFixed(1);
    return `<rect x="${x}" y="${top}" width="${wide}" height="${(shape.height * CELL.height).toFixed(1)}" fill="${fill}"${faint}/>`;
  }
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const weight = style.bold ? ' font-weight="600"' : '';
  return `<text x="${x}" y="${y + CELL.baseline}" textLength="${[...text].length * CELL.width}" fill="${fill}"${weight}${faint}>${escaped}</text>`;
}
