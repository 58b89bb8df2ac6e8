import type { Scope } from './scope.ts';

const BLOB = /(?:data:[\w.+-]+\/[\w.+-]+;base64,)?[A-Za-z0-9+/]{400,}={0,2}/g;
const SHOWN = 24;

/** Long base64, which no model reads, becomes its start and length; level `balanced` only. */
export function foldBlobs(text: string, scope: Scope): string {
  if (scope.level !== 'balanced') return text;
  return text.replace(BLOB, (blob) => {
    if (!isRandom(blob)) return blob;
    scope.leaveOut();
    return `${blob.slice(0, SHOWN)}… [gw: base64, ${blob.length} characters]`;
  });
}

/** A run of one letter, or of plain words without blanks, is something else. */
function isRandom(blob: string): boolean {
  const sample = blob.slice(-400);
  const kinds = [/[A-Z]/g, /[a-z]/g, /\d/g].map((kind) => sample.match(kind)?.length ?? 0);
  return kinds.every((count) => count > 20);
}
