import { type Background, type Colour, THEMES, type Theme, type ThemeName } from './themes.ts';

/** Writes text in a style. */
export type Paint = (text: string) => string;

/** Styles of all output. No state depends on colour alone or on telling red from green. */
export interface Palette {
  bold: Paint;
  dim: Paint;
  accent: Paint;
  warn: Paint;
  bad: Paint;
  held: Paint;
  /** For what must be seen from across a room. */
  alarm: Paint;
  /** Cells of a stacked chart: a part, with another one behind it. Undefined without colours. */
  part: ((text: string, part: number, behind?: number) => string) | undefined;
}

/** The name of a style. */
export type Style = Exclude<keyof Palette, 'part'>;

/** The number of colours: none, the terminal's own sixteen, the fixed 256, or all. */
export type Depth = 0 | 16 | 256 | 'true';

/** No style. */
export const plain: Paint = (text) => text;

export const PLAIN: Palette = {
  ...{ bold: plain, dim: plain, accent: plain, warn: plain, bad: plain, held: plain, alarm: plain },
  part: undefined,
};

interface PaletteOptions {
  depth: Depth;
  theme?: ThemeName;
  background?: Background;
}

export function paletteOf({ depth, theme = 'gw', background = 'dark' }: PaletteOptions): Palette {
  if (depth === 0) return PLAIN;
  const { accent, warn, bad, held, parts }: Theme = THEMES[theme];
  const front = (colour: Colour) => paint(codeOf(colour, depth, background), '39');
  const partCodes = parts.map((colour) => codeOf(colour, depth, background));
  return {
    bold: paint('1', '22'),
    dim: paint('2', '22'),
    accent: front(accent),
    warn: front(warn),
    bad: front(bad),
    held: front(held),
    alarm: paint(`1;7;${codeOf(bad, depth, background)}`, '22;27;39'),
    part(text, part, behind) {
      const code = partCodes[part % partCodes.length] ?? '39';
      if (behind === undefined) return paint(code, '39')(text);
      const back = backgroundCode(partCodes[behind % partCodes.length] ?? '49');
      return paint(`${code};${back}`, '39;49')(text);
    },
  };
}

/** The terminal's own sixteen colours. */
export const COLOURED = paletteOf({ depth: 16 });

function paint(on: string, off: string): Paint {
  return (text) => (text === '' ? text : `\u001b[${on}m${text}\u001b[${off}m`);
}

function codeOf(colour: Colour, depth: Depth, background: Background): string {
  if (depth === 16 || colour.ansi === 39) return String(colour.ansi);
  const [red = 0, green = 0, blue = 0] = channelsOf(colour[background]);
  if (depth === 'true') return `38;2;${red};${green};${blue}`;
  // The cube of 6 levels a channel, which terminals draw alike: https://en.wikipedia.org/wiki/ANSI_escape_code#8-bit
  const [r = 0, g = 0, b = 0] = [red, green, blue].map((channel) =>
    channel < 48 ? 0 : channel < 115 ? 1 : Math.min(5, Math.floor((channel - 35) / 40)),
  );
  return `38;5;${16 + 36 * r + 6 * g + b}`;
}

/** `36` is `46` as a background, `38;5;80` is `48;5;80`. */
const backgroundCode = (code: string) => code.replace(/^\d+/, (first) => String(Number(first) + 10));

const channelsOf = (hex: string) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

export type Env = Readonly<Record<string, string | undefined>>;

/** How many colours a terminal says it has. Any non-empty NO_COLOR counts: https://no-color.org */
export function depthOf(isTTY: boolean, env: Env): Depth {
  if (env.NO_COLOR || env.FORCE_COLOR === '0') return 0;
  const asked = { '1': 16, '2': 256, '3': 'true' } as const;
  const forced = asked[env.FORCE_COLOR as keyof typeof asked];
  if (forced) return forced;
  if (!env.FORCE_COLOR && (!isTTY || env.TERM === 'dumb')) return 0;
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? '')) return 'true';
  return /-256(color)?$/.test(env.TERM ?? '') ? 256 : 16;
}
