import { isObject } from '../../json/object.ts';

/** Merges the usage of two events: Anthropic reports it at the start and at the end, and later values count. */
export function addUsage(before: unknown, usage: unknown): unknown {
  if (!isObject(before) || !isObject(usage)) return usage;
  const reported = Object.entries(usage).filter(([, value]) => value !== null);
  return { ...before, ...Object.fromEntries(reported) };
}
