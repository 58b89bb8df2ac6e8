import { createHash, hash } from 'node:crypto';
import { OPEN_BRACE, OPEN_BRACKET, QUOTE, type Range, START_OF_NULL } from '../../json/bytes.ts';
import { removeMember } from '../../json/edit.ts';
import { JsonSyntaxError, type Member, readValue } from '../../json/scan.ts';
import { walkArray, walkRest } from '../../json/walk.ts';
import type {
  BlockKind,
  BlockRole,
  EarlierPrompt,
  PromptBlock,
  PromptBlocks,
  SplitField,
  SplitMessages,
  UnknownInput,
} from './prompt-block.ts';
import { mayAnswerOther } from './surcharges.ts';
import type { WireRequest } from './wire-request.ts';

/** Thrown for input that may have more tokens than bytes. The message names it: `a "file_search_call" item`. */
export class UnboundedInput extends Error {
  override readonly name = 'UnboundedInput';
}

/** How to split an API's requests into blocks. */
export interface BlockShape {
  /** Readers of the fields that contain blocks, in the order of comparison. */
  fields: Readonly<Record<string, (reader: BlockReader, member: Member) => void>>;
  /** Fields that change how a prompt is rendered. */
  options: ReadonlySet<string>;
  /** The field with the id of a stored response. */
  previous?: string;
  /** Computes `PromptBlocks.keepsReasoning`; true if undefined. */
  keepsReasoning?: (blocks: readonly PromptBlock[], request: WireRequest) => boolean;
}

/** Fields that no model reads and that change no template. All other known fields are part of the key. */
// biome-ignore format: related fields share a line
const INERT: ReadonlySet<string> = new Set([
  'model', 'service', 'stream', 'stream_options', 'metadata', 'user', 'safety_identifier', 'store',
  'prompt_cache_key', 'prompt_cache_retention', 'cache_control', 'service_tier', 'speed', 'inference_geo',
  'temperature', 'top_p', 'top_k', 'seed', 'stop', 'stop_sequences', 'logprobs', 'top_logprobs',
  'max_tokens', 'max_completion_tokens', 'max_output_tokens',
]);

/** Fields that truncate the prompt or let another model answer. Token counts of its blocks are then not comparable. */
// biome-ignore format: related fields share a line
const INCOMPARABLE: ReadonlySet<string> = new Set([
  'truncation', 'truncate', 'truncate_prompt_tokens', 'transforms', 'options', 'num_ctx', 'keep_alive',
  'models', 'fallbacks', 'preset', 'route', 'multi_agent', 'prediction',
]);

/**
 * Other known fields whose values refer to nothing outside the request. Any unknown field may refer to something that
 * the provider stores, unless its value is a number or a boolean.
 */
// biome-ignore format: related fields share a line
const SELF_CONTAINED: ReadonlySet<string> = new Set([
  'n', 'best_of', 'functions', 'function_call', 'tool_choice', 'suffix',
  'parallel_tool_calls', 'response_format', 'format', 'text', 'reasoning', 'reasoning_effort', 'reasoning_format',
  'thinking', 'think', 'effort', 'verbosity', 'output_config', 'output_format', 'include', 'modalities', 'audio',
  'logit_bias', 'stop_token_ids', 'bad_words', 'frequency_penalty', 'presence_penalty', 'encoding_format', 'dimensions',
  'input_type', 'task', 'provider', 'usage', 'betas', 'anthropic_beta', 'anthropic_version', 'client_metadata',
  'request_id', 'session_id', 'stream_format', 'prompt_cache_options', 'chat_template_kwargs',
  'structured_outputs', 'guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'guided_decoding_backend',
  'grammar', 'regex', 'json_schema', 'safety_settings', 'guardrail_config', 'moderation', 'debug', 'inference_region',
]);

/** More blocks than any agent sends. Comparing more would take too long. */
const MAX_BLOCKS = 2_000;

/**
 * Splits a request into blocks; undefined if it has input that may have more tokens than bytes. The messages in the
 * common prefix with `earlier` are reused, not read again.
 */
export function splitPrompt(
  request: WireRequest,
  shape: BlockShape,
  earlier?: EarlierPrompt,
): PromptBlocks | undefined {
  const { nonText, serverTools } = request;
  const { context, onlyStored } = nonText;
  const heldByRounds = serverTools?.heldByRounds === true;
  const isUnbounded = context && !heldByRounds && !(onlyStored && shape.previous !== undefined);
  const hasTools = serverTools !== undefined && !heldByRounds;
  if (hasTools || isUnbounded || mayAnswerOther(request.surcharges)) return undefined;
  try {
    return readBlocks(request, shape, earlier);
  } catch (error) {
    if (error instanceof UnboundedInput || error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** Finds input that may have more tokens than bytes. Anything of an unknown shape counts. Undefined if there is none. */
export function findUnseen(request: WireRequest, shape: BlockShape): UnknownInput | undefined {
  const reader = new BlockReader(request.bytes, false);
  try {
    readShapes(request, shape, reader);
    return reader.unseen === undefined ? undefined : { what: reader.unseen, isInline: true };
  } catch (error) {
    if (error instanceof UnboundedInput) return { what: error.message, isInline: false };
    if (error instanceof JsonSyntaxError)
      return { what: 'JSON of a form that it does not know', isInline: false };
    throw error;
  }
}

/** Reads the fields that contain blocks, and checks that all others are known. */
function readShapes(
  { bytes, members }: WireRequest,
  { fields, options, previous }: BlockShape,
  reader: BlockReader,
): void {
  for (const { key, start, end } of members) {
    if (key === previous || Object.hasOwn(fields, key) || options.has(key) || INERT.has(key)) continue;
    if (INCOMPARABLE.has(key)) reader.isComparable = false;
    else if (!SELF_CONTAINED.has(key) && mayRefer(bytes, { start, end }))
      throw new UnboundedInput(`the field "${key}"`);
  }
  for (const name in fields) {
    for (const member of members) {
      if (member.key === name && bytes[member.start] !== START_OF_NULL)
        reader.readField(member, fields[name]);
    }
  }
}

function readBlocks(request: WireRequest, shape: BlockShape, earlier?: EarlierPrompt): PromptBlocks {
  const { bytes, members } = request;
  const reader = new BlockReader(bytes, true, earlier?.entry.shape === shape ? earlier : undefined);
  const key = createHash('sha256');
  const seen = new Set<string>();
  let previous: string | undefined;
  for (const member of members) {
    const { key: name, start, end } = member;
    if (seen.has(name)) throw new UnboundedInput(`the field "${name}" twice`);
    seen.add(name);
    if (name === shape.previous) previous = previousIn(bytes, member);
    else if (shape.options.has(name)) reader.addOption(member);
    else if (!INERT.has(name) && !Object.hasOwn(shape.fields, name))
      key.update(`${name.length}:${name}${end - start}:`).update(bytes.subarray(start, end));
  }
  readShapes(request, shape, reader);
  if (!reader.isComparable || reader.unseen !== undefined) throw new UnboundedInput(reader.unseen);
  const { blocks } = reader;
  return {
    bytes,
    shape,
    blocks,
    previous,
    key: key.digest('base64').slice(0, ID_LENGTH),
    keepsReasoning: shape.keepsReasoning?.(blocks, request) ?? true,
    messages: reader.messages,
    fields: reader.fields,
  };
}

function previousIn(bytes: Buffer, member: Member): string | undefined {
  const id = readValue(bytes, member);
  if (id !== null && typeof id !== 'string') throw new UnboundedInput('the id of a response');
  return id ?? undefined;
}

/** 132 bits of a hash. */
const ID_LENGTH = 22;

/** The properties of a block to add. */
export interface NewBlock extends Range {
  kind: BlockKind;
  role: BlockRole;
  /** Cache markers: ranges excluded from the hash. In order. */
  marks?: readonly Range[];
  /** Ranges that are blocks of their own. In order. */
  parts?: readonly Range[];
  isJson?: boolean;
  name?: string | undefined;
  references?: readonly string[] | undefined;
  images?: number;
  addressed?: number;
  inline?: number;
  /** The hashed range, unless it is the whole block. */
  hashed?: Range | undefined;
}

const NO_RANGES: readonly Range[] = [];

/** Collects the blocks of one request. */
export class BlockReader {
  readonly bytes: Buffer;
  readonly blocks: PromptBlock[] = [];
  /** False if the tokens are bounded by the bytes, but the prompt can't be compared with others. */
  isComparable = true;
  /** Input of a known shape that may have more tokens than bytes. */
  unseen: string | undefined;
  messages: SplitMessages | undefined;
  readonly fields: SplitField[] = [];
  readonly #keeps: boolean;
  readonly #earlier: EarlierPrompt | undefined;
  #opensMessage = false;

  /** `keeps`: collect the blocks. False to check only whether all shapes are known. */
  constructor(bytes: Buffer, keeps: boolean, earlier?: EarlierPrompt) {
    this.bytes = bytes;
    this.#keeps = keeps;
    this.#earlier = earlier;
  }

  /** Reads a field, or takes its blocks from the earlier prompt if that has the same. */
  readField(member: Member, read: BlockShape['fields'][string] | undefined): void {
    const { messages, blocks } = this;
    const firstBlock = blocks.length;
    if (!this.#takeField(member)) read?.(this, member);
    if (!this.#keeps || this.messages !== messages) return;
    const { key, start, end } = member;
    this.fields.push({ key, start, end, firstBlock, blocks: blocks.length - firstBlock });
  }

  /** Whether the earlier prompt has the same field; a field of messages is never taken whole. */
  #takeField({ key, start, end }: Member): boolean {
    const { entry: prompt, shared } = this.#earlier ?? { shared: 0 };
    const field = prompt?.fields.find((each) => each.key === key && each.end - each.start === end - start);
    if (!prompt || !field) return false;
    const isInPrefix = start === field.start && end <= shared;
    if (!isInPrefix && this.bytes.compare(prompt.bytes, field.start, field.end, start, end) !== 0)
      return false;
    this.#reuse(prompt, field, start - field.start);
    return true;
  }

  /** Adds blocks of an earlier prompt, which stand `moved` bytes further on in this one. */
  #reuse(
    prompt: PromptBlocks,
    { firstBlock, blocks }: Pick<SplitField, 'firstBlock' | 'blocks'>,
    moved = 0,
  ): void {
    if (this.blocks.length + blocks > MAX_BLOCKS) throw new UnboundedInput('so many blocks');
    for (let i = firstBlock; i < firstBlock + blocks; i++) {
      const block = prompt.blocks[i];
      if (block)
        this.blocks.push(
          moved === 0 ? block : { ...block, start: block.start + moved, end: block.end + moved },
        );
    }
  }

  /** Walks the messages of the array at `start`. `visit` opens each message, adds its blocks and returns its end. */
  walkMessages(start: number, visit: (messageStart: number) => number): void {
    if (!this.#keeps) {
      walkArray(this.bytes, start, visit);
      return;
    }
    const messages: SplitMessages = { firstBlock: this.blocks.length, ends: [], blocks: [] };
    const visitAndNote = (messageStart: number) => {
      const end = visit(messageStart);
      messages.ends.push(end);
      messages.blocks.push(this.blocks.length - messages.firstBlock);
      return end;
    };
    const earlierEnd = this.#takeEarlier(messages);
    if (earlierEnd === undefined) walkArray(this.bytes, start, visitAndNote);
    else walkRest(this.bytes, earlierEnd, visitAndNote);
    this.messages = messages;
  }

  /** Reuses the messages within the common prefix with the earlier prompt. Returns their end, if there are any. */
  #takeEarlier(messages: SplitMessages): number | undefined {
    const { entry: prompt, shared } = this.#earlier ?? { shared: 0 };
    const split = prompt?.messages;
    if (!prompt || !split) return undefined;
    // A message is reusable if it ends within the common prefix.
    let count = split.ends.length;
    while (count > 0 && (split.ends[count - 1] ?? 0) > shared) count--;
    if (count === 0) return undefined;
    messages.ends = split.ends.slice(0, count);
    messages.blocks = split.blocks.slice(0, count);
    this.#reuse(prompt, { firstBlock: split.firstBlock, blocks: split.blocks[count - 1] ?? 0 });
    return split.ends[count - 1];
  }

  /** Marks the next block as the first of a message. */
  openMessage(): void {
    this.#opensMessage = true;
  }

  /** Whether a message was opened and has no block yet. */
  get isAtMessage(): boolean {
    return this.#opensMessage;
  }

  add(block: NewBlock): void {
    if (!this.#keeps) {
      this.#opensMessage = false;
      return;
    }
    if (this.blocks.length >= MAX_BLOCKS) throw new UnboundedInput('so many blocks');
    const { kind, role, start, end, isJson = false, name, references } = block;
    const { images = 0, addressed = 0, inline = 0 } = block;
    const parts = block.parts ?? NO_RANGES;
    const opensMessage = this.#opensMessage;
    this.#opensMessage = false;
    this.blocks.push({
      id: `${kind} ${role}${opensMessage ? ':' : '.'}${this.#hash(block, parts)}`,
      kind,
      role,
      start,
      end,
      without: parts.reduce((sum, part) => sum + part.end - part.start, 0),
      opensMessage,
      isJson,
      name,
      references,
      images,
      addressed,
      inline,
    });
  }

  addOption({ key, start, end }: Member): void {
    if (!this.#keeps) return;
    this.add({ kind: 'option', role: 'option', start, end, isJson: true, name: key });
    const block = this.blocks.at(-1);
    if (block) block.id += key;
  }

  #hash({ hashed, start, end, marks = NO_RANGES }: NewBlock, parts: readonly Range[]): string {
    const { bytes } = this;
    if (hashed) return hash('sha256', bytes.subarray(hashed.start, hashed.end), 'base64').slice(0, ID_LENGTH);
    const cuts = parts.length === 0 ? marks : [...marks, ...parts].sort((a, b) => a.start - b.start);
    if (cuts.length === 0) return hash('sha256', bytes.subarray(start, end), 'base64').slice(0, ID_LENGTH);
    const digest = createHash('sha256');
    let from = start;
    for (const cut of cuts) {
      digest.update(bytes.subarray(from, cut.start));
      from = cut.end;
    }
    return digest.update(bytes.subarray(from, end)).digest('base64').slice(0, ID_LENGTH);
  }
}

/** The only member of that name. Throws UnboundedInput for duplicates: servers could read different ones. */
export function onlyMember(members: readonly Member[], key: string): Member | undefined {
  let only: Member | undefined;
  for (const member of members) {
    if (member.key !== key) continue;
    if (only) throw new UnboundedInput(`"${key}" twice in an object`);
    only = member;
  }
  return only;
}

/** The range of an object's cache marker with its comma; empty if there is none. */
export function marksOf(members: readonly Member[]): readonly Range[] {
  const mark = onlyMember(members, 'cache_control');
  return mark ? [removeMember(members, mark)] : NO_RANGES;
}

/** The members that an object of a known shape may have. All of them are read or are labels. */
export interface KnownMembers {
  texts: ReadonlySet<string>;
  /** JSON without references, such as arguments and schemas, or JSON checked elsewhere. */
  json: ReadonlySet<string>;
}

/** Throws UnboundedInput for a member that may refer to something outside the request. */
export function checkMembers(
  bytes: Buffer,
  members: readonly Member[],
  { texts, json }: KnownMembers,
  what: string,
): void {
  for (const member of members) {
    if (json.has(member.key) || (texts.has(member.key) && bytes[member.start] === QUOTE)) continue;
    if (mayRefer(bytes, member)) throw new UnboundedInput(`"${member.key}" in ${what}`);
  }
}

/** The length of `""`, `{}` and `[]`. */
const EMPTY_LENGTH = 2;

/** Whether a value may be or contain an id or URL. Numbers, booleans, null and empty values can't. */
function mayRefer(bytes: Buffer, { start, end }: Range): boolean {
  const first = bytes[start];
  const isScalar = first !== QUOTE && first !== OPEN_BRACE && first !== OPEN_BRACKET;
  return !isScalar && end - start > EMPTY_LENGTH;
}

/** Requires a string with the content itself, not its URL. Throws UnboundedInput for anything else. */
export function checkInline(bytes: Buffer, member: Member | undefined, what: string): void {
  if (
    member &&
    bytes[member.start] === QUOTE &&
    !ADDRESS.test(bytes.toString('latin1', member.start + 1, member.start + 65))
  )
    return;
  throw new UnboundedInput(`${what} by address`);
}

/** The start of a URL with any scheme except `data:`, after characters that servers trim. */
const ADDRESS = /^(?:\s|\\[bfnrt])*(?:(?!data:)[a-z][a-z\d+.-]*:|.{0,32}\\u|(?:\\?\/){2})/i;
