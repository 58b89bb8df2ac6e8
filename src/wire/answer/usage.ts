import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { count } from '../../pricing/payload-fields.ts';
import { parseObject } from './events.ts';

const USAGE = Buffer.from('"usage"');
const TIER = Buffer.from('"service_tier"');
/** Longest distance from the usage to the end of the body for the fast path. */
const MAX_END_BYTES = 4096;

/** The top-level `usage` of a body, with its `service_tier`; undefined without one or if the body isn't an object. */
export function usageMember(answer: Buffer): unknown {
  const at = answer.lastIndexOf(USAGE);
  if (at < 0) return undefined;
  return (answer.length - at > MAX_END_BYTES ? undefined : usageAtEnd(answer, at)) ?? usageAnywhere(answer);
}

/**
 * Fast path: parses only the end of the body. `{` plus the text from a top-level member on is valid JSON; from a nested
 * member on it isn't. Undefined if that fails, or if the service tier may precede the usage.
 */
function usageAtEnd(answer: Buffer, at: number): unknown {
  const end = parseObject(`{${answer.toString('utf8', at)}`);
  if (!end || (end.service_tier === undefined && answer.subarray(0, at).includes(TIER))) return undefined;
  return withTier(end.usage, end.service_tier);
}

function usageAnywhere(answer: Buffer): unknown {
  try {
    const members = scanObject(answer);
    const member = members.find(({ key }) => key === 'usage');
    const tier = member && members.find(({ key }) => key === 'service_tier');
    const usage = member && readValue(answer, member);
    return tier ? withTier(usage, readValue(answer, tier)) : usage;
  } catch {
    return undefined;
  }
}

/** Adds the service tier to the usage, in place. */
export function withTier(usage: unknown, tier: unknown): unknown {
  if (isObject(usage) && typeof tier === 'string') usage.service_tier ??= tier;
  return usage;
}

type Usage = Record<string, unknown>;

/**
 * Merges the usage of two events of one response, such as Anthropic's first and last. Counts are cumulative
 * (https://platform.claude.com/docs/en/build-with-claude/streaming#event-types), so the larger of two counts applies,
 * at any depth. `isOpening`: `before` is from the first event. Its output count is provisional and a later 0 resets it.
 * Its input counts are replaced by those of the last event.
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

/** Input counts that the last event corrects. A last event with zeros only corrects nothing. */
function closingInput(before: Usage, end: Usage): Usage {
  const reported = INPUT.filter((key) => count(end[key]) !== undefined);
  if (reported.every((key) => end[key] === 0)) return {};
  const at = (usage: Usage, key: string) => count(usage[key]) ?? 0;
  if (!reported.includes(FRESH)) {
    // DashScope's first event counts the whole prompt, and its last event states the cached part.
    const cached = at(end, CACHED) + at(end, WRITTEN);
    const isWithin = at(before, CACHED) + at(before, WRITTEN) === 0 && cached <= at(before, FRESH);
    return isWithin ? { [FRESH]: at(before, FRESH) - cached } : {};
  }
  const input: Usage = Object.fromEntries(reported.map((key) => [key, end[key]]));
  if (reported.includes(WRITTEN)) input[LIFETIMES] = end[LIFETIMES] ?? lifetimesOf(before, at(end, WRITTEN));
  const decreased = reported.filter((key) => at(end, key) < at(before, key));
  return decreased.length === 0
    ? input
    : { ...input, superseded: Object.fromEntries(INPUT.map((key) => [key, at(before, key)])) };
}

/** Cache lifetimes from the first event, capped at the written tokens of the last, which doesn't state lifetimes. */
function lifetimesOf({ [LIFETIMES]: lifetimes }: Usage, written: number): unknown {
  if (!isObject(lifetimes)) return lifetimes;
  const hour = Math.min(count(lifetimes.ephemeral_1h_input_tokens) ?? 0, written);
  return { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour };
}
