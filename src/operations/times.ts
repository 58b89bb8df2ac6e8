/** UTC milliseconds of an ISO 8601 time; undefined and null stay. */
export const parseTime = <Time extends string | null | undefined>(text: Time) =>
  (text == null ? text : Date.parse(text)) as Time extends string ? number : Time;

/** ISO 8601 time of UTC milliseconds; undefined and null stay. */
export const timeText = <Time extends number | null | undefined>(timeMs: Time) =>
  (timeMs == null ? timeMs : new Date(timeMs).toISOString()) as Time extends number ? string : Time;
