import { createHash, hash } from 'node:crypto';
import { removeMember } from '../../json/edit.ts';
import { JsonSyntaxError, type Member, readValue } from '../../json/scan.ts';
import type { BlockKind, BlockRole, PromptBlock, PromptBlocks } from './prompt-block.ts';
import type { WireRequest } from './wire-request.ts';

/** Something whose size its bytes don't bound, or that gw doesn't know. */
export class UnboundedInput extends Error {
  override readonly name = 'UnboundedInput';
}

/** How an API's requests are split. */
export interface BlockShape {
  /** Reads the fields that hold blocks, in the order of comparison. */
  fields: Readonly<Record<string, (reader: BlockReader, member: Member) => void>>;
  /** Fields that change how a prompt is rendered. */
  options: ReadonlySet<string>;
  /** The field with the id of a response that the provider stores. */
  previous?: string;
  /** For `PromptBlocks.keepsReasoning`; true if undefined. */
  keepsReasoning?: (blocks: readonly PromptBlock[], request: WireRequest) => boolean;
}

/** Fields that no model reads, and that change no template: all others are part of the key. */
// biome-ignore format: related fields share a line
const INERT: ReadonlySet<string> = new Set([
  'model', 'service', 'stream', 'stream_options', 'metadata', 'user', 'safety_identifier', 'store',
  'prompt_cache_key', 'prompt_cache_retention', 'cache_control', 'service_tier', 'speed', 'inference_geo',
  'temperature', 'top_p', 'top_k', 'seed', 'stop', 'stop_sequences', 'logprobs', 'top_logprobs',
  'max_tokens', 'max_completion_tokens', 'max_output_tokens',
]);

/** Fields that add unseen input, cut the prompt, or let another model answer. */
// biome-ignore format: related fields share a line
const UNBOUNDED: ReadonlySet<string> = new Set([
  'previous_response_id', 'conversation', 'prompt', 'thread', 'compaction', 'context_management', 'container',
  'mcp_servers', 'cached_content', 'cachedContent', 'data_sources', 'web_search_options', 'extra_body',
  'truncation', 'truncate', 'truncate_prompt_tokens', 'transforms', 'options', 'num_ctx', 'keep_alive',
  'models', 'fallbacks', 'preset', 'route', 'plugins', 'multi_agent', 'documents', 'connectors', 'prediction',
]);

/** More blocks than any agent sends: comparing them would take long. */
const MAX_BLOCKS = 2_000;

/** Splits a request into blocks; undefined if it has input whose size the bytes don't bound. */
export function splitPrompt(request: WireRequest, shape: BlockShape): PromptBlocks | undefined {
  const { context, onlyStored } = request.nonText;
  const isUnbounded = context && !(onlyStored && shape.previous !== undefined);
  if (request.serverTools || isUnbounded || request.surcharges?.unknown !== undefined) return undefined;
  try {
    return readBlocks(request, shape);
  } catch (error) {
    if (error instanceof UnboundedInput || error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function readBlocks(request: WireRequest, shape: BlockShape): PromptBlocks {
  const { bytes, members } = request;
  const reader = new BlockReader(bytes);
  const key = createHash('sha256');
  const seen = new Set<string>();
  let previous: string | undefined;
  for (const member of members) {
    const { key: name, start, end } = member;
    const isPrevious = name === shape.previous;
    if ((UNBOUNDED.has(name) && !isPrevious) || seen.has(name)) throw new UnboundedInput();
    seen.add(name);
    if (isPrevious) previous = previousIn(bytes, member);
    else if (shape.options.has(name)) reader.addOption(member);
    else if (!INERT.has(name) && !Object.hasOwn(shape.fields, name))
      key.update(`${name.length}:${name}${end - start}:`).update(bytes.subarray(start, end));
  }
  for (const name in shape.fields) {
    const member = members.find((each) => each.key === name);
    if (member) shape.fields[name]?.(reader, member);
  }
  const { blocks } = reader;
  return {
    bytes,
    blocks,
    previous,
    key: key.digest('base64').slice(0, ID_LENGTH),
    keepsReasoning: shape.keepsReasoning?.(blocks, request) ?? true,
  };
}

function previousIn(bytes: Buffer, member: Member): string | undefined {
  const id = readValue(bytes, member);
  if (id !== null && typeof id !== 'string') throw new UnboundedInput();
  return id ?? undefined;
}

/** 132 bits of a hash. */
const ID_LENGTH = 22;

/** The properties of a block to add. */
export interface NewBlock {
  kind: BlockKind;
  role: BlockRole;
  start: number;
  end: number;
  /** Ranges of it that are not hashed: cache marks. In order. */
  marks?: readonly Range[];
  /** Ranges of it that are blocks of their own. In order, apart from the marks. */
  parts?: readonly Range[];
  isJson?: boolean;
  name?: string | undefined;
  references?: readonly string[] | undefined;
  images?: number;
  addressed?: number;
  inline?: number;
  /** The range that is hashed, if not all of it. */
  hashed?: Range | undefined;
}

interface Range {
  start: number;
  end: number;
}

const NO_RANGES: readonly Range[] = [];

/** Collects the blocks of one request. */
export class BlockReader {
  readonly bytes: Buffer;
  readonly blocks: PromptBlock[] = [];
  #opensMessage = false;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The next block opens a message. */
  openMessage(): void {
    this.#opensMessage = true;
  }

  /** A message has been opened, and no block of it has come. */
  get isAtMessage(): boolean {
    return this.#opensMessage;
  }

  add(block: NewBlock): void {
    if (this.blocks.length >= MAX_BLOCKS) throw new UnboundedInput();
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

/** The member of that name. Throws UnboundedInput if it stands twice: gw and the provider could read different ones. */
export function onlyMember(members: readonly Member[], key: string): Member | undefined {
  let found: Member | undefined;
  for (const member of members) {
    if (member.key !== key) continue;
    if (found) throw new UnboundedInput();
    found = member;
  }
  return found;
}

/** The range of an object's cache mark with its comma; none if there is no mark. */
export function marksOf(members: readonly Member[]): readonly Range[] {
  const mark = onlyMember(members, 'cache_control');
  return mark ? [removeMember(members, mark)] : NO_RANGES;
}
