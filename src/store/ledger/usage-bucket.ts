const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The minutes of a UTC day at which no hour but a local day begins, in one of the zones of the tz database. */
const CUTS = [150, 210, 570, 615, 675, 810, 870, 915, 1050, 1095, 1110, 1170, 1230];

/** The start of the bucket that a quarter of an hour lies in, from the start of the UTC day. */
const STARTS = Array.from({ length: DAY_MS / QUARTER_MS }, (_, quarter) => {
  const minute = quarter * 15;
  return Math.max(minute - (minute % 60), ...CUTS.filter((cut) => cut <= minute)) * MINUTE_MS;
});

/**
 * The start of a request's bucket: its UTC hour, or the start of a local day in it, whichever zone's: no bucket
 * straddles two days of any calendar, so that reports are right after the time zone was changed.
 */
export function bucketOf(timeMs: number): number {
  const sinceDay = timeMs % DAY_MS;
  return timeMs - sinceDay + (STARTS[Math.floor(sinceDay / QUARTER_MS)] ?? 0);
}
