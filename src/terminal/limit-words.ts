import type { LimitWindowView } from '../operations/schemas/limits.ts';
import { type Symbols, sparkline } from './bars.ts';
import { MARKS } from './look.ts';
import { percent } from './numbers.ts';
import type { TimeFormat } from './time.ts';

/** The window's name: `5h`, `7d opus`. */
export function windowText({ window, model }: Pick<LimitWindowView, 'window' | 'model'>): string {
  return model === null ? window : `${window} ${model}`;
}

/** Whose windows are listed: by the service, or by the login where a service has several. */
export function ownersOf(windows: readonly LimitWindowView[]): (window: LimitWindowView) => string {
  const isAlone = windows.every(({ service, login }) =>
    windows.every((other) => other.service !== service || other.login === login),
  );
  return ({ service, login }) => (isAlone ? service : login);
}

/** A full window and one that will be full before it resets stand out. */
export function windowMark({ used, full_at }: LimitWindowView): string {
  if (used >= 1) return MARKS.bad;
  return full_at === null ? MARKS.none : MARKS.warn;
}

/** What the window comes to at the rate of the last hour. */
export function paceText(
  { used, full_at, resets_at }: LimitWindowView,
  times: TimeFormat,
  now: number,
): string {
  if (resets_at === null) return 'has reset';
  if (used >= 1) return 'full';
  return full_at === null ? 'lasts' : `full at ${times.moment(Date.parse(full_at), now)}`;
}

/** The windows of a service in a line: `5h 62% (resets 18:00), 7d 31%`. */
export function windowsText(windows: readonly LimitWindowView[], times: TimeFormat, now: number): string {
  return windows
    .map((each) => `${windowText(each)} ${percent(each.used)}${detail(each, times, now)}`)
    .join(', ');
}

function detail({ resets_at, full_at }: LimitWindowView, times: TimeFormat, now: number): string {
  if (resets_at === null) return '';
  const full = full_at === null ? '' : `full at ${times.moment(Date.parse(full_at), now)}, `;
  return ` (${full}resets ${times.moment(Date.parse(resets_at), now)})`;
}

/** The last hour as a chart whose top is the most that was used in it. */
export function hourText({ last_hour }: LimitWindowView, symbols: Symbols): string {
  return sparkline(
    last_hour.map((share) => share ?? undefined),
    symbols,
  );
}
