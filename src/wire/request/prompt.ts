import { isObject } from '../../json/object.ts';
import { type Member, readValue } from '../../json/scan.ts';
import type { Prompt, WireRequest } from './wire-request.ts';

/** The fields of a request that a model reads. */
export interface PromptFields {
  /** Conversations, texts and lists of tokens: their strings are counted. */
  read: ReadonlySet<string>;
  /** What the provider writes out for the model: counted as JSON. */
  json?: ReadonlySet<string>;
  /** What makes the provider read in more by itself: earlier answers, stored prompts, searches. */
  stored?: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** Fields that no model reads. */
const UNREAD: ReadonlySet<string> = new Set([
  ...['model', 'service', 'stream', 'stream_options', 'metadata', 'user', 'store', 'n', 'best_of'],
  ...[
    'max_tokens',
    'max_completion_tokens',
    'max_output_tokens',
    'temperature',
    'top_p',
    'seed',
    'logit_bias',
  ],
]);

/** The request's text as the model reads it; of images and files, which are billed otherwise, how many there are. */
export function promptReader({
  read,
  json = NONE,
  stored = NONE,
}: PromptFields): (request: WireRequest) => Prompt {
  return ({ bytes, members, serverTools }) => {
    const nonText = { images: 0, context: serverTools !== undefined };
    const prompt: Prompt = { texts: [], items: 0, tokens: 0, nonText };
    for (const member of members) {
      if (read.has(member.key)) {
        const value = readOrNot(bytes, member);
        if (value === undefined) {
          addUnread(bytes, member, prompt);
          continue;
        }
        prompt.items += Array.isArray(value) ? value.length : 1;
        if (isTokens(value)) prompt.tokens += countTokens(value);
        else collect(value, prompt);
      } else if (json.has(member.key)) {
        prompt.items += countItems(bytes, member);
        prompt.texts.push(bytes.toString('utf8', member.start, member.end));
      } else if (stored.has(member.key)) {
        if (readOrNot(bytes, member) !== null) prompt.nonText.context = true;
      } else if (!UNREAD.has(member.key)) {
        // A field of some provider's own, which its model may read.
        prompt.texts.push(bytes.toString('utf8', member.start, member.end));
      }
    }
    return prompt;
  };
}

/** Each of a list of tools is written out for the model in words of its own. */
function countItems(bytes: Buffer, member: Member): number {
  const value = readOrNot(bytes, member);
  return Array.isArray(value) ? value.length : 1;
}

/** Undefined where a string or a number inside is none: the provider judges that, and may not mind. */
function readOrNot(bytes: Buffer, member: Member): unknown {
  try {
    return readValue(bytes, member);
  } catch {
    return undefined;
  }
}

/** What can't be read counts as the text that it is, and may hold anything besides. */
function addUnread(bytes: Buffer, { start, end }: Member, prompt: Prompt): void {
  prompt.items += 1;
  prompt.texts.push(bytes.toString('utf8', start, end));
  prompt.nonText.context = true;
}

/** Token ids instead of text, or lists of them, as embeddings and legacy completions take them. */
function isTokens(value: unknown): value is unknown[] {
  if (!Array.isArray(value)) return false;
  const isToken = (item: unknown) => typeof item === 'number';
  return (
    value.length > 0 && value.every((item) => isToken(item) || (Array.isArray(item) && item.every(isToken)))
  );
}

function countTokens(value: unknown[]): number {
  return value.reduce<number>((sum, item) => sum + (Array.isArray(item) ? item.length : 1), 0);
}

const IMAGES = new Set(['image_url', 'input_image', 'image', 'computer_screenshot', 'image_generation_call']);
const FILES = new Set([
  ...['file', 'input_file', 'document', 'item_reference', 'additional_tools'],
  ...['video_url', 'audio_url', 'file_url', 'pdf_url', 'document_url'],
]);
/** Where images and files keep their bytes and addresses. */
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
    const read = isImage || isFile ? withoutContents(key, item) : item;
    // The model reads the arguments of calls and the like with their keys and numbers.
    collect(typeof read === 'object' && !CONTAINERS.has(key) ? JSON.stringify(read) : read, prompt);
  }
}

/** Calls and their results, unlike texts, stand between words of the provider's, however short they are themselves. */
function isText(type: unknown): boolean {
  return type === undefined || type === 'message' || (typeof type === 'string' && type.endsWith('text'));
}

/** Longer ones may be read: made-up roles, and signatures that hold thoughts. */
const MOST_OF_LABEL = 64;

function isLabel(key: string, item: unknown): boolean {
  return LABELS.has(key) && typeof item === 'string' && item.length <= MOST_OF_LABEL;
}

/** A spoken answer is given back by its id. */
function isEarlierAudio({ audio }: { audio?: { id?: unknown } | null }): boolean {
  return typeof audio?.id === 'string';
}

/** Fields of messages and their parts that hold further parts, of which only the texts are read. */
const CONTAINERS = new Set([
  ...['content', 'summary', 'output', 'tool_calls', 'function'],
  ...['image_url', 'input_audio', 'source', 'file'],
]);

function withoutContents(key: string, item: unknown): unknown {
  if (typeof item === 'string') return CONTENTS.has(key) ? null : item;
  if (!isObject(item)) return item;
  return Object.fromEntries(
    Object.entries(item).map(([name, inner]) => [name, withoutContents(name, inner)]),
  );
}

/** Labels that are no text of the conversation. */
const LABELS = new Set(['role', 'type', 'id', 'object', 'signature']);

/** All strings of a generated value but for labels, in order. Without recursion: answers may be nested without end. */
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
