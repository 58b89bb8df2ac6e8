import { createHash } from 'node:crypto';
import type { ProviderSettings } from '../../src/config/settings.ts';
import { isObject, objectsIn } from '../../src/json/object.ts';
import { countTokens } from '../../src/tokens/count.ts';
import type { Dice } from '../fuzz/dice.ts';
import { chunk, frames } from '../providers/clouds/support/frames.ts';
import { chunkBody, usageOf } from '../support/chat-shapes.ts';
import { answerOf } from '../support/gemini.ts';
import { json, type Script } from '../support/scripts.ts';
import { type Event, events } from '../wire/support/event-scripts.ts';
import { messageStream, messageUsage, text, toolUse } from '../wire/support/messages-shapes.ts';

type Json = Record<string, unknown>;

/** Prices of a token in pico-dollars. */
export interface Prices {
  input: number;
  cached: number;
  written: number;
  output: number;
}

/** An account at a cloud that agents spend at. */
export interface CloudCase {
  name: string;
  provider: string;
  model: string;
  settings: ProviderSettings;
  /** As answers name the model. */
  served: string;
  prices: Prices;
  tokens: Tokens;
  /** Streams are in frames of AWS. */
  isFramed?: boolean;
}

const SONNET: Prices = { input: 3e6, cached: 0.3e6, written: 3.75e6, output: 15e6 };
const times = (prices: Prices, factor: number): Prices => ({
  input: prices.input * factor,
  cached: prices.cached * factor,
  written: prices.written * factor,
  output: prices.output * factor,
});
const PRO: Prices = { input: 1.25e6, cached: 0.125e6, written: 1.25e6, output: 10e6 };
const SERVED = 'claude-sonnet-4-5-20250929';
const BEDROCK = 'anthropic.claude-sonnet-4-5-20250929-v1:0';

type Tokens = (block: unknown) => number;

/** Every four bytes of a block are a token. */
const QUARTERS: Tokens = (block) => Math.ceil(Buffer.byteLength(plain(block)) / 4);

const counted = new Map<string, number>();

/** What OpenAI's tokenizer makes of the texts of a block, and a few tokens around it. */
const OPENAI: Tokens = (block) => {
  const name = plain(block);
  const texts = isObject(block) ? ['text', 'inside', 'content', 'name'].map((field) => block[field]) : [];
  const tokens =
    counted.get(name) ??
    texts.reduce<number>(
      (sum, each) => sum + (typeof each === 'string' ? countTokens(each, 'o200k_base') : 0),
      4,
    );
  counted.set(name, tokens);
  return tokens;
};

/** Marks are no input. */
const plain = (block: unknown): string =>
  JSON.stringify(block, (key, value) => (key === 'cache_control' ? undefined : value));

/** Prices as of November 2026, by the clouds' own pages. Regional ones cost a tenth more. */
export const CLOUD_CASES: readonly CloudCase[] = [
  {
    name: 'Bedrock, runtime',
    served: SERVED,
    tokens: QUARTERS,
    provider: 'bedrock',
    model: `eu.${BEDROCK}`,
    settings: { region: 'eu-west-1' },
    prices: times(SONNET, 1.1),
  },
  {
    name: 'Bedrock, InvokeModel',
    served: SERVED,
    tokens: QUARTERS,
    provider: 'bedrock',
    model: `global.${BEDROCK}`,
    settings: { region: 'eu-west-1', surface: 'invoke' },
    prices: SONNET,
    isFramed: true,
  },
  {
    name: 'Bedrock, mantle',
    served: 'claude-sonnet-4-6',
    tokens: QUARTERS,
    provider: 'bedrock',
    model: 'anthropic.claude-sonnet-4-6',
    settings: { region: 'us-east-1', surface: 'mantle' },
    prices: times(SONNET, 1.1),
  },
  {
    name: 'Vertex AI, Claude',
    served: SERVED,
    tokens: QUARTERS,
    provider: 'vertex',
    model: 'claude-sonnet-4-5@20250929',
    settings: { project: 'p', region: 'europe-west1', keyEnv: 'TOKEN' },
    prices: times(SONNET, 1.1),
  },
  {
    name: 'Vertex AI, Gemini',
    served: 'gemini-2.5-pro',
    tokens: QUARTERS,
    provider: 'vertex',
    model: 'gemini-2.5-pro',
    settings: { project: 'p', keyEnv: 'TOKEN' },
    prices: PRO,
  },
  {
    name: 'Foundry, Claude',
    served: 'claude-sonnet-4-6',
    tokens: QUARTERS,
    provider: 'azure',
    model: 'claude-sonnet-4-6',
    settings: { baseUrl: '/openai/v1' },
    prices: SONNET,
  },
  {
    name: 'Azure OpenAI',
    served: 'gpt-4.1-2025-04-14',
    tokens: OPENAI,
    provider: 'azure',
    model: 'prod',
    settings: { baseUrl: '/openai/v1', deployments: { prod: 'gpt-4.1' } },
    prices: { input: 2e6, cached: 0.5e6, written: 2e6, output: 8e6 },
  },
  {
    name: 'Gemini',
    served: 'gemini-2.5-pro',
    tokens: QUARTERS,
    provider: 'gemini',
    model: 'gemini-2.5-pro',
    settings: { baseUrl: '/v1beta' },
    prices: PRO,
  },
];

/** The blocks of a request in any API, in the order in which a model reads them. */
export function blocksOf(body: Json): unknown[] {
  const { tools, system, systemInstruction, messages, contents } = body;
  const parts = (list: unknown, field: string) =>
    objectsIn(list).flatMap(({ [field]: inside, ...rest }) =>
      Array.isArray(inside) ? inside : [{ ...rest, inside }],
    );
  return [
    ...objectsIn(tools),
    ...(Array.isArray(system) ? system : []),
    ...parts([systemInstruction], 'parts'),
    ...parts(messages, 'content'),
    ...parts(contents, 'parts'),
  ];
}

interface Usage {
  fresh: number;
  cached: number;
  written: number;
  output: number;
}

/** The least that is cached. */
const LEAST = 1024;

/** Prefixes of earlier requests. Claude caches up to its last mark, and bills what it writes; others cache by themselves. */
class PromptCache {
  readonly #known = new Set<string>();

  read(blocks: readonly unknown[], isMarked: boolean, tokensOf: Tokens): Omit<Usage, 'output'> {
    const last = isMarked
      ? blocks.findLastIndex((block) => isObject(block) && block.cache_control)
      : blocks.length - 1;
    let total = 0;
    let cached = 0;
    let cacheable = 0;
    const hash = createHash('sha256');
    blocks.forEach((block, i) => {
      hash.update(plain(block));
      total += tokensOf(block);
      const prefix = hash.copy().digest('hex');
      if (i > last) return;
      cacheable = total;
      if (this.#known.has(prefix) && total >= LEAST) cached = total;
      if (i === last || !isMarked) this.#known.add(prefix);
    });
    const written = isMarked && cacheable >= LEAST ? cacheable - cached : 0;
    return { fresh: total - cached - written, cached, written };
  }
}

/** What the provider has billed for each request, in nano-dollars. */
export interface ScriptedCloud {
  script: Script;
  bills: number[];
}

interface Faults {
  /** Writes so many times what the request allows. */
  overwrites?: number;
}

/** A cloud that counts, caches and bills by itself, and calls a tool in each answer. */
export function scriptedCloud(
  { prices, served, tokens, isFramed }: CloudCase,
  dice: Dice,
  faults: Faults = {},
): ScriptedCloud {
  const cache = new PromptCache();
  const bills: number[] = [];
  const script: Script = async (exchange) => {
    const body = JSON.parse(String(await exchange.body)) as Json;
    const { path } = exchange.request;
    const isGemini = path.includes(':generateContent') || path.includes(':streamGenerateContent');
    if (path.endsWith('/count-tokens')) return bedrockCount(body, path, tokens)(exchange);
    if (/count/i.test(path)) return json(200, countOf(body, path, tokens))(exchange);
    const isChat = path.endsWith('/chat/completions');
    const allowed = limitOf(body) * (faults.overwrites ?? 1);
    const output = Math.max(1, Math.min(allowed, faults.overwrites ? allowed : lengthOf(dice)));
    const usage = { ...cache.read(blocksOf(body), !isGemini && !isChat, tokens), output };
    bills.push(Math.ceil(picoOf(usage, prices) / 1000));
    const reply = { served, said: wordOf(output, dice), number: bills.length, usage };
    if (isGemini) return geminiAnswer(reply, path.includes(':stream'))(exchange);
    if (isChat) return events(chatEvents(reply))(exchange);
    const list = messageEvents(reply);
    return (isFramed ? frames(list.map(chunk), 4096) : events(list, { together: true }))(exchange);
  };
  return { script, bills };
}

function picoOf({ fresh, cached, written, output }: Usage, prices: Prices): number {
  return Math.round(
    fresh * prices.input + cached * prices.cached + written * prices.written + output * prices.output,
  );
}

/** Right to one percent, as the clouds' own counts are. */
function countOf(body: Json, path: string, tokensOf: Tokens): Json {
  const inner = isObject(body.generateContentRequest) ? body.generateContentRequest : body;
  const tokens = Math.floor(blocksOf(inner).reduce<number>((sum, block) => sum + tokensOf(block), 0) * 0.99);
  return path.includes(':countTokens') ? { totalTokens: tokens } : { input_tokens: tokens };
}

/** CountTokens of Bedrock, which refuses inference profiles and models that are reached by these alone. */
function bedrockCount({ input }: Json, path: string, tokensOf: Tokens): Script {
  if (!path.startsWith('/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/'))
    return json(400, { message: "The provided model doesn't support counting tokens." });
  const { body } = (input as { invokeModel: { body: string } }).invokeModel;
  const { input_tokens } = countOf(JSON.parse(String(Buffer.from(body, 'base64'))) as Json, path, tokensOf);
  return json(200, { inputTokens: input_tokens });
}

function limitOf({ max_tokens, max_completion_tokens, generationConfig }: Json): number {
  const config = isObject(generationConfig) ? generationConfig.maxOutputTokens : undefined;
  return Number(max_tokens ?? max_completion_tokens ?? config ?? 8192);
}

/** Most answers are short, a few are long. */
const lengthOf = (dice: Dice): number =>
  dice.chance(0.05) ? 1000 + dice.below(5000) : 500 + dice.below(2500);

const wordOf = (tokens: number, dice: Dice): string =>
  `${dice.below(1e9)}_`.repeat(Math.ceil(tokens / 3)).slice(0, tokens * 3);

interface Reply {
  served: string;
  said: string;
  number: number;
  usage: Usage;
}

const ARGS = { path: 'src/main.ts' };

function messageEvents({ served, said, number, usage: { fresh, cached, written, output } }: Reply): Event[] {
  const usage = messageUsage(fresh, 1, {
    ...{ cache_read_input_tokens: cached, cache_creation_input_tokens: written },
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
  });
  return messageStream([text(said), toolUse(`toolu_${number}`, 'read', ARGS)], {
    ...{ startUsage: usage, endUsage: { output_tokens: output }, stopReason: 'tool_use' },
    rest: { model: served },
  });
}

function chatEvents({ served, said, number, usage: { fresh, cached, output } }: Reply): Event[] {
  const call = { name: 'read', arguments: JSON.stringify(ARGS) };
  const tool_calls = [{ index: 0, id: `call_${number}`, type: 'function', function: call }];
  const usage = usageOf(fresh + cached, output, cached);
  const chunks = [
    chunkBody(served, { delta: { role: 'assistant', content: said, tool_calls } }),
    chunkBody(served, { finish_reason: 'tool_calls' }),
    chunkBody(served, undefined, { usage }),
  ];
  return [...chunks.map((each): Event => ['', each]), ['', '[DONE]']];
}

function geminiAnswer({ served, said, usage: { fresh, cached, output } }: Reply, isStream: boolean): Script {
  const usageMetadata = {
    ...{ promptTokenCount: fresh + cached, cachedContentTokenCount: cached },
    ...{ candidatesTokenCount: output, totalTokenCount: fresh + cached + output },
  };
  const parts = [{ text: said }, { functionCall: { name: 'read', args: ARGS } }];
  const answer = { ...answerOf(usageMetadata, parts), modelVersion: served };
  return isStream ? events([['', answer]]) : json(200, answer);
}
