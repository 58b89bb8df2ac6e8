const DAY_MS = 86_400_000;

/** The setting `retention.requests` in milliseconds; undefined: for good. */
export function retentionMs(setting: string): number | undefined {
  return setting === 'forever' ? undefined : Number.parseInt(setting, 10) * DAY_MS;
}
