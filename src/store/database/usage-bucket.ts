const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Minutes of a UTC day, off the hour, at which a local day begins in some zone of the tz database. */
const CUTS = [150, 210, 570, 615, 675, 810, 870, 915, 1050, 1095, 1110, 1170, 1230];

/** For each quarter of an hour, the start of its bucket in milliseconds after the start of the UTC day. */
const STARTS = Array.from({ length: DAY_MS / QUARTER_MS }, (_, quarter) => {
  const minute = quarter * 15;
  return Math.max(minute - (minute % 60), ...CUTS.filter((cut) => cut <= minute)) * MINUTE_MS;
});

/**
 * The start of a request's bucket: its UTC hour, cut where a local day begins in some zone. No bucket spans two days of
 * any calendar, so reports stay right after the time zone is changed.
 */
export function bucketOf(timeMs: number): number {
  const sinceDay = timeMs % DAY_MS;
  return timeMs - sinceDay + (STARTS[Math.floor(sinceDay / QUARTER_MS)] ?? 0);
}
