import { isObject } from '../../json/object.ts';
import { type Member, readValue, skipValue } from '../../json/scan.ts';
import { readMembers, stringAt, walkArray, walkObject } from '../../json/walk.ts';
import type { BlockKind, BlockRole, PromptBlock } from '../request/prompt-block.ts';
import {
  type BlockReader,
  type BlockShape,
  marksOf,
  type NewBlock,
  onlyMember,
  UnboundedInput,
} from '../request/prompt-blocks.ts';
import type { WireRequest } from '../request/wire-request.ts';

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;

/** Tools that the client runs. Anthropic's own come with a schema of which the request has only the name. */
const CLIENT_TOOL = /^(custom|(bash|text_editor|computer|memory)_\d{8})$/;
/** Claude Code's line for the bill: https://github.com/ggml-org/llama.cpp/issues/20623 */
const NOTICE = Buffer.from('"x-anthropic-billing-header:');

/** Blocks of Anthropic's messages. */
export const MESSAGE_BLOCKS: BlockShape = {
  fields: { tools: addTools, system: addSystem, messages: addMessages },
  options: new Set(['thinking', 'tool_choice', 'output_config', 'output_format']),
  keepsReasoning,
};

function addTools(reader: BlockReader, list: Member): void {
  const { bytes } = reader;
  walkArray(bytes, list.start, (start) => {
    const members: Member[] = [];
    const end = readMembers(bytes, start, members);
    const type = onlyMember(members, 'type');
    if (type && !CLIENT_TOOL.test(stringAt(bytes, type) ?? '')) throw new UnboundedInput();
    const name = onlyMember(members, 'name');
    const deferral = onlyMember(members, 'defer_loading');
    reader.add({
      kind: deferral && readValue(bytes, deferral) !== false ? 'deferred' : 'tool',
      role: 'tool',
      start,
      end,
      marks: marksOf(members),
      isJson: true,
      name: name && stringAt(bytes, name),
    });
    return end;
  });
}

function addSystem(reader: BlockReader, { start, end }: Member): void {
  const { bytes } = reader;
  if (bytes[start] === QUOTE) {
    reader.add({ kind: 'system', role: 'system', start, end });
    return;
  }
  walkArray(bytes, start, (blockStart, index) => {
    const members: Member[] = [];
    const blockEnd = readMembers(bytes, blockStart, members);
    if (typeOf(bytes, members) !== 'text') throw new UnboundedInput();
    const text = onlyMember(members, 'text');
    const isNotice = index === 0 && text !== undefined && startsWith(bytes, text.start, NOTICE);
    reader.add(
      textBlock(
        bytes,
        isNotice ? 'notice' : 'system',
        'system',
        { start: blockStart, end: blockEnd },
        members,
      ),
    );
    return blockEnd;
  });
}

function addMessages(reader: BlockReader, { start }: Member): void {
  walkArray(reader.bytes, start, (message) => addMessage(reader, message));
}

/** Returns the message's end. Its content is walked once, unless it stands before the role. */
function addMessage(reader: BlockReader, message: number): number {
  const { bytes } = reader;
  let role: BlockRole | undefined;
  let content = -1;
  reader.openMessage();
  const end = walkObject(bytes, message, (key, valueStart) => {
    if (key === 'role' && role === undefined) {
      const valueEnd = skipValue(bytes, valueStart);
      role = roleOf(stringAt(bytes, { start: valueStart, end: valueEnd }));
      return valueEnd;
    }
    if (key !== 'content' || content >= 0) throw new UnboundedInput();
    content = valueStart;
    return role === undefined ? skipValue(bytes, valueStart) : addContent(reader, role, valueStart);
  });
  if (role === undefined || content < 0) throw new UnboundedInput();
  if (reader.isAtMessage) addContent(reader, role, content);
  return end;
}

function roleOf(name: string | undefined): BlockRole {
  if (name !== 'user' && name !== 'assistant') throw new UnboundedInput();
  return name;
}

/** Returns the content's end. */
function addContent(reader: BlockReader, role: BlockRole, start: number): number {
  const { bytes } = reader;
  if (bytes[start] === QUOTE) {
    const end = skipValue(bytes, start);
    reader.add({ kind: kindOf(role), role, start, end });
    return end;
  }
  return walkArray(bytes, start, (blockStart) => {
    const members: Member[] = [];
    const end = readMembers(bytes, blockStart, members);
    reader.add(readBlock(bytes, role, { start: blockStart, end }, members));
    return end;
  });
}

interface Range {
  start: number;
  end: number;
}

function readBlock(bytes: Buffer, role: BlockRole, range: Range, members: Member[]): NewBlock {
  const { start, end } = range;
  const marks = marksOf(members);
  switch (typeOf(bytes, members)) {
    case 'text':
      return textBlock(bytes, kindOf(role), role, range, members);
    case 'tool_use':
      return { kind: 'assistant', role, start, end, marks, isJson: true };
    case 'thinking':
    case 'redacted_thinking':
      return { kind: 'reasoning', role, start, end, marks };
    case 'image':
      return {
        kind: 'image',
        role,
        start,
        end,
        marks,
        images: 1,
        ...imageIn(bytes, members),
      };
    case 'tool_result':
      return resultBlock(bytes, role, range, members);
    default:
      throw new UnboundedInput();
  }
}

function resultBlock(bytes: Buffer, role: BlockRole, { start, end }: Range, members: Member[]): NewBlock {
  const marks = [...marksOf(members)];
  const references: string[] = [];
  let images = 0;
  let addressed = 0;
  let inline = 0;
  const content = onlyMember(members, 'content');
  if (content && bytes[content.start] === OPEN_BRACKET) {
    walkArray(bytes, content.start, (partStart) => {
      const parts: Member[] = [];
      const partEnd = readMembers(bytes, partStart, parts);
      const type = typeOf(bytes, parts);
      if (type === 'image') {
        images++;
        const image = imageIn(bytes, parts);
        addressed += image.addressed;
        inline += image.inline;
      } else if (type === 'tool_reference') {
        const name = onlyMember(parts, 'tool_name');
        references.push((name && stringAt(bytes, name)) ?? '');
      } else if (type !== 'text') throw new UnboundedInput();
      marks.push(...marksOf(parts));
      return partEnd;
    });
    marks.sort((a, b) => a.start - b.start);
  }
  return {
    kind: 'result',
    role,
    start,
    end,
    marks,
    isJson: true,
    references: references.length > 0 ? references : undefined,
    images,
    addressed,
    inline,
  };
}

/** An image by URL or file id, whose content may change, or the bytes of one in the request itself. */
function imageIn(bytes: Buffer, members: readonly Member[]): { addressed: number; inline: number } {
  const source = onlyMember(members, 'source');
  const value = source && readValue(bytes, source);
  if (!isObject(value) || value.type !== 'base64') return { addressed: 1, inline: 0 };
  return { addressed: 0, inline: typeof value.data === 'string' ? value.data.length : 0 };
}

function typeOf(bytes: Buffer, members: readonly Member[]): string | undefined {
  const type = onlyMember(members, 'type');
  return type && stringAt(bytes, type);
}

const kindOf = (role: BlockRole): BlockKind => (role === 'user' ? 'user' : 'assistant');

/** A block of nothing but text is the same as that text alone: Claude Code writes a text as a block to mark it. */
function textBlock(
  bytes: Buffer,
  kind: BlockKind,
  role: BlockRole,
  { start, end }: Range,
  members: Member[],
): NewBlock {
  const marks = marksOf(members);
  const text = onlyMember(members, 'text');
  const isPlain = text && bytes[text.start] === QUOTE && members.length === 2 + marks.length;
  return { kind, role, start, end, marks, hashed: isPlain ? text : undefined };
}

function startsWith(bytes: Buffer, start: number, text: Buffer): boolean {
  return text.compare(bytes, start, start + text.length) === 0;
}

/**
 * Whether thinking is on for the whole prompt. It is off where the prompt ends inside a loop of tool calls whose turn
 * doesn't begin with thinking: https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */
function keepsReasoning(blocks: readonly PromptBlock[], { bytes, members }: WireRequest): boolean {
  if (!blocks.some(({ kind }) => kind === 'reasoning')) return true;
  const thinking = members.find(({ key }) => key === 'thinking');
  const value = thinking && readValue(bytes, thinking);
  if (!isObject(value) || (value.type !== 'enabled' && value.type !== 'adaptive')) return false;
  const messages = splitMessages(blocks);
  if (!messages.at(-1)?.some(isResult)) return true;
  // A message with results and a text may count as a turn of its own.
  const texts = messages.map(
    (message) => message[0]?.role === 'user' && message.some((block) => !isResult(block)),
  );
  const pure = messages.map((message) => message[0]?.role === 'user' && !message.some(isResult));
  const beginsWithReasoning = (at: number) => messages[at + 1]?.[0]?.kind === 'reasoning';
  const lastText = texts.lastIndexOf(true, messages.length - 2);
  return beginsWithReasoning(pure.lastIndexOf(true)) && beginsWithReasoning(lastText);
}

const isResult = ({ kind }: PromptBlock): boolean => kind === 'result';

function splitMessages(blocks: readonly PromptBlock[]): PromptBlock[][] {
  const messages: PromptBlock[][] = [];
  for (const block of blocks) {
    if (block.role !== 'user' && block.role !== 'assistant') continue;
    if (block.opensMessage) messages.push([block]);
    else messages.at(-1)?.push(block);
  }
  return messages;
}
