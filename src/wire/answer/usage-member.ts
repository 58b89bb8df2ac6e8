import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
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
