import type { Scope } from '../scope.ts';

const MIN_LENGTH = 400;
const SHOWN = 24;

/** Replaces long base64, which no model reads, by its start and length; level `balanced` only. */
export function foldBlobs(text: string, scope: Scope): string {
  if (scope.level !== 'balanced') return text;
  let out = '';
  let from = 0;
  // A run of this length covers a multiple of it, so only those positions are checked.
  for (let at = MIN_LENGTH - 1; at < text.length; at += MIN_LENGTH) {
    let start = at;
    let end = at;
    while (end < text.length && isBase64(text.charCodeAt(end))) end++;
    while (start > from && isBase64(text.charCodeAt(start - 1))) start--;
    if (end - start >= MIN_LENGTH && end > at && isRandom(text.slice(end - MIN_LENGTH, end))) {
      scope.leaveOut();
      out += `${text.slice(from, start + SHOWN)}… [gw: base64, ${end - start} characters]`;
      from = end;
    }
    // Continues after the run.
    while (at + MIN_LENGTH < end) at += MIN_LENGTH;
  }
  return from === 0 ? text : out + text.slice(from);
}

function isBase64(code: number): boolean {
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
  return isLetter || (code >= 47 && code <= 57) || code === 43 || code === 61;
}

/** Whether a run is random enough: not one repeated letter, nor words without spaces. */
function isRandom(sample: string): boolean {
  const kinds = [/[A-Z]/g, /[a-z]/g, /\d/g].map((kind) => sample.match(kind)?.length ?? 0);
  return kinds.every((count) => count > 20);
}
