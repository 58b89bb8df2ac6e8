/** Variable with gw's key, if an agent's settings name one. Not GW_KEY, which a `.env` of the agent could override. */
export const RUN_KEY = 'GW_RUN_KEY';

/** Header with gw's key, for agents that send their own login in `authorization`. */
export const KEY_HEADER = 'x-gw-key';

/** Claude Code's custom headers, one per line, with gw's key replacing an earlier one. */
export function withKeyHeader(headers: string | undefined, key: string): string {
  const others = (headers ?? '').split('\n').filter((line) => !/^\s*(x-gw-key\s*:|$)/i.test(line));
  return [...others, `${KEY_HEADER}: ${key}`].join('\n');
}
