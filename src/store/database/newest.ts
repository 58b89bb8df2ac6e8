/**
 * SQL for the lowest id of about the newest `count` records: a bound for `request_log`, which SQLite would otherwise
 * sort whole to find its newest rows.
 */
export const newestFrom = (count: number): string =>
  `(SELECT coalesce(min(id), 0) FROM (SELECT id FROM requests ORDER BY id DESC LIMIT ${count}))`;
