import { isObject } from '../../json/object.ts';

/** Anthropic reports the usage of a stream in two events: what the later one says counts. */
export function addUsage(before: unknown, usage: unknown): unknown {
  if (!isObject(before) || !isObject(usage)) return usage;
  const stated = Object.entries(usage).filter(([, value]) => value !== null);
  return { ...before, ...Object.fromEntries(stated) };
}
