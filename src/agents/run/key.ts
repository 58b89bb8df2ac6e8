/**
 * The variable that holds gw's key for agents that name a variable of their own. Not GW_KEY: a `.env` of the agent may
 * set that, and would win.
 */
export const RUN_KEY = 'GW_RUN_KEY';

/** gw's key for agents that send a login of their own in `authorization`. */
export const KEY_HEADER = 'x-gw-key';

/** Claude Code's own headers, one a line, with gw's key in place of an earlier one. */
export function withKeyHeader(headers: string | undefined, key: string): string {
  const others = (headers ?? '').split('\n').filter((line) => !/^\s*(x-gw-key\s*:|$)/i.test(line));
  return [...others, `${KEY_HEADER}: ${key}`].join('\n');
}
