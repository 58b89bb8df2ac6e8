const CELL = { width: 8, height: 17, baseline: 13 };
const PAD = 14;
const FACES = { dark: { back: '#14171c', text: '#d5dae2' }, light: { back: '#ffffff', text: '#24292f' } };
/** The terminal's own colours, in which tables are written. */
const ANSI: Readonly<Record<string, string>> = {
  ...{ 31: '#ff7b72', 32: '#57a773', 33: '#e3b341', 34: '#4c7fd6', 35: '#d2a8ff', 36: '#56d4dd' },
  ...{ 37: '#8b949e', 94: '#2f6f94', 96: '#f0a8c8' },
};
const DIM = 0.6;
const LOW = '▁▂▃▄▅▆▇█';
const LEFT = '▏▎▍▌▋▊▉█';
const SHADES = '░▒▓';
const BRAILLE_ROWS: Readonly<Record<string, number>> = { '⡀': 0.86, '⠄': 0.62, '⠂': 0.38, '⠁': 0.14 };
const SIGNS = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m|(.)`, 'gu');

interface Style {
  text?: string;
  back?: string;
  bold?: boolean;
  dim?: boolean;
  inverse?: boolean;
}

interface Cell {
  character: string;
  style: Style;
}

/** A captured screen in true colour as SVG. Text stays text; blocks are shapes, as fonts leave gaps between them. */
export function screenSvg(
  screen: string,
  { columns, face, label }: { columns: number; face: keyof typeof FACES; label: string },
): string {
  const lines = screen.replace(/\n+$/, '').split('\n').map(cellsOf);
  const width = columns * CELL.width + 2 * PAD;
  const height = lines.length * CELL.height + 2 * PAD;
  const body = lines.flatMap((cells, row) => runsOf(cells).map((run) => drawn(run, row, FACES[face])));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
<rect width="100%" height="100%" rx="8" fill="${FACES[face].back}"/>
<g shape-rendering="crispEdges" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" xml:space="preserve">
${body.filter(Boolean).join('\n')}
</g>
</svg>
`;
}

function cellsOf(line: string): Cell[] {
  const cells: Cell[] = [];
  let style: Style = {};
  for (const [, codes, character] of line.matchAll(SIGNS)) {
    if (character === undefined) style = applied(style, codes ?? '');
    else cells.push({ character, style });
  }
  return cells;
}

function applied(before: Style, codes: string): Style {
  let style = before;
  for (const code of codes.match(/[34]8;2;\d+;\d+;\d+|\d+/g) ?? ['0']) {
    if (code.startsWith('38;')) style = { ...style, text: rgb(code) };
    else if (code.startsWith('48;')) style = { ...style, back: rgb(code) };
    else if (code === '0') style = {};
    else if (code === '1') style = { ...style, bold: true };
    else if (code === '2') style = { ...style, dim: true };
    else if (code === '7') style = { ...style, inverse: true };
    else if (code === '22') style = without(style, 'bold', 'dim');
    else if (code === '27') style = without(style, 'inverse');
    else if (code === '39') style = without(style, 'text');
    else if (code === '49') style = without(style, 'back');
    else if (ANSI[code]) style = { ...style, text: ANSI[code] };
    else if (ANSI[Number(code) - 10]) style = { ...style, back: ANSI[Number(code) - 10] ?? '' };
    else throw new Error(`a style that the pictures do not know: ${code}`);
  }
  return style;
}

const rgb = (code: string) => `rgb(${code.split(';').slice(2).join(' ')})`;

function without(style: Style, ...names: (keyof Style)[]): Style {
  return Object.fromEntries(Object.entries(style).filter(([name]) => !names.includes(name as keyof Style)));
}

interface Run {
  column: number;
  text: string;
  style: Style;
}

/** Neighbours that are drawn alike: words in a style, or the same block. */
function runsOf(cells: readonly Cell[]): Run[] {
  const runs: Run[] = [];
  cells.forEach(({ character, style }, column) => {
    // A space without a background ends a word: viewers fold several of them.
    if (character === ' ' && !style.back && !style.inverse) return;
    const last = runs.at(-1);
    const isSame = last && JSON.stringify(last.style) === JSON.stringify(style);
    const isBlock = shapeOf(character) !== undefined;
    const joins = last && (isBlock ? last.text[0] === character : shapeOf(last.text[0] ?? '') === undefined);
    if (isSame && joins && last.column + [...last.text].length === column) last.text += character;
    else runs.push({ column, text: character, style });
  });
  return runs;
}

interface Shape {
  x?: number;
  y: number;
  width: number;
  height: number;
  opacity?: number;
}

/** A block as a part of its cell. */
function shapeOf(character: string): Shape | undefined {
  if (character === '─') return { y: 0.5, width: 1, height: 0.06 };
  const low = LOW.indexOf(character);
  if (low >= 0) return { y: 1 - (low + 1) / 8, width: 1, height: (low + 1) / 8 };
  const left = LEFT.indexOf(character);
  if (left >= 0) return { y: 0.1, width: (left + 1) / 8, height: 0.8 };
  const shade = SHADES.indexOf(character);
  if (shade >= 0) return { y: 0, width: 1, height: 1, opacity: 0.2 + shade * 0.25 };
  const dot = BRAILLE_ROWS[character];
  return dot === undefined ? undefined : { x: 0.3, y: dot - 0.07, width: 0.3, height: 0.14 };
}

function drawn({ column, text, style }: Run, row: number, face: { back: string; text: string }): string {
  const x = PAD + column * CELL.width;
  const y = PAD + row * CELL.height;
  const colours = [style.text ?? face.text, style.back ?? (style.inverse ? face.back : undefined)];
  const [fill, back] = style.inverse ? [colours[1], colours[0]] : colours;
  const cells = [...text].length;
  const behind = back
    ? `<rect x="${x}" y="${y}" width="${cells * CELL.width}" height="${CELL.height}" fill="${back}"/>`
    : '';
  if (text.trim() === '') return behind;
  const shape = shapeOf(text[0] ?? '');
  const opacity = (style.dim ? DIM : 1) * (shape?.opacity ?? 1);
  const faint = opacity < 1 ? ` opacity="${opacity.toFixed(2)}"` : '';
  if (shape) {
    const each = shape.width < 1;
    return `${behind}${Array.from({ length: each ? cells : 1 }, (_, i) => {
      const left = x + (i + (shape.x ?? 0)) * CELL.width;
      const wide = (each ? shape.width : cells) * CELL.width;
      return `<rect x="${left}" y="${(y + shape.y * CELL.height).toFixed(1)}" width="${wide}" height="${(shape.height * CELL.height).toFixed(1)}" fill="${fill}"${faint}/>`;
    }).join('')}`;
  }
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const weight = style.bold ? ' font-weight="600"' : '';
  return `${behind}<text x="${x}" y="${y + CELL.baseline}" textLength="${cells * CELL.width}" fill="${fill}"${weight}${faint}>${escaped}</text>`;
}
