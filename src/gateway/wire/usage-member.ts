import { readValue, scanObject } from '../../json/scan.ts';
import { isObject } from './events.ts';

const USAGE = Buffer.from('"usage"');

/**
 * The top-level `usage` of an answer, with the service tier that stands beside it; undefined where there is none or the
 * answer is no JSON object.
 */
export function usageMember(answer: Buffer): unknown {
  if (answer.indexOf(USAGE) < 0) return undefined;
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
