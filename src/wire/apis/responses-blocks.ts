import { bytesAt, OPEN_BRACE, OPEN_BRACKET, QUOTE, type Range, START_OF_NULL } from '../../json/bytes.ts';
import type { Member } from '../../json/scan.ts';
import { readMembers, stringAt, walkArray } from '../../json/walk.ts';
import type { BlockRole, PromptBlock } from '../request/prompt-block.ts';
import {
  type BlockReader,
  type BlockShape,
  checkMembers,
  type KnownMembers,
  type NewBlock,
  onlyMember,
  UnboundedInput,
} from '../request/prompt-blocks.ts';
import { addFunctionTools, checkAudio, unknownType } from './chat-blocks.ts';

const NO_TYPE = '';
const MARKS = ['cache_control', 'prompt_cache_breakpoint'];

export const RESPONSE_BLOCKS: BlockShape = {
  fields: { tools: addResponseTools, instructions: addInstructions, input: addInput },
  options: new Set(['tool_choice', 'text', 'reasoning']),
  previous: 'previous_response_id',
};

/** Allows web searches. The hold covers the input that they add, round by round; all other input is in the request. */
function addResponseTools(reader: BlockReader, list: Member): void {
  addFunctionTools(reader, list, /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/);
}

function addInstructions(reader: BlockReader, { start, end }: Member): void {
  if (reader.bytes[start] !== QUOTE) throw new UnboundedInput('"instructions" that are no text');
  reader.openMessage();
  reader.add({ kind: 'system', role: 'system', start, end });
}

function addInput(reader: BlockReader, { start, end }: Member): void {
  const { bytes } = reader;
  if (bytes[start] === QUOTE) {
    reader.openMessage();
    reader.add({ kind: 'user', role: 'user', start, end });
    return;
  }
  reader.walkMessages(start, (item) => {
    const members: Member[] = [];
    const itemEnd = readMembers(bytes, item, members);
    reader.openMessage();
    const block = readItem(reader, { start: item, end: itemEnd }, members);
    if (block) reader.add(block);
    return itemEnd;
  });
}

const ITEM: KnownMembers = {
  // biome-ignore format: they fit two lines
  texts: new Set([
    'type', 'id', 'call_id', 'role', 'status', 'phase', 'name', 'namespace', 'content', 'arguments', 'input', 'output',
    'encrypted_content', 'execution', 'caller', 'result',
  ]),
  // Members that may contain references are checked separately.
  // biome-ignore format: they fit a few lines
  json: new Set([
    'content', 'output', 'summary', 'action', 'actions', 'operation', 'arguments', 'tools', 'caller',
    'pending_safety_checks', 'acknowledged_safety_checks', 'cache_control',
  ]),
};

/**
 * Reads an item of OpenAI's published union if its content is in the request. All other items are unbounded: bare ids,
 * and the searches, files and programs whose results the provider stores.
 */
function readItem(reader: BlockReader, range: Range, members: Member[]): NewBlock | undefined {
  const { bytes } = reader;
  const { start, end } = range;
  const type = onlyMember(members, 'type');
  const name =
    type === undefined || bytes[type.start] === START_OF_NULL
      ? 'message'
      : (stringAt(bytes, type) ?? NO_TYPE);
  const what = unknownType('input item', name);
  checkMembers(bytes, members, ITEM, what);
  switch (name) {
    case 'message':
      return messageBlock(reader, range, members);
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call':
      return { kind: 'assistant', role: 'assistant', start, end, isJson: true };
    case 'shell_call':
    case 'apply_patch_call':
    case 'computer_call':
    case 'tool_search_call':
    // `NonTextInput` counts the image, as it does screenshots.
    case 'image_generation_call':
      reader.isComparable = false;
      return undefined;
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      return outputBlock(reader, range, members);
    case 'shell_call_output':
    case 'apply_patch_call_output':
    case 'computer_call_output':
      reader.isComparable = false;
      checkOutput(reader, members, what);
      return undefined;
    case 'tool_search_output':
    case 'additional_tools': {
      reader.isComparable = false;
      const tools = onlyMember(members, 'tools');
      if (tools) addFunctionTools(reader, tools);
      return undefined;
    }
    case 'reasoning':
      return reasoningBlock(reader, range, members);
    default:
      throw new UnboundedInput(what);
  }
}

/** A reasoning item with an id but without encrypted content refers to stored reasoning. */
function reasoningBlock(reader: BlockReader, { start, end }: Range, members: Member[]): NewBlock {
  const { bytes } = reader;
  const seal = onlyMember(members, 'encrypted_content');
  const isSealed = seal !== undefined && bytes[seal.start] === QUOTE && seal.end - seal.start > 2;
  if (!isSealed) {
    const id = onlyMember(members, 'id');
    if (id && bytes[id.start] !== START_OF_NULL) throw new UnboundedInput('the id of reasoning');
    reader.isComparable = false;
  }
  return { kind: 'reasoning', role: 'assistant', start, end };
}

/** Checks the output of a shell, patch or computer call: a string, a list of strings, or a screenshot. */
function checkOutput({ bytes }: BlockReader, members: Member[], what: string): void {
  const output = onlyMember(members, 'output');
  if (output && bytes[output.start] === OPEN_BRACE) checkScreenshot(bytes, output);
  if (!output || bytes[output.start] !== OPEN_BRACKET) return;
  walkArray(bytes, output.start, (part) => {
    const inner: Member[] = [];
    const partEnd = readMembers(bytes, part, inner);
    checkMembers(bytes, inner, SHELL_OUTPUT, what);
    return partEnd;
  });
}

/** Checks a screenshot, by URL, file id or content. It counts as one image. */
function checkScreenshot(bytes: Buffer, { start }: Range): void {
  const members: Member[] = [];
  readMembers(bytes, start, members);
  const type = onlyMember(members, 'type');
  const name = (type && stringAt(bytes, type)) ?? NO_TYPE;
  if (name !== 'computer_screenshot') throw new UnboundedInput(unknownType('output', name));
  checkMembers(bytes, members, IMAGE, 'a screenshot');
}

const SHELL_OUTPUT: KnownMembers = {
  texts: new Set(['stdout', 'stderr', 'text', 'type']),
  json: new Set(['outcome']),
};

const ROLES: Readonly<Record<string, BlockRole>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
};

function messageBlock(reader: BlockReader, { start, end }: Range, members: Member[]): NewBlock {
  const { bytes } = reader;
  const roleMember = onlyMember(members, 'role');
  const roleName = (roleMember && stringAt(bytes, roleMember)) ?? '';
  const role = Object.hasOwn(ROLES, roleName) ? ROLES[roleName] : undefined;
  const content = onlyMember(members, 'content');
  if (!role || !content) throw new UnboundedInput('an input item without a type, a role or content');
  const kind = role === 'system' || role === 'user' ? role : 'assistant';
  const images = imagesIn(reader, content);
  return { kind, role, start, end, ...images };
}

function outputBlock(reader: BlockReader, { start, end }: Range, members: Member[]): NewBlock {
  const output = onlyMember(members, 'output');
  if (!output) throw new UnboundedInput('the result of a call without an output');
  const images = imagesIn(reader, output);
  return { kind: 'result', role: 'result', start, end, isJson: true, ...images };
}

const TEXTS = new Set(['input_text', 'output_text', 'text', 'refusal', 'summary_text', 'reasoning_text']);
const TEXT_PART: KnownMembers = {
  texts: new Set(['type', 'text', 'refusal']),
  json: new Set(['annotations', 'logprobs', ...MARKS]),
};
const IMAGE: KnownMembers = {
  texts: new Set(['type', 'image_url', 'file_id', 'detail']),
  json: new Set(['image_url', ...MARKS]),
};
const AUDIO: KnownMembers = { texts: new Set(['type']), json: new Set(['input_audio']) };
/** A map, because a request may name a part `constructor`. */
const MEDIA_PARTS = new Map([
  ['input_image', IMAGE],
  ['input_audio', AUDIO],
]);
const INLINE = Buffer.from('"data:');

/** Counts the images of a content. All other parts must be text. */
function imagesIn(
  reader: BlockReader,
  { start }: Range,
): Pick<PromptBlock, 'images' | 'addressed' | 'inline'> {
  const { bytes } = reader;
  const counts = { images: 0, addressed: 0, inline: 0 };
  if (bytes[start] === QUOTE) return counts;
  if (bytes[start] !== OPEN_BRACKET) throw new UnboundedInput('a content that is no text');
  walkArray(bytes, start, (part) => {
    const members: Member[] = [];
    const end = readMembers(bytes, part, members);
    const type = onlyMember(members, 'type');
    const name = (type && stringAt(bytes, type)) ?? NO_TYPE;
    checkMembers(bytes, members, MEDIA_PARTS.get(name) ?? TEXT_PART, unknownType('content part', name));
    if (name === 'input_image') {
      counts.images++;
      const url = onlyMember(members, 'image_url');
      const isInline = url && bytesAt(bytes, url.start, INLINE);
      if (isInline) counts.inline += url.end - url.start;
      else counts.addressed++;
    } else if (name === 'input_audio') {
      checkAudio(bytes, members);
      reader.isComparable = false;
    } else if (!TEXTS.has(name)) throw new UnboundedInput(unknownType('content part', name));
    return end;
  });
  return counts;
}
