import { bytesAt, OPEN_BRACE, OPEN_BRACKET, QUOTE, type Range, START_OF_NULL } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { type Member, readValue, skipValue } from '../../json/scan.ts';
import { readMembers, stringAt, walkArray, walkObject } from '../../json/walk.ts';
import type { BlockKind, BlockRole } from '../request/prompt-block.ts';
import {
  type BlockReader,
  type BlockShape,
  checkMembers,
  type KnownMembers,
  marksOf,
  type NewBlock,
  onlyMember,
  UnboundedInput,
} from '../request/prompt-blocks.ts';
import { unknownType } from './chat-blocks.ts';
import { keepsReasoning } from './keeps-reasoning.ts';

/** Client-side tools. The schemas of Anthropic's own tools are not in the request, only their names. */
const CLIENT_TOOL = /^(custom|(bash|text_editor|computer|memory)_\d{8})$/;
/** Tools that run code. The hold covers the input that they add later, round by round. */
const CODE_TOOL = /^code_execution_\d{8}$/;
/** Claude Code's billing line: https://github.com/ggml-org/llama.cpp/issues/20623 */
const NOTICE = Buffer.from('"x-anthropic-billing-header:');

export const MESSAGE_BLOCKS: BlockShape = {
  fields: {
    container: readContainer,
    context_management: readContextEdits,
    safeguards: addSafeguards,
    tools: addTools,
    system: addSystem,
    messages: addMessages,
  },
  options: new Set(['thinking', 'tool_choice', 'output_config', 'output_format']),
  keepsReasoning,
};

const TOOL: KnownMembers = {
  texts: new Set(['type', 'name', 'description']),
  // biome-ignore format: they fit a few lines
  json: new Set([
    'input_schema', 'output_schema', 'cache_control', 'allowed_callers', 'input_examples', 'custom',
  ]),
};
/** Checks a container. Its files reach the model only through the output of code. Skills are bounded separately. */
function readContainer(reader: BlockReader, { start }: Member): void {
  const { bytes } = reader;
  if (bytes[start] === QUOTE) return;
  walkObject(bytes, start, (key, valueStart) => {
    if (key !== 'id' && key !== 'skills') throw new UnboundedInput(`"${key}" of a container`);
    return skipValue(bytes, valueStart);
  });
}

/** Claude Code's paths and rules for the provider's classifier of dangerous calls. No model reads them. */
function addSafeguards(reader: BlockReader, { start, end }: Member): void {
  reader.add({ kind: 'notice', role: 'system', start, end, isJson: true });
}

function addTools(reader: BlockReader, list: Member): void {
  const { bytes } = reader;
  walkArray(bytes, list.start, (start) => {
    const members: Member[] = [];
    const end = readMembers(bytes, start, members);
    const type = onlyMember(members, 'type');
    const typeName = isCustom(bytes, type, members) ? 'custom' : ((type && stringAt(bytes, type)) ?? '');
    if (!CLIENT_TOOL.test(typeName) && !CODE_TOOL.test(typeName))
      throw new UnboundedInput(unknownType('tool', typeName));
    checkMembers(bytes, members, TOOL, 'a tool');
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

/** A user-defined tool may omit the type, but has a schema. */
function isCustom(bytes: Buffer, type: Member | undefined, members: readonly Member[]): boolean {
  const hasType = type !== undefined && bytes[type.start] !== START_OF_NULL;
  return !hasType && members.some(({ key }) => key === 'input_schema');
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
    checkBlock(bytes, members, TEXTS);
    const text = onlyMember(members, 'text');
    const isNotice = index === 0 && text !== undefined && bytesAt(bytes, text.start, NOTICE);
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
  reader.walkMessages(start, (message) => addMessage(reader, message));
}

/** Adds a message and returns its end. Walks the content once, or twice if it precedes the role. */
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
    if (key !== 'content') {
      const valueEnd = skipValue(bytes, valueStart);
      checkMembers(
        bytes,
        [{ key, keyStart: valueStart, start: valueStart, end: valueEnd }],
        MESSAGE,
        'a message',
      );
      reader.isComparable = false;
      return valueEnd;
    }
    if (content >= 0) throw new UnboundedInput('a message with two contents');
    content = valueStart;
    return role === undefined ? skipValue(bytes, valueStart) : addContent(reader, role, valueStart);
  });
  if (role === undefined || content < 0) throw new UnboundedInput('a message without a role or content');
  if (reader.isAtMessage) addContent(reader, role, content);
  return end;
}

/** `system` since Opus 4.8: https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages */
function roleOf(name: string | undefined): 'user' | 'assistant' | 'system' {
  if (name === 'user' || name === 'assistant' || name === 'system') return name;
  throw new UnboundedInput(`a message with the role "${(name ?? '').slice(0, 64)}"`);
}

/** Adds a message's content and returns its end. */
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
    const block = readBlock(reader, role, { start: blockStart, end }, members);
    if (block) reader.add(block);
    return end;
  });
}

/** Members of a message besides role and content. */
const MESSAGE: KnownMembers = { texts: new Set(['id', 'type', 'model', 'stop_reason']), json: new Set() };
/** The members of a block type, in addition to the common ones. */
function known(texts: string[], json: string[] = []): KnownMembers {
  return { texts: new Set(['type', ...texts]), json: new Set(['cache_control', ...json]) };
}

const BLOCKS: Readonly<Record<string, KnownMembers>> = {
  text: known(['text'], ['citations']),
  tool_use: known(['id', 'name'], ['input', 'caller']),
  thinking: known(['thinking', 'signature']),
  redacted_thinking: known(['data']),
  image: known([], ['source']),
  tool_result: known(['tool_use_id'], ['content']),
  tool_reference: known(['tool_name']),
  document: known(['title', 'context'], ['source', 'citations']),
  search_result: known(['title', 'source'], ['content', 'citations']),
  server_tool_use: known(['id', 'name'], ['input', 'caller']),
  code_execution_tool_result: known(['tool_use_id'], ['content']),
  bash_code_execution_tool_result: known(['tool_use_id'], ['content']),
  text_editor_code_execution_tool_result: known(['tool_use_id'], ['content']),
};

/** Checks a block's type and members. Returns the type. */
function checkBlock(bytes: Buffer, members: readonly Member[], types: ReadonlySet<string>): string {
  const type = typeOf(bytes, members) ?? '';
  const what = unknownType('content block', type);
  const shape = Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined;
  if (!shape || !types.has(type)) throw new UnboundedInput(what);
  checkMembers(bytes, members, shape, what);
  return type;
}

function readBlock(
  reader: BlockReader,
  role: BlockRole,
  range: Range,
  members: Member[],
): NewBlock | undefined {
  const { bytes } = reader;
  const { start, end } = range;
  const marks = marksOf(members);
  switch (checkBlock(bytes, members, CONTENTS)) {
    case 'text':
      return textBlock(bytes, kindOf(role), role, range, members);
    case 'tool_use':
    case 'server_tool_use':
      return { kind: 'assistant', role, start, end, marks, isJson: true };
    case 'code_execution_tool_result':
    case 'bash_code_execution_tool_result':
    case 'text_editor_code_execution_tool_result':
      if (bytes.subarray(start, end).includes(FILE_ID)) throw new UnboundedInput('a file that code made');
      return { kind: 'assistant', role, start, end, marks, isJson: true };
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
      return resultBlock(reader, role, range, members);
    case 'document':
    case 'search_result':
      readDocument(reader, members);
      return undefined;
    default:
      return { kind: 'reasoning', role, start, end, marks };
  }
}

const FILE_ID = Buffer.from('"file_id"');
const REASONING = ['thinking', 'redacted_thinking'];
// biome-ignore format: they fit a few lines
const CONTENTS = new Set([
  'text', 'image', 'tool_use', 'tool_result', 'document', 'search_result', 'server_tool_use',
  'code_execution_tool_result', 'bash_code_execution_tool_result', 'text_editor_code_execution_tool_result',
  ...REASONING,
]);
const RESULTS = new Set(['text', 'image', 'tool_reference', 'document', 'search_result']);
const TEXTS = new Set(['text']);
const INLINE_SOURCES: ReadonlySet<string> = new Set(['text', 'base64']);

/** Checks a document or search result, which must be in the request itself. A PDF may have more tokens than bytes. */
function readDocument(reader: BlockReader, members: Member[]): void {
  const { bytes } = reader;
  reader.isComparable = false;
  const content = onlyMember(members, 'content');
  if (content) {
    walkArray(bytes, content.start, (partStart) => {
      const parts: Member[] = [];
      const partEnd = readMembers(bytes, partStart, parts);
      checkBlock(bytes, parts, TEXTS);
      return partEnd;
    });
  }
  const source = onlyMember(members, 'source');
  if (!source || bytes[source.start] === QUOTE) return;
  const value = readValue(bytes, source);
  const type = isObject(value) && typeof value.type === 'string' ? value.type : '';
  if (!INLINE_SOURCES.has(type)) throw new UnboundedInput(unknownType("document's source", type));
  reader.unseen ??= 'a document';
}

function resultBlock(
  reader: BlockReader,
  role: BlockRole,
  { start, end }: Range,
  members: Member[],
): NewBlock {
  const { bytes } = reader;
  const marks = [...marksOf(members)];
  const references: string[] = [];
  let images = 0;
  let addressed = 0;
  let inline = 0;
  const content = onlyMember(members, 'content');
  if (content && bytes[content.start] === OPEN_BRACE)
    throw new UnboundedInput('an object as the content of a result');
  if (content && bytes[content.start] === OPEN_BRACKET) {
    walkArray(bytes, content.start, (partStart) => {
      const parts: Member[] = [];
      const partEnd = readMembers(bytes, partStart, parts);
      const type = checkBlock(bytes, parts, RESULTS);
      if (type === 'document' || type === 'search_result') readDocument(reader, parts);
      if (type === 'image') {
        images++;
        const image = imageIn(bytes, parts);
        addressed += image.addressed;
        inline += image.inline;
      } else if (type === 'tool_reference') {
        const name = onlyMember(parts, 'tool_name');
        references.push((name && stringAt(bytes, name)) ?? '');
      }
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

/** Counts an image by URL or file id, whose content may change (`addressed`), or the bytes of one in the request. */
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

const kindOf = (role: BlockRole): BlockKind => (role === 'user' || role === 'system' ? role : 'assistant');

/** A block of plain text, hashed like a bare string: Claude Code converts strings to blocks to mark them. */
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

const COMPACTION = Buffer.from('compact');

/**
 * Context edits shorten the prompt, except a compaction: for that the model reads the prompt once more. Claude Code's
 * edits keep the whole prompt. https://platform.claude.com/docs/en/build-with-claude/context-editing
 */
function readContextEdits(reader: BlockReader, member: Member): void {
  const { bytes } = reader;
  if (bytes.subarray(member.start, member.end).indexOf(COMPACTION) >= 0)
    throw new UnboundedInput('a compaction');
  const value = readValue(bytes, member);
  const edits = isObject(value) ? value.edits : undefined;
  if (Array.isArray(edits) && edits.every(keepsAll)) reader.addOption(member);
  else reader.isComparable = false;
}

function keepsAll(edit: unknown): boolean {
  return isObject(edit) && edit.type === 'clear_thinking_20251015' && edit.keep === 'all';
}
