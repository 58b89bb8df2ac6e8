import type { IncomingHttpHeaders } from 'node:http';

/** Codex names itself in a header. */
export function isFromCodex({ originator }: IncomingHttpHeaders): boolean {
  return String(originator ?? '').startsWith('codex');
}
