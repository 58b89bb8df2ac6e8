import { describe, expect, test } from 'vitest';
import { depthOf, PLAIN, paletteOf } from '../../src/terminal/palette.ts';
import { THEMES, type ThemeName } from '../../src/terminal/themes.ts';

describe('depthOf()', () => {
  test.each([
    [true, {}, 16],
    [true, { TERM: 'xterm-256color' }, 256],
    [true, { TERM: 'xterm-256color', COLORTERM: 'truecolor' }, 'true'],
    [true, { TERM: 'dumb', COLORTERM: 'truecolor' }, 0],
    [true, { COLORTERM: 'truecolor', NO_COLOR: '1' }, 0],
    [true, { FORCE_COLOR: '0' }, 0],
    [false, { COLORTERM: 'truecolor' }, 0],
    [false, { FORCE_COLOR: '1', COLORTERM: 'truecolor' }, 16],
    [false, { FORCE_COLOR: '3' }, 'true'],
    [false, { FORCE_COLOR: 'true', TERM: 'screen-256color' }, 256],
  ] as const)('a terminal (%s) with %o has %s colours', (isTTY, env, depth) => {
    expect(depthOf(isTTY, env)).toBe(depth);
  });
});

describe('paletteOf()', () => {
  test('writes the same role at each depth and for each background', () => {
    const accents = ([16, 256, 'true'] as const).map((depth) => paletteOf({ depth }).accent('x'));
    expect(accents).toEqual([
      '\u001b[36mx\u001b[39m',
      '\u001b[38;5;80mx\u001b[39m',
      '\u001b[38;2;86;212;221mx\u001b[39m',
    ]);
    expect(paletteOf({ depth: 'true', background: 'light' }).accent('x')).toContain('38;2;11;114;133');
    expect(paletteOf({ depth: 256 }).part?.('x', 0, 1)).toBe('\u001b[38;5;80;48;5;68mx\u001b[39;49m');
    expect(paletteOf({ depth: 0 })).toBe(PLAIN);
  });

  // Ratio of luminances: https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio
  test.each(Object.keys(THEMES) as ThemeName[])('text in the colours of %s can be read', (name) => {
    const { accent, warn, bad } = THEMES[name];
    for (const { dark, light } of [accent, warn, bad]) {
      expect(contrast(dark, '#1e1e1e')).toBeGreaterThan(4.5);
      expect(contrast(light, '#ffffff')).toBeGreaterThan(4.5);
    }
  });
});

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
