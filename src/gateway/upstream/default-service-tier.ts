import { type Edit, insertMember, replaceValue } from '../../json/edit.ts';
import { readValue } from '../../json/scan.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Admitted } from '../admission/admitted.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';

/** What is sent where has the field, whatever the client asked in. */
const PATHS = new Set(['/chat/completions', '/responses']);

/**
 * Who may have a dearer tier by default: a project at OpenAI, and a deployment at Azure (of whose addresses those with a
 * date for a version may not know the field):
 * https://learn.microsoft.com/azure/foundry/openai/concepts/priority-processing
 * At the others that have tiers one has to ask for a dearer one: Google, xAI, Fireworks, Groq, Cerebras. What "auto" gets
 * at the last two is in a contract that nobody publishes.
 */
function hasTiers({ name, basePath }: Provider): boolean {
  return name === 'openai' || (name === 'azure' && basePath.endsWith('/v1'));
}

/**
 * Asks for the tier that a budget held for, where the request leaves it to the provider: its account may have one at
 * several times the price as its default, which no answer has told of yet.
 */
export function defaultServiceTierEdits(
  { request, wire }: RequestContext,
  { provider }: Target,
  { remaining }: Admitted,
): Edit[] {
  if (remaining === null || !hasTiers(provider) || !PATHS.has(wire.path)) return [];
  const { bytes, members } = request;
  const member = members.find(({ key }) => key === 'service_tier');
  if (!member) return [insertMember(members, 'service_tier', '"default"')];
  const value = readValue(bytes, member);
  return value === 'auto' || value === null ? [replaceValue(member, '"default"')] : [];
}
