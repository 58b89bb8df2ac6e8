import { type Edit, insertMember, replaceValue } from '../../json/edit.ts';
import { readValue } from '../../json/scan.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Admitted } from '../admission/admitted.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';

/** Upstream paths whose requests have the field. */
const PATHS = new Set(['/chat/completions', '/responses']);

/**
 * An OpenAI project or an Azure deployment may have a dearer tier as its default:
 * https://learn.microsoft.com/azure/foundry/openai/concepts/priority-processing
 * Azure's dated API versions may not know the field. Google, xAI, Fireworks, Groq and Cerebras use a dearer tier only on
 * request; what "auto" means at the last two depends on contracts that are not public.
 */
function hasDefaultTier({ name, basePath }: Provider): boolean {
  return name === 'openai' || (name === 'azure' && basePath.endsWith('/v1'));
}

/**
 * Asks for the default tier, whose price the budget holds, when the request leaves the tier to the provider: the
 * account may default to a tier at several times that price.
 */
export function defaultServiceTierEdits(
  { request, wire }: RequestContext,
  { provider }: Target,
  { remaining }: Admitted,
): Edit[] {
  if (remaining === null || !hasDefaultTier(provider) || !PATHS.has(wire.path)) return [];
  const { bytes, members } = request;
  const member = members.find(({ key }) => key === 'service_tier');
  if (!member) return [insertMember(members, 'service_tier', '"default"')];
  const value = readValue(bytes, member);
  return value === 'auto' || value === null ? [replaceValue(member, '"default"')] : [];
}
