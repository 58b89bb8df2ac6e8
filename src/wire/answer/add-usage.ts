import { isObject } from '../../json/object.ts';

/**
 * Merges the usage of two events: Anthropic reports it at the start and at the end, and later values count. A count never
 * falls within an answer, so a later 0 is no report. Only the output of Anthropic's first event is no more than a guess.
 */
export function addUsage(before: unknown, usage: unknown): unknown {
  if (!isObject(usage)) return before ?? usage;
  if (!isObject(before)) return usage;
  const isReport = (key: string, value: unknown) =>
    value !== null && (value !== 0 || key === 'output_tokens' || typeof before[key] !== 'number');
  return {
    ...before,
    ...Object.fromEntries(Object.entries(usage).filter(([key, value]) => isReport(key, value))),
  };
}
