import { isObject } from '../../json/object.ts';

/**
 * Merges the usage of two events of one answer, such as Anthropic's at its start and at its end. Counts are cumulative
 * (https://platform.claude.com/docs/en/build-with-claude/streaming#event-types), so none of them ever falls: of two
 * figures the larger counts, at any depth. `isOpening`: `before` is of an answer's start, whose output is a guess that a
 * later 0 takes back.
 */
export function addUsage(before: unknown, usage: unknown, isOpening = false): unknown {
  if (!isObject(usage)) return before ?? usage;
  if (!isObject(before)) return usage;
  const merged: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(usage)) merged[key] = later(merged[key], value);
  if (isOpening && usage.output_tokens === 0) merged.output_tokens = 0;
  return merged;
}

function later(before: unknown, value: unknown): unknown {
  if (value === null || value === undefined) return before ?? value;
  if (typeof before === 'number' && typeof value === 'number') return Math.max(before, value);
  return isObject(before) ? addUsage(before, value) : value;
}
