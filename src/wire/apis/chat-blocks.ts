import { isObject } from '../../json/object.ts';
import { type Member, readValue } from '../../json/scan.ts';
import { readMembers, stringAt, walkArray } from '../../json/walk.ts';
import type { BlockKind, BlockRole } from '../request/prompt-block.ts';
import {
  type BlockReader,
  type BlockShape,
  marksOf,
  onlyMember,
  UnboundedInput,
} from '../request/prompt-blocks.ts';

const OPEN_BRACKET = 0x5b;
const DEFERRAL = Buffer.from('defer_loading');

/** Blocks of chat completions. */
export const CHAT_BLOCKS: BlockShape = {
  fields: { tools: addFunctionTools, messages: addMessages },
  options: new Set([
    'tool_choice',
    'response_format',
    'reasoning',
    'reasoning_effort',
    'thinking',
    'verbosity',
  ]),
};

const CLIENT_TOOL = /^(function|custom|local_shell)$/;

/** Tools of OpenAI's APIs, without those whose definitions the provider loads later. */
export function addFunctionTools(reader: BlockReader, list: Member): void {
  const { bytes } = reader;
  if (bytes.subarray(list.start, list.end).indexOf(DEFERRAL) >= 0) throw new UnboundedInput();
  walkArray(bytes, list.start, (start) => {
    const members: Member[] = [];
    const end = readMembers(bytes, start, members);
    const type = onlyMember(members, 'type');
    if (!type || !CLIENT_TOOL.test(stringAt(bytes, type) ?? '')) throw new UnboundedInput();
    reader.add({ kind: 'tool', role: 'tool', start, end, marks: marksOf(members), isJson: true });
    return end;
  });
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

function addMessages(reader: BlockReader, { start }: Member): void {
  const { bytes } = reader;
  walkArray(bytes, start, (message) => {
    const members: Member[] = [];
    const end = readMembers(bytes, message, members);
    addMessage(reader, { start: message, end }, members);
    return end;
  });
}

/** A message is a block; its parts and its reasoning are blocks of their own. */
function addMessage(
  reader: BlockReader,
  { start, end }: { start: number; end: number },
  members: Member[],
): void {
  const { bytes } = reader;
  const roleMember = onlyMember(members, 'role');
  const roleName = (roleMember && stringAt(bytes, roleMember)) ?? '';
  const role = Object.hasOwn(ROLES, roleName) ? ROLES[roleName] : undefined;
  if (!role || members.some(({ key }) => key === 'audio')) throw new UnboundedInput();
  const kind = role as BlockKind;
  const content = onlyMember(members, 'content');
  const list = content && bytes[content.start] === OPEN_BRACKET ? content : undefined;
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
    switch (type && stringAt(bytes, type)) {
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
      default:
        throw new UnboundedInput();
    }
    return end;
  });
}

/** Images that are not in the request itself. */
function addressedIn(bytes: Buffer, members: readonly Member[]): number {
  const image = onlyMember(members, 'image_url');
  const value = image && readValue(bytes, image);
  const url = isObject(value) ? value.url : value;
  return typeof url === 'string' && url.startsWith('data:') ? 0 : 1;
}
