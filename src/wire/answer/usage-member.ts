import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { parseObject } from './events.ts';

const USAGE = Buffer.from('"usage"');
const TIER = Buffer.from('"service_tier"');
/** What follows a usage at the end of an answer is this short. */
const MAX_END_BYTES = 4096;

/**
 * The top-level `usage` of an answer, with the service tier that stands beside it; undefined where there is none or the
 * answer is no JSON object.
 */
export function usageMember(answer: Buffer): unknown {
  const at = answer.lastIndexOf(USAGE);
  if (at < 0) return undefined;
  return (answer.length - at > MAX_END_BYTES ? undefined : usageAtEnd(answer, at)) ?? usageAnywhere(answer);
}

/**
 * From a top-level member on, an object lacks nothing but its opening brace; from anywhere else, that is no JSON.
 * Undefined as well where the tier may stand before the usage.
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

/** The usage with the service tier that a provider states beside it; in the very object, which is nobody else's. */
export function withTier(usage: unknown, tier: unknown): unknown {
  if (isObject(usage) && typeof tier === 'string') usage.service_tier ??= tier;
  return usage;
}
