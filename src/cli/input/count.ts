import { usageError } from '../exit.ts';

/** Parses the whole number of an option such as `--limit`. Throws a usage error outside of `min` to `max`. */
export function readCount(
  text: string,
  option: string,
  { min = 0, max }: { min?: number; max?: number } = {},
): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= min && (max === undefined || count <= max)) return count;
  throw usageError(
    `${option} ${text} is not a whole number${max === undefined ? '' : ` from ${min} to ${max}`}`,
  );
}
