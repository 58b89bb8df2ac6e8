/** SQL for `provider/model`, from names `v` (provider) and `m` (model). */
export const MODEL_NAME =
  "CASE WHEN v.name = '' OR m.name LIKE v.name || '/%' THEN m.name ELSE v.name || '/' || m.name END";

/** SQL for the value of a label in `labels`; null if there is none. Names of labels have no quotes. */
export const labelValueSql = (name: string) => `labels ->> '$."${name}"'`;

/** SQL for whether projects `p` share budgets `b`. */
export const SHARES = `(b.projects = '*' OR (b.projects <> '' AND p.id IN (SELECT value FROM json_each(b.projects))))`;
