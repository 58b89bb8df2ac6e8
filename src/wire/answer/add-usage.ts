import { isObject } from '../../json/object.ts';
import { count } from '../../pricing/payload-fields.ts';

type Usage = Record<string, unknown>;

/**
 * Merges the usage of two events of one answer, such as Anthropic's at its start and at its end. Counts are cumulative
 * (https://platform.claude.com/docs/en/build-with-claude/streaming#event-types): of two figures the larger counts, at any
 * depth. `isOpening`: `before` is of an answer's start. Its output is a guess that a later 0 takes back, and its input is
 * replaced by what the end states.
 */
export function addUsage(before: unknown, usage: unknown, isOpening = false): unknown {
  if (!isObject(usage)) return before ?? usage;
  if (!isObject(before)) return usage;
  const merged: Usage = { ...before };
  for (const [key, value] of Object.entries(usage)) merged[key] = later(merged[key], value);
  if (!isOpening) return merged;
  if (usage.output_tokens === 0) merged.output_tokens = 0;
  return { ...merged, ...closingInput(before, usage) };
}

function later(before: unknown, value: unknown): unknown {
  if (value === null || value === undefined) return before ?? value;
  if (typeof before === 'number' && typeof value === 'number') return Math.max(before, value);
  return isObject(before) ? addUsage(before, value) : value;
}

const FRESH = 'input_tokens';
const CACHED = 'cache_read_input_tokens';
const WRITTEN = 'cache_creation_input_tokens';
const LIFETIMES = 'cache_creation';
const INPUT = [FRESH, CACHED, WRITTEN];

/** The input of an answer that its end states differently than its start; an end of nothing but zeros states none. */
function closingInput(before: Usage, end: Usage): Usage {
  const stated = INPUT.filter((key) => count(end[key]) !== undefined);
  if (stated.every((key) => end[key] === 0)) return {};
  const at = (usage: Usage, key: string) => count(usage[key]) ?? 0;
  if (!stated.includes(FRESH)) {
    // DashScope counts the whole prompt at the start, and names the cached part of it at the end.
    const cached = at(end, CACHED) + at(end, WRITTEN);
    const isWithin = at(before, CACHED) + at(before, WRITTEN) === 0 && cached <= at(before, FRESH);
    return isWithin ? { [FRESH]: at(before, FRESH) - cached } : {};
  }
  const input: Usage = Object.fromEntries(stated.map((key) => [key, end[key]]));
  if (stated.includes(WRITTEN)) input[LIFETIMES] = end[LIFETIMES] ?? lifetimesOf(before, at(end, WRITTEN));
  const fell = stated.filter((key) => at(end, key) < at(before, key));
  return fell.length === 0
    ? input
    : { ...input, superseded: Object.fromEntries(INPUT.map((key) => [key, at(before, key)])) };
}

/** The lifetimes of what was written, which the start alone names, as far as the end has written as much. */
function lifetimesOf({ [LIFETIMES]: lifetimes }: Usage, written: number): unknown {
  if (!isObject(lifetimes)) return lifetimes;
  const hour = Math.min(count(lifetimes.ephemeral_1h_input_tokens) ?? 0, written);
  return { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour };
}
