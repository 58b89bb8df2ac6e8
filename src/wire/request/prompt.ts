import { isObject } from '../../json/object.ts';
import { type Member, readValue } from '../../json/scan.ts';
import type { Prompt, WireRequest } from './wire-request.ts';

/** The request fields that a model reads. */
export interface PromptFields {
  /** Conversations, texts and lists of token ids. Their strings are counted. */
  read: ReadonlySet<string>;
  /** Fields that the provider renders for the model. Counted as JSON. */
  json?: ReadonlySet<string>;
  /** Fields that let the provider add input: earlier responses, stored prompts, searches. */
  stored?: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** Fields that no model reads. */
// biome-ignore format: related fields share a line
const UNREAD: ReadonlySet<string> = new Set([
  'model', 'service', 'stream', 'stream_options', 'metadata', 'user', 'store', 'n', 'best_of',
  'max_tokens', 'max_completion_tokens', 'max_output_tokens', 'temperature', 'top_p', 'seed', 'logit_bias',
]);

/** Returns a function that extracts a request's text as the model reads it, and counts its non-text input. */
export function promptReader({
  read,
  json = NONE,
  stored = NONE,
}: PromptFields): (request: WireRequest) => Prompt {
  return ({ bytes, members, serverTools }) => {
    const nonText = { images: 0, context: serverTools !== undefined && !serverTools.heldByRounds };
    const prompt: Prompt = { texts: [], items: 0, tokens: 0, nonText, inlineBytes: 0 };
    for (const member of members) {
      if (read.has(member.key)) {
        const value = tryRead(bytes, member);
        if (value === undefined) {
          // An invalid value counts by its raw text, and may contain any non-text input.
          prompt.items += 1;
          prompt.texts.push(bytes.toString('utf8', member.start, member.end));
          nonText.context = true;
          continue;
        }
        prompt.items += Array.isArray(value) ? value.length : 1;
        if (isTokens(value)) for (const item of value) prompt.tokens += Array.isArray(item) ? item.length : 1;
        else collect(value, prompt);
      } else if (json.has(member.key)) {
        prompt.items += countItems(bytes, member);
        prompt.texts.push(bytes.toString('utf8', member.start, member.end));
      } else if (stored.has(member.key)) {
        if (tryRead(bytes, member) !== null) prompt.nonText.context = true;
      } else if (!UNREAD.has(member.key)) {
        // An unknown field, which some provider's model may read.
        prompt.texts.push(bytes.toString('utf8', member.start, member.end));
      }
    }
    return prompt;
  };
}

/** Number of items. Providers render each tool of a list separately. */
function countItems(bytes: Buffer, member: Member): number {
  const value = tryRead(bytes, member);
  return Array.isArray(value) ? value.length : 1;
}

/** Undefined if the value contains an invalid string or number, which some providers accept. */
function tryRead(bytes: Buffer, member: Member): unknown {
  try {
    return readValue(bytes, member);
  } catch {
    return undefined;
  }
}

/** Whether the input consists of token ids or lists of them, as in embeddings and legacy completions. */
function isTokens(value: unknown): value is unknown[] {
  if (!Array.isArray(value)) return false;
  const isToken = (item: unknown) => typeof item === 'number';
  return (
    value.length > 0 && value.every((item) => isToken(item) || (Array.isArray(item) && item.every(isToken)))
  );
}

const IMAGES = new Set(['image_url', 'input_image', 'image', 'computer_screenshot', 'image_generation_call']);
// biome-ignore format: related types share a line
const FILES = new Set([
  'file', 'input_file', 'document', 'item_reference', 'additional_tools',
  'video_url', 'audio_url', 'file_url', 'pdf_url', 'document_url',
]);
/** Fields with the bytes or the URL of an image or file. */
const CONTENTS = new Set(['url', 'image_url', 'data', 'file_data', 'file_url', 'file_id']);

function collect(value: unknown, prompt: Prompt): void {
  if (typeof value === 'string') prompt.texts.push(value);
  else if (Array.isArray(value)) for (const item of value) collect(item, prompt);
  else if (typeof value === 'object' && value !== null) collectObject(value, prompt);
}

function collectObject(value: object, prompt: Prompt): void {
  const { type } = value as { type?: unknown };
  const isImage = typeof type === 'string' && IMAGES.has(type);
  const isFile = typeof type === 'string' && FILES.has(type);
  if (!isText(type)) prompt.items += 1;
  if (isImage) prompt.nonText.images += 1;
  if (isFile || isEarlierAudio(value)) prompt.nonText.context = true;
  for (const [key, item] of Object.entries(value)) {
    if (isLabel(key, item)) continue;
    const text = isImage || isFile ? withoutContents(key, item) : item;
    if (isImage) prompt.inlineBytes += inlineBytes(key, item);
    // The model reads other objects, such as call arguments, with their keys and numbers.
    collect(typeof text === 'object' && !CONTAINERS.has(key) ? JSON.stringify(text) : text, prompt);
  }
}

/** False for calls and results. Providers add tokens around them, however short they are. */
function isText(type: unknown): boolean {
  return type === undefined || type === 'message' || (typeof type === 'string' && type.endsWith('text'));
}

/** Longer values may reach the model: invented roles, and signatures that contain reasoning. */
const MAX_LABEL = 64;

function isLabel(key: string, item: unknown): boolean {
  return LABELS.has(key) && typeof item === 'string' && item.length <= MAX_LABEL;
}

/** Whether a message refers to an earlier audio answer by its id. */
function isEarlierAudio({ audio }: { audio?: { id?: unknown } | null }): boolean {
  return typeof audio?.id === 'string';
}

/** Fields that contain content parts. Only their texts are read. */
// biome-ignore format: related fields share a line
const CONTAINERS = new Set([
  'content', 'summary', 'output', 'tool_calls', 'function',
  'image_url', 'input_audio', 'source', 'file',
]);

function withoutContents(key: string, item: unknown): unknown {
  if (typeof item === 'string') return CONTENTS.has(key) ? null : item;
  if (!isObject(item)) return item;
  return Object.fromEntries(
    Object.entries(item).map(([name, inner]) => [name, withoutContents(name, inner)]),
  );
}

/** Bytes of an image in a field or in its nested fields. */
function inlineBytes(key: string, item: unknown): number {
  if (typeof item === 'string') return CONTENTS.has(key) && !/^https?:/i.test(item) ? item.length : 0;
  if (!isObject(item)) return 0;
  return Object.entries(item).reduce((sum, [name, inner]) => sum + inlineBytes(name, inner), 0);
}

/** Fields that label a message or part and contain no conversation text. */
const LABELS = new Set(['role', 'type', 'id', 'object', 'signature']);

/** Collects all strings of generated output except labels, in order. Not recursive: it may be nested deeply. */
export function collectStrings(value: unknown, texts: string[]): void {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string') texts.push(next);
    else if (Array.isArray(next)) for (let i = next.length - 1; i >= 0; i--) left.push(next[i]);
    else if (typeof next === 'object' && next !== null) {
      for (const [key, item] of Object.entries(next).reverse()) if (!LABELS.has(key)) left.push(item);
    }
  }
}
