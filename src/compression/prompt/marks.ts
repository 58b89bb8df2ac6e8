/**
 * Starts everything that gw writes into a message. A text that contains it is left alone: compression is idempotent,
 * and a client's own text is never mistaken for an encoding.
 */
const MARK = '[gw';

/** A user's mark around text that must stay: from one mark to the next, or to the end. */
const KEEP = /<!--\s*\/?gw:keep\s*-->/g;

export const isMarked = (text: string): boolean => text.includes(MARK);

/** Splits a text at its keep marks. Pieces with `keep`, which include the marks, must not change. */
export function splitAtKeeps(text: string): { text: string; keep: boolean }[] {
  if (!text.includes('gw:keep')) return [{ text, keep: false }];
  const pieces: { text: string; keep: boolean }[] = [];
  let from = 0;
  let open: number | undefined;
  for (const match of text.matchAll(KEEP)) {
    if (open === undefined) {
      open = match.index;
      continue;
    }
    const end = match.index + match[0].length;
    pieces.push({ text: text.slice(from, open), keep: false }, { text: text.slice(open, end), keep: true });
    from = end;
    open = undefined;
  }
  pieces.push({ text: text.slice(from, open ?? text.length), keep: false });
  if (open !== undefined) pieces.push({ text: text.slice(open), keep: true });
  return pieces;
}
