import type { IncomingHttpHeaders } from 'node:http';

/** Whether the headers are those of Codex, OpenAI's coding agent. */
export function isFromCodex({ originator }: IncomingHttpHeaders): boolean {
  return String(originator ?? '').startsWith('codex');
}
