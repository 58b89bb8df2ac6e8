import type { Member } from '../../json/scan.ts';
import { readMembers, stringAt, walkArray } from '../../json/walk.ts';
import type { BlockRole, PromptBlock } from '../request/prompt-block.ts';
import {
  type BlockReader,
  type BlockShape,
  type NewBlock,
  onlyMember,
  UnboundedInput,
} from '../request/prompt-blocks.ts';
import { addFunctionTools } from './chat-blocks.ts';

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const NULL = 0x6e;

/** Blocks of OpenAI's responses. */
export const RESPONSE_BLOCKS: BlockShape = {
  fields: { tools: addFunctionTools, instructions: addInstructions, input: addInput },
  options: new Set(['tool_choice', 'text', 'reasoning']),
  previous: 'previous_response_id',
};

function addInstructions(reader: BlockReader, { start, end }: Member): void {
  if (reader.bytes[start] === NULL) return;
  if (reader.bytes[start] !== QUOTE) throw new UnboundedInput();
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
  walkArray(bytes, start, (item) => {
    const members: Member[] = [];
    const itemEnd = readMembers(bytes, item, members);
    reader.openMessage();
    reader.add(readItem(bytes, { start: item, end: itemEnd }, members));
    return itemEnd;
  });
}

interface Range {
  start: number;
  end: number;
}

function readItem(bytes: Buffer, range: Range, members: Member[]): NewBlock {
  const { start, end } = range;
  const type = onlyMember(members, 'type');
  switch (type ? stringAt(bytes, type) : 'message') {
    case 'message':
      return messageBlock(bytes, range, members);
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call':
      return { kind: 'assistant', role: 'assistant', start, end, isJson: true };
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      return outputBlock(bytes, range, members);
    case 'reasoning': {
      // Without its sealed text the item refers to what the provider stores.
      const seal = onlyMember(members, 'encrypted_content');
      if (!seal || bytes[seal.start] !== QUOTE) throw new UnboundedInput();
      return { kind: 'reasoning', role: 'assistant', start, end };
    }
    default:
      throw new UnboundedInput();
  }
}

const ROLES: Readonly<Record<string, BlockRole>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
};

function messageBlock(bytes: Buffer, { start, end }: Range, members: Member[]): NewBlock {
  const roleMember = onlyMember(members, 'role');
  const roleName = (roleMember && stringAt(bytes, roleMember)) ?? '';
  const role = Object.hasOwn(ROLES, roleName) ? ROLES[roleName] : undefined;
  const content = onlyMember(members, 'content');
  if (!role || !content) throw new UnboundedInput();
  const kind = role === 'system' || role === 'user' ? role : 'assistant';
  const images = imagesIn(bytes, content);
  return { kind, role, start, end, ...images };
}

function outputBlock(bytes: Buffer, { start, end }: Range, members: Member[]): NewBlock {
  const output = onlyMember(members, 'output');
  if (!output) throw new UnboundedInput();
  const images = imagesIn(bytes, output);
  return {
    kind: 'result',
    role: 'result',
    start,
    end,
    isJson: true,
    ...images,
  };
}

const TEXTS = new Set(['input_text', 'output_text', 'refusal', 'summary_text', 'reasoning_text']);
const INLINE = Buffer.from('"data:');

/** The images of a content, which otherwise is text. */
function imagesIn(bytes: Buffer, { start }: Range): Pick<PromptBlock, 'images' | 'addressed' | 'inline'> {
  const found = { images: 0, addressed: 0, inline: 0 };
  if (bytes[start] === QUOTE) return found;
  if (bytes[start] !== OPEN_BRACKET) throw new UnboundedInput();
  walkArray(bytes, start, (part) => {
    const members: Member[] = [];
    const end = readMembers(bytes, part, members);
    const type = onlyMember(members, 'type');
    const name = (type && stringAt(bytes, type)) ?? '';
    if (name === 'input_image') {
      found.images++;
      const url = onlyMember(members, 'image_url');
      const isInline = url && INLINE.compare(bytes, url.start, url.start + INLINE.length) === 0;
      if (isInline) found.inline += url.end - url.start;
      else found.addressed++;
    } else if (!TEXTS.has(name)) throw new UnboundedInput();
    return end;
  });
  return found;
}
