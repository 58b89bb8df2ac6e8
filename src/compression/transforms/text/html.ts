import type { Scope } from '../scope.ts';

const PAGE = /^\s*(?:<!doctype html|<html[\s>]|<head[\s>]|<body[\s>])/i;
const ABOUT_MARKUP =
  /\b(?:html|markup|css|styles?|scripts?|javascript|tags?|elements?|class(?:es)?|selectors?|attributes?|dom|meta|seo|links?|urls?|href|accessibility|source)\b/i;
const HIDDEN = ['script', 'style', 'svg', 'noscript', 'template', 'iframe', 'head'];
const BLOCKS = new Set(
  'p div section article header footer main nav aside ul ol li table tr h1 h2 h3 h4 h5 h6 br hr pre blockquote form dl dt dd figure figcaption'.split(
    ' ',
  ),
);
const OPENING: Record<string, string> = {
  h1: '# ',
  h2: '# ',
  h3: '# ',
  h4: '# ',
  td: '| ',
  th: '| ',
  li: '- ',
};
const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  '#39': "'",
};

/** Replaces an HTML page by its text, unless the question is about its markup; level `balanced` only. */
export function readHtml(text: string, scope: Scope): string {
  if (scope.level !== 'balanced' || !PAGE.test(text.slice(0, 200))) return text;
  if (!scope.question || ABOUT_MARKUP.test(scope.question.text)) return text;
  const content = textOf(text);
  scope.leaveOut();
  return `[gw: the text of an HTML page]\n${content}`;
}

function textOf(html: string): string {
  const lower = html.toLowerCase();
  let out = '';
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    out += html.slice(at, open < 0 ? html.length : open);
    if (open < 0) break;
    const close = lower.startsWith('<!--', open) ? html.indexOf('-->', open) + 2 : html.indexOf('>', open);
    if (close < open) break;
    const name = /^<\/?([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 20))?.[1] ?? '';
    if (BLOCKS.has(name)) out += '\n';
    if (html[open + 1] !== '/') out += OPENING[name] ?? '';
    at = close + 1;
    if (HIDDEN.includes(name) && html[open + 1] !== '/') {
      const end = lower.indexOf(`</${name}`, at);
      at = end < 0 ? html.length : end;
    }
  }
  return decode(out)
    .replace(/[ \t\r\f\v]+/g, ' ')
    .replace(/ ?\n[ \n]*/g, '\n')
    .trim();
}

function decode(text: string): string {
  return text.replace(/&(#?\w{2,6});/g, (entity, name: string) => ENTITIES[name] ?? entity);
}
