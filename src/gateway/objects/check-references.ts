import { bytesAt } from '../../json/bytes-at.ts';
import type { Member } from '../../json/scan.ts';
import { unseenIn } from '../admission/measure-prompt.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Asker, References } from '../state/access/stored-objects.ts';
import type { Target } from '../state/resolver.ts';
import { MAY_NAME, referencesInText } from './references.ts';

/**
 * Throws GwError 404 if a completion refers to what another project has stored at a provider: a response, a
 * conversation, a file, a container. Does nothing while there is one project.
 */
export function checkReferences(
  gateway: Pick<Gateway, 'memory' | 'objects'>,
  context: RequestContext,
  targets: readonly Target[],
): void {
  if (!gateway.objects.shared() || context.caller.admin || !mayRefer(context)) return;
  const references = referencesInText(context.request.bytes.toString('utf8'));
  const providers = targets.map(({ provider }) => provider.name);
  gateway.objects.check(askerOf(context, providers), withoutOwnItems(gateway, context, references));
}

export function askerOf(
  { caller, project }: Pick<RequestContext, 'caller' | 'project'>,
  providers: readonly string[],
): Asker {
  return { projectId: project.id, admin: caller.admin, providers };
}

/** gw itself keeps the items of translated answers, for their project. */
function withoutOwnItems(
  { memory }: Pick<Gateway, 'memory'>,
  { project }: RequestContext,
  { named, seen }: References,
): References {
  const items = memory(project.id);
  return { named: new Set([...named].filter((id) => items.recall(id) === undefined)), seen };
}

/** Fields of a request that refer to stored objects. */
const FIELDS = new Set(['previous_response_id', 'conversation', 'prompt', 'container', 'file_ids']);

/** A quick check that may find more than there is, but never less. */
function mayRefer(context: RequestContext): boolean {
  const { bytes, members } = context.request;
  if (members.some((member) => FIELDS.has(member.key) || optionRefers(bytes, member))) return true;
  // An item of a response stands for itself by its id alone.
  if (/^responses/.test(context.wire.endpoint) && bytes.indexOf(ID) >= 0) return true;
  return mentionsIds(bytes) || unseenIn(context) !== undefined;
}

/** What is read block by block, of known shapes: whatever has another one is unseen. */
const PROMPTS = new Set(['messages', 'input', 'system', 'instructions', 'tools', 'functions']);
/** Longer options, such as schemas, are checked in any case. */
const MAX_OPTION_BYTES = 16 * 1024;

/** Whether a field beside the prompt may name an object within its options. */
function optionRefers(bytes: Buffer, { key, start, end }: Member): boolean {
  if (PROMPTS.has(key) || (bytes[start] !== OPEN_BRACE && bytes[start] !== OPEN_BRACKET)) return false;
  return end - start > MAX_OPTION_BYTES || MAY_NAME.test(bytes.toString('latin1', start, end));
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const ID = Buffer.from('"id"');
const ID_KEY = Buffer.from('_id');
const CONTAINER = Buffer.from('"container"');
const REFERENCE = Buffer.from('item_reference');
/** Keys that end in `_id` and name no object. */
const CALLS = [Buffer.from('call_id'), Buffer.from('tool_use_id'), Buffer.from('user_id')];

function mentionsIds(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(ID_KEY); at >= 0; at = bytes.indexOf(ID_KEY, at + 1)) {
    const end = at + ID_KEY.length;
    const isCall = CALLS.some((key) => bytesAt(bytes, end - key.length, key) && bytes[end] === QUOTE);
    if (!isCall) return true;
  }
  return bytes.indexOf(CONTAINER) >= 0 || bytes.indexOf(REFERENCE) >= 0;
}

const QUOTE = 0x22;
