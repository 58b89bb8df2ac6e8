import { bytesAt, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { type Member, scanObject } from '../../json/scan.ts';
import { unseenIn } from '../admission/measure-prompt.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Asker, References } from '../state/access/stored-objects.ts';
import type { Target } from '../state/resolver.ts';

/** Fields whose values name objects that a provider stores. */
// biome-ignore format: they fit a few lines
const REFERENCES: ReadonlySet<string> = new Set([
  'previous_response_id', 'response_id', 'conversation', 'conversation_id', 'container', 'container_id',
  'file_id', 'file_ids', 'input_file_id', 'output_file_id', 'error_file_id', 'training_file', 'validation_file',
  'result_files', 'vector_store', 'vector_store_id', 'vector_store_ids', 'batch_id', 'message_batch_id',
  'assistant_id', 'thread_id', 'run_id', 'eval_id', 'upload_id', 'part_ids', 'video_id', 'prompt_id',
  'fine_tuned_model', 'fine_tuned_model_checkpoint', 'fine_tuning_job_id', 'memory_store_id', 'agent_id',
]);
/** Fields of Gemini's API with the path of a stored object, and other addresses. */
const AT_GOOGLE: ReadonlySet<string> = new Set(['cachedContent', 'cached_content', 'fileUri', 'file_uri']);

/** Whether a field's value is the id of an object. */
export const namesObject = (field: string): boolean => REFERENCES.has(field) || field === 'item_id';

/** Matches every JSON text that names an object; an escape may stand for any letter of a name. */
export const MAY_NAME = new RegExp(
  ['_id', '"id"', ...[...REFERENCES].filter((field) => !field.includes('_id')), String.raw`\\u00`].join('|'),
);

/** Fields that hold such an object with its `id`. */
// biome-ignore format: they fit a few lines
const HOLDERS: ReadonlySet<string> = new Set([
  'conversation', 'container', 'prompt', 'audio', 'file', 'vector_store', 'video', 'thread', 'previous_response',
  'voice',
]);
/** Schemas and arguments of the client's own, in which a provider looks for nothing. */
const FREE: ReadonlySet<string> = new Set([
  'parameters',
  'input_schema',
  'schema',
  'properties',
  'arguments',
  'structured_content',
]);
/**
 * What a client notes about its request: `metadata` of the APIs, `client_metadata` of Codex, `litellm_metadata`. Providers
 * keep it and look nothing up by it (https://platform.openai.com/docs/api-reference/responses/create#responses-create-metadata).
 */
const NOTES = /(?:^|_)metadata$/;
/** Containers that a request asks for, by their kind. */
const WORDS: ReadonlySet<string> = new Set(['auto', 'none', 'default', 'null']);
/** Ids that clients or models make up. */
const OWN_IDS: ReadonlySet<string> = new Set(['call_id', 'tool_call_id', 'tool_use_id', 'custom_id']);

const ID_LIKE = /^[A-Za-z0-9][\w.:-]{11,199}$/;

const isIdLike = (text: string): boolean => /\d/.test(text) && ID_LIKE.test(text);

/**
 * The ids in a body. Of a field that is there twice a provider may take either value, so both are seen; in what is not
 * quite JSON, or nested too deep, everything that looks like an id is.
 */
export function referencesInText(text: string): References {
  const json = text.replace(/^\ufeff/, '');
  try {
    const value: unknown = JSON.parse(json);
    const { named, seen } = referencesIn(value);
    return { named, seen: isObject(value) ? new Set([...seen, ...stringsIn(json)]) : seen };
  } catch {
    return { named: new Set(), seen: new Set(json.match(ID_LIKES)?.filter(isIdLike)) };
  }
}

/** The text itself if it looks like an id; of an address, the parts that do. */
function idsInText(text: string): string[] {
  const plain = text.trim();
  if (isIdLike(plain)) return [plain];
  return ADDRESS.test(plain) ? (plain.match(ID_LIKES) ?? []).filter(isIdLike) : [];
}

const ADDRESS = /^[a-z][a-z\d+.-]{1,20}:\/\/\S{1,4000}$/i;

/** The texts in an object that look like ids, of all fields, in whatever depth. */
function stringsIn(json: string): string[] {
  const found: string[] = [];
  scanObject(Buffer.from(json), {
    onString(bytes, start, end) {
      const text = decoded(bytes.toString('utf8', start, end));
      found.push(...idsInText(text));
    },
  });
  return found;
}

const ID_LIKES = /[A-Za-z0-9][\w.:-]{11,199}/g;
function decoded(json: string): string {
  try {
    return String(JSON.parse(json)).trim();
  } catch {
    return '';
  }
}

/** The ids in a JSON value, at any depth. Where it is not plain that a text is an id, it counts as seen. */
export function referencesIn(value: unknown): References {
  const named = new Set<string>();
  const seen = new Set<string>();

  function visitText(text: string, key: string, isFree: boolean): void {
    if (text === '') return;
    const stored =
      isFree || !AT_GOOGLE.has(key)
        ? undefined
        : /(?:^|\/)(?:files|cachedContents)\/([^/]+)$/.exec(text)?.[1];
    if (stored !== undefined) named.add(stored);
    const isName = !isFree && REFERENCES.has(key) && !WORDS.has(text) && !text.startsWith('data:');
    if (isName) named.add(text);
    else if (!OWN_IDS.has(key)) for (const id of idsInText(text)) seen.add(id);
  }

  function visit(inner: unknown, key: string, isFree: boolean, depth: number): void {
    if (typeof inner === 'string') visitText(inner, key, isFree);
    else if (depth > MAX_DEPTH) return;
    else if (Array.isArray(inner)) for (const each of inner) visit(each, key, isFree, depth + 1);
    else if (isObject(inner)) {
      const { id, type } = inner;
      const isArguments = typeof type === 'string' && type.endsWith('tool_use');
      if (!isFree && typeof id === 'string' && id !== '' && (HOLDERS.has(key) || refersByItem(inner, key)))
        named.add(id);
      for (const [name, member] of Object.entries(inner)) {
        // The key `__proto__` of a body is an own property after JSON.parse.
        const isOwnText = isFree || FREE.has(name) || NOTES.test(name) || (isArguments && name === 'input');
        visit(member, name, isOwnText, depth + 1);
      }
    }
  }

  visit(value, '', false, 0);
  return { named, seen };
}

const MAX_DEPTH = 200;

/** Whether an item of an input stands for one that the provider stores: it has an id and no content of its own. */
function refersByItem(item: Record<string, unknown>, key: string): boolean {
  if (item.type === 'item_reference') return true;
  if (key !== 'input' && key !== 'items') return false;
  if (item.type === 'reasoning') return isEmpty(item.encrypted_content);
  return Object.entries(item).every(([name, value]) => BARE.has(name) || isEmpty(value));
}

/** Fields of an item that only refers to another. */
const BARE: ReadonlySet<string> = new Set(['id', 'type', 'status', 'role', 'object']);

function isEmpty(value: unknown): boolean {
  return (
    value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

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
const FIELDS = new Set([
  'cachedContent',
  'previous_response_id',
  'conversation',
  'prompt',
  'container',
  'file_ids',
]);

/** A quick check that may find more than there is, but never less. */
function mayRefer(context: RequestContext): boolean {
  const { bytes, members } = context.request;
  if (members.some((member) => FIELDS.has(member.key) || optionRefers(bytes, member))) return true;
  // An item of a response stands for itself by its id alone.
  if (/^responses/.test(context.wire.endpoint) && bytes.indexOf(ID) >= 0) return true;
  return mentionsIds(bytes) || unseenIn(context) !== undefined;
}

/** Fields read block by block, by known shapes: a value of another shape counts as unseen. */
const PROMPTS = new Set(['messages', 'input', 'system', 'instructions', 'tools', 'functions']);
/** Longer options, such as schemas, are checked in any case. */
const MAX_OPTION_BYTES = 16 * 1024;

/** Whether a field beside the prompt may name an object within its options. */
function optionRefers(bytes: Buffer, { key, start, end }: Member): boolean {
  if (PROMPTS.has(key) || (bytes[start] !== OPEN_BRACE && bytes[start] !== OPEN_BRACKET)) return false;
  return end - start > MAX_OPTION_BYTES || MAY_NAME.test(bytes.toString('latin1', start, end));
}

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
