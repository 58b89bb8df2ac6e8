import { OPEN_BRACE, OPEN_BRACKET, type Range } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { type Member, readValue } from '../../json/scan.ts';
import { readMembers, stringAt, walkArray } from '../../json/walk.ts';
import type { BlockKind, BlockRole } from '../request/prompt-block.ts';
import {
  type BlockReader,
  type BlockShape,
  checkInline,
  checkMembers,
  type KnownMembers,
  marksOf,
  onlyMember,
  UnboundedInput,
} from '../request/prompt-blocks.ts';

const DEFERRAL = Buffer.from('defer_loading');

export const CHAT_BLOCKS: BlockShape = {
  fields: { tools: addFunctionTools, messages: addMessages },
  // biome-ignore format: they fit a few lines
  options: new Set([
    'tool_choice', 'response_format', 'reasoning', 'reasoning_effort', 'thinking', 'verbosity',
  ]),
};

/** Tools that are fully defined in the request, or that the model knows by name. */
const CLIENT_TOOL =
  /^(function|custom|local_shell|apply_patch|computer|computer_use_preview|namespace|tool_search)$/;
const TOOL: KnownMembers = {
  texts: new Set(['type', 'name', 'description', 'environment', 'execution', 'input_format']),
  // biome-ignore format: they fit two lines
  json: new Set([
    'function', 'custom', 'parameters', 'input_schema', 'output_schema', 'format', 'allowed_callers', 'cache_control', 'tools',
  ]),
};

const SEARCH: KnownMembers = {
  texts: new Set(['type', 'search_context_size']),
  json: new Set(['filters', 'user_location', 'search_content_types']),
};

/** Adds the tools of OpenAI's APIs. If the provider loads definitions later, the prompt is not comparable. */
export function addFunctionTools(reader: BlockReader, list: Member, search?: RegExp): void {
  const { bytes } = reader;
  if (bytes.subarray(list.start, list.end).indexOf(DEFERRAL) >= 0) reader.isComparable = false;
  walkArray(bytes, list.start, (start) => {
    const members: Member[] = [];
    const end = readMembers(bytes, start, members);
    const type = onlyMember(members, 'type');
    const name = (type && stringAt(bytes, type)) ?? '';
    const isSearch = search?.test(name) === true;
    if (!CLIENT_TOOL.test(name) && !isSearch) throw new UnboundedInput(unknownType('tool', name));
    checkMembers(bytes, members, isSearch ? SEARCH : TOOL, `a tool of type "${name}"`);
    if (!/^(function|custom|local_shell)$/.test(name) && !isSearch) reader.isComparable = false;
    const nested = onlyMember(members, 'tools');
    if (nested) addFunctionTools(reader, nested);
    reader.add({ kind: 'tool', role: 'tool', start, end, marks: marksOf(members), isJson: true });
    return end;
  });
}

/** Describes something by its type, for error messages. */
export function unknownType(what: string, type: string): string {
  return type === '' ? `a ${what} without a type` : `a ${what} of type "${type.slice(0, 64)}"`;
}

const ROLES: Readonly<Record<string, BlockRole>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'result',
  function: 'result',
};

/** Members that hold an assistant's reasoning. */
const REASONING = new Set(['reasoning', 'reasoning_content', 'reasoning_details', 'thinking_blocks']);

const MESSAGE: KnownMembers = {
  // biome-ignore format: they fit two lines
  texts: new Set([
    'role', 'content', 'name', 'refusal', 'tool_call_id', 'tool_name', 'type', 'phase', 'status', 'thinking', 'signature',
    'finish_reason', 'stop_reason', ...REASONING,
  ]),
  // The content's parts are checked one by one.
  json: new Set(['content', 'tool_calls', 'function_call', 'annotations', 'cache_control', ...REASONING]),
};

function addMessages(reader: BlockReader, { start }: Member): void {
  const { bytes } = reader;
  reader.walkMessages(start, (message) => {
    const members: Member[] = [];
    const end = readMembers(bytes, message, members);
    addMessage(reader, { start: message, end }, members);
    return end;
  });
}

/** Adds a message as a block. Its parts and its reasoning are blocks of their own. */
function addMessage(reader: BlockReader, { start, end }: Range, members: Member[]): void {
  const { bytes } = reader;
  const roleMember = onlyMember(members, 'role');
  const roleName = (roleMember && stringAt(bytes, roleMember)) ?? '';
  const role = Object.hasOwn(ROLES, roleName) ? ROLES[roleName] : undefined;
  if (!role) throw new UnboundedInput(`a message with the role "${roleName.slice(0, 64)}"`);
  checkMembers(bytes, members, MESSAGE, 'a message');
  const kind = role as BlockKind;
  const content = onlyMember(members, 'content');
  const list = content && bytes[content.start] === OPEN_BRACKET ? content : undefined;
  if (content && bytes[content.start] === OPEN_BRACE)
    throw new UnboundedInput('an object as the content of a message');
  const reasoning = members.filter(({ key }) => REASONING.has(key));
  const isJson =
    role === 'result' || members.some(({ key }) => key === 'tool_calls' || key === 'function_call');
  reader.openMessage();
  const parts = list ? [...reasoning, list] : reasoning;
  reader.add({ kind, role, start, end, parts, isJson });
  for (const member of reasoning) {
    reader.add({ kind: 'reasoning', role, start: member.start, end: member.end });
  }
  if (list) addParts(reader, kind, role, list.start);
}

function addParts(reader: BlockReader, kind: BlockKind, role: BlockRole, list: number): void {
  const { bytes } = reader;
  walkArray(bytes, list, (start) => {
    const members: Member[] = [];
    const end = readMembers(bytes, start, members);
    const marks = marksOf(members);
    const type = onlyMember(members, 'type');
    const name = (type && stringAt(bytes, type)) ?? '';
    checkMembers(bytes, members, MEDIA_PARTS.get(name) ?? TEXT_PART, unknownType('content part', name));
    switch (name) {
      case 'text':
      case 'refusal':
        reader.add({ kind, role, start, end, marks, isJson: role === 'result' });
        break;
      case 'image_url':
        reader.add({
          kind: 'image',
          role,
          start,
          end,
          marks,
          images: 1,
          addressed: addressedIn(bytes, members),
        });
        break;
      case 'input_audio':
        checkAudio(bytes, members);
        reader.isComparable = false;
        break;
      case 'file':
        checkContents(bytes, members, 'file', 'file_data');
        reader.unseen ??= 'a file';
        break;
      default:
        throw new UnboundedInput(unknownType('content part', name));
    }
    return end;
  });
}

const MARKS = ['cache_control', 'prompt_cache_breakpoint'];
const TEXT_PART: KnownMembers = {
  texts: new Set(['type', 'text', 'refusal']),
  json: new Set(['annotations', ...MARKS]),
};
const mediaPart = (name: string): KnownMembers => ({
  texts: new Set(['type', 'image_url', 'detail']),
  json: new Set([name, ...MARKS]),
});
/** A map, because a request may name a part `constructor`. */
const MEDIA_PARTS = new Map(['image_url', 'input_audio', 'file'].map((name) => [name, mediaPart(name)]));

/** Requires audio inside the request: some hosts also accept a URL as `data`. */
export function checkAudio(bytes: Buffer, members: readonly Member[]): void {
  checkContents(bytes, members, 'input_audio', 'data');
}

const CONTENTS: KnownMembers = {
  texts: new Set(['data', 'file_data', 'format', 'filename']),
  json: new Set(),
};

/** Requires a file or audio inside the request. */
function checkContents(bytes: Buffer, members: readonly Member[], key: string, data: string): void {
  const member = onlyMember(members, key);
  const inner: Member[] = [];
  if (member) readMembers(bytes, member.start, inner);
  checkInline(bytes, onlyMember(inner, data), `"${key}"`);
  checkMembers(bytes, inner, CONTENTS, `"${key}"`);
}

/** Number of images not contained in the request itself. */
function addressedIn(bytes: Buffer, members: readonly Member[]): number {
  const image = onlyMember(members, 'image_url');
  const value = image && readValue(bytes, image);
  const url = isObject(value) ? value.url : value;
  return typeof url === 'string' && url.startsWith('data:') ? 0 : 1;
}
