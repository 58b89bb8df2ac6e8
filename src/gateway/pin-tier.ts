import { type Edit, insertMember, replaceValue } from '../json/edit.ts';
import type { Admitted } from './admit.ts';
import type { Job } from './job.ts';
import type { Target } from './resolve.ts';

/** OpenAI alone lets a project have a dearer tier by default, and these endpoints alone have the field. */
const MAKER = 'openai';
const ENDPOINTS = new Set(['chat/completions', 'responses']);

/**
 * Asks for the tier that a budget held for, where the request leaves it to the provider: a project at OpenAI may have
 * one at several times the price as its default, which no answer has told of yet.
 */
export function pinTier({ asked, wire }: Job, { provider }: Target, { remaining }: Admitted): Edit[] {
  if (remaining === null || provider.name !== MAKER || !ENDPOINTS.has(wire.endpoint)) return [];
  const { bytes, members } = asked;
  const member = members.find(({ key }) => key === 'service_tier');
  if (!member) return [insertMember(members, 'service_tier', '"default"')];
  const value = bytes.toString('latin1', member.start, member.end);
  return value === '"auto"' || value === 'null' ? [replaceValue(member, '"default"')] : [];
}
