import { PRESETS } from '../providers/presets.ts';

/**
 * Parses `provider/model`, or the name of a model at any provider. Model names can contain slashes, so the part before
 * the first one counts as a provider only if it names a known one.
 */
export function modelOf(text: string, configured: readonly string[]): { provider: string; model: string } {
  const slash = text.indexOf('/');
  const first = text.slice(0, Math.max(0, slash));
  const isProvider = Object.hasOwn(PRESETS, first) || configured.includes(first) || first === 'sandbox';
  return isProvider ? { provider: first, model: text.slice(slash + 1) } : { provider: '', model: text };
}
