/** Forty zones: every shape of offset and of daylight saving that is in use, on all continents. */
export const ZONES = [
  'UTC',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Africa/Johannesburg',
  'Africa/Lagos',
  'America/Anchorage',
  'America/Argentina/Buenos_Aires',
  'America/Asuncion',
  'America/Bogota',
  'America/Caracas',
  'America/Chicago',
  'America/Denver',
  'America/Havana',
  'America/Los_Angeles',
  'America/Mexico_City',
  'America/New_York',
  'America/Nuuk',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Asia/Gaza',
  'Asia/Jerusalem',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Shanghai',
  'Asia/Tehran',
  'Asia/Tokyo',
  'Atlantic/Azores',
  'Australia/Eucla',
  'Australia/Lord_Howe',
  'Australia/Sydney',
  'Europe/Berlin',
  'Europe/Dublin',
  'Europe/Istanbul',
  'Europe/London',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
] as const;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A stretch of time with one offset from UTC. */
interface Piece {
  from: number;
  until: number;
  offsetMs: number;
}

/**
 * The offsets of a zone over some years, found by looking at each day and halving where two differ. From them the
 * instants of dates follow by plain arithmetic: another way to them than the calendar's.
 */
export function offsetsOf(timezone: string, fromYear: number, toYear: number): Piece[] {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'medium',
  });
  const offsetAt = (timeMs: number) => Date.parse(`${format.format(timeMs)} UTC`) - timeMs;
  const start = Date.UTC(fromYear, 0, 1) - 3 * DAY_MS;
  const end = Date.UTC(toYear + 1, 0, 1) + 40 * DAY_MS;
  const pieces: Piece[] = [];
  let piece: Piece = { from: start, until: end, offsetMs: offsetAt(start) };
  for (let day = start; day < end; day += DAY_MS) {
    // Twice a day is not looked at: no zone changed its offset twice within one.
    if (offsetAt(day + DAY_MS) === piece.offsetMs) continue;
    let [before, after] = [day, day + DAY_MS];
    while (after - before > 1_000) {
      const middle = before + Math.floor((after - before) / 2_000) * 1_000;
      if (offsetAt(middle) === piece.offsetMs) before = middle;
      else after = middle;
    }
    pieces.push({ ...piece, until: after });
    piece = { from: after, until: end, offsetMs: offsetAt(after) };
  }
  return [...pieces, piece];
}

/** The first instant whose local date is `date` or, where there is no such day, later. */
export function firstInstant(pieces: readonly Piece[], date: string): number {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  for (const { from, until, offsetMs } of pieces) {
    const instant = Math.max(from, midnight - offsetMs);
    if (instant < until) return instant;
  }
  throw new Error(`${date} is outside the years that were looked at`);
}

/** The dates within two days of a change of offset. */
export function datesNearChanges(pieces: readonly Piece[]): string[] {
  return pieces
    .slice(1)
    .flatMap(({ from }) =>
      [-2, -1, 0, 1, 2].map((days) => new Date(from + days * DAY_MS).toISOString().slice(0, 10)),
    );
}
