/** A colour as one of the terminal's own sixteen (its SGR code), and exactly, on dark and on light backgrounds. */
export interface Colour {
  ansi: number;
  dark: string;
  light: string;
}

/** Colours of gw's output by their role. */
export interface Theme {
  accent: Colour;
  warn: Colour;
  bad: Colour;
  /** What running requests hold. */
  held: Colour;
  /** Parts of a stacked chart, the largest first. */
  parts: readonly Colour[];
}

export type Background = 'dark' | 'light';

const colour = (ansi: number, dark: string, light: string): Colour => ({ ansi, dark, light });

const WARN = colour(33, '#e3b341', '#8a5a00');
const BAD = colour(31, '#ff7b72', '#c0262d');
const GREY = colour(37, '#8b949e', '#6e7781');

// Neighbours in `parts` differ in lightness too, for those who see no hues.
export const THEMES = {
  gw: {
    accent: colour(36, '#56d4dd', '#0b7285'),
    warn: WARN,
    bad: BAD,
    held: colour(94, '#2f6f94', '#7cb5d6'),
    parts: [
      colour(36, '#56d4dd', '#0b7285'),
      colour(34, '#4c7fd6', '#5b8def'),
      colour(35, '#d2a8ff', '#6f42c1'),
      colour(32, '#57a773', '#3f9150'),
      colour(96, '#f0a8c8', '#a83f75'),
      GREY,
    ],
  },
  ember: {
    accent: colour(33, '#ffb454', '#a04a00'),
    warn: colour(35, '#f78fb3', '#a0306a'),
    bad: BAD,
    held: colour(32, '#b08968', '#c99f78'),
    parts: [
      colour(33, '#ffb454', '#a04a00'),
      colour(32, '#9c6b3f', '#c98a4b'),
      colour(93, '#f5e0a3', '#7a6a1c'),
      colour(36, '#7fa8a0', '#3d7a70'),
      colour(95, '#d99fc0', '#8a4a73'),
      GREY,
    ],
  },
  mono: {
    accent: colour(39, '#d5dae2', '#24292f'),
    warn: WARN,
    bad: BAD,
    held: colour(37, '#8b949e', '#8c959f'),
    parts: [
      colour(97, '#e6edf3', '#24292f'),
      colour(90, '#6e7681', '#8c959f'),
      colour(37, '#b1bac4', '#57606a'),
      colour(90, '#484f58', '#afb8c1'),
      colour(37, '#8b949e', '#424a53'),
      colour(90, '#30363d', '#d0d7de'),
    ],
  },
} as const satisfies Record<string, Theme>;

export type ThemeName = keyof typeof THEMES;
