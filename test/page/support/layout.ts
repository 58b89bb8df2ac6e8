import type { Page } from 'playwright-core';

/**
 * Where the landmarks of a view are, from left to right, and its colours. Fonts differ between machines, and with them all
 * heights and every pixel; what the style sheet decides alone, no font moves.
 */
export function layoutOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const boxes = [
      ...document.querySelectorAll('nav, main, main section, main figure.chart, main footer'),
    ].map((element) => {
      const { left, width } = element.getBoundingClientRect();
      const name = element.getAttribute('aria-label') ?? element.tagName.toLowerCase();
      return `${name}: ${Math.round(left)}+${Math.round(width)}`;
    });
    const colours = (
      ['body', 'nav a', 'h1', 'section', 'th', 'td', '.bad', '.warn', '.swatch', 'dd.note'] as const
    ).flatMap((selector) => {
      const element = document.querySelector(selector);
      if (!element) return [];
      const { color, backgroundColor, borderTopColor } = getComputedStyle(element);
      return [`${selector}: ${color}, ${backgroundColor}, ${borderTopColor}`];
    });
    return [...boxes, ...colours];
  });
}
