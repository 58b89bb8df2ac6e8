import { SettingError } from './setting-error.ts';
import type { Written } from './written.ts';

/** How long records are kept; `written` is `90d` or `forever`. */
export interface Retention extends Written {
  /** Undefined: forever. */
  ms: number | undefined;
}

const DAY_MS = 86_400_000;

/** Parses whole days such as `90d`, or `forever` or its synonym `off`. Throws SettingError. */
export function parseRetention(value: unknown): Retention {
  if (value === 'forever' || value === 'off') return { written: 'forever', ms: undefined };
  const days = typeof value === 'string' ? Number(/^(\d{1,4})d$/.exec(value)?.[1]) : Number.NaN;
  if (days >= 1) return { written: `${days}d`, ms: days * DAY_MS };
  throw new SettingError(`${JSON.stringify(value)} is neither a number of days, such as 90d, nor forever`);
}
