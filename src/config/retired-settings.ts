/** Removed settings: the reason, and what to do instead. */
const RETIRED: Record<string, string> = {
  'routing.hedge':
    'gw asks a second target only after the first has failed. To give up on a slow stream sooner: gw config set routing.first_byte_timeout_ms MS',
  'routing.shadow_share': 'gw no longer asks the other tier by itself. Nothing has to be set instead',
  'routing.shadow_budget': 'gw no longer asks the other tier by itself. Nothing has to be set instead',
};

export const RETIRED_KEYS: readonly string[] = Object.keys(RETIRED);

/** Message for a removed setting; undefined for any other key. */
export function retiredMessage(key: string): string | undefined {
  return Object.hasOwn(RETIRED, key)
    ? `${key} was removed in this version of gw: ${RETIRED[key]}`
    : undefined;
}

/** Warning at start if the file has removed settings. */
export function ignoredMessage(keys: readonly string[], file: string): string {
  return `${file} sets ${keys.join(', ')}, which this version of gw has removed and ignores. See: gw doctor`;
}
