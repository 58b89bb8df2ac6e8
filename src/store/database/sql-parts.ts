import { requestIdAt } from '../../ids.ts';

/**
 * SQL for an id that the ids of all requests before a time, UTC milliseconds, are below: a bound for an index, beside the
 * condition on `at`. Ids are ahead of the clock by less than a minute, or by what it was once wrong.
 */
export const idsBefore = (timeMs: number): string =>
  `${requestIdAt(timeMs)} + 4096 * (60000 + coalesce((SELECT value FROM meta WHERE key = 'ids_ahead_ms'), 0))`;

/**
 * SQL for the lowest id of about the newest `count` records: a bound for `request_log`, which SQLite would otherwise
 * sort whole to find its newest rows.
 */
export const newestFrom = (count: number): string =>
  `coalesce((SELECT id FROM requests ORDER BY id DESC LIMIT 1 OFFSET ${count - 1}), 0)`;

/** SQL for `provider/model`, from names `v` (provider) and `m` (model). */
export const MODEL_NAME =
  "CASE WHEN v.name = '' OR m.name LIKE v.name || '/%' THEN m.name ELSE v.name || '/' || m.name END";

/** SQL for the value of a label in `labels`; null if there is none. Names of labels have no quotes. */
export const labelValueSql = (name: string) => `labels ->> '$."${name}"'`;

/** SQL for whether projects `p` share budgets `b`. */
export const SHARES = `(b.projects = '*' OR (b.projects <> '' AND p.id IN (SELECT value FROM json_each(b.projects))))`;
