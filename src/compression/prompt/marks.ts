/**
 * Everything that gw writes into a message carries this; a text that has it is left alone, which makes
 * compression idempotent, and no encoding has to be told from a client's own look-alike.
 */
export const MARK = '[gw';

/** What a text starts with that stands in for an earlier one. */
export const REFERENCE = '[gw: ';

/** A user's fence around text that must stay: from this mark to the next one, or to the end. */
const KEEP = /<!--\s*\/?gw:keep\s*-->/g;

export function isMarked(text: string): boolean {
  return text.includes(MARK);
}

/** Splits a text at its keep marks: odd pieces (the marks among them) must not be touched. */
export function splitAtKeeps(text: string): { text: string; keep: boolean }[] {
  if (!text.includes('gw:keep')) return [{ text, keep: false }];
  const pieces: { text: string; keep: boolean }[] = [];
  let from = 0;
  let open: number | undefined;
  for (const found of text.matchAll(KEEP)) {
    if (open === undefined) {
      open = found.index;
      continue;
    }
    const end = found.index + found[0].length;
    pieces.push({ text: text.slice(from, open), keep: false }, { text: text.slice(open, end), keep: true });
    from = end;
    open = undefined;
  }
  pieces.push({ text: text.slice(from, open ?? text.length), keep: false });
  if (open !== undefined) pieces.push({ text: text.slice(open), keep: true });
  return pieces;
}
