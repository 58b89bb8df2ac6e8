import { isObject } from '../../src/json/object.ts';
import { parseObject } from '../../src/wire/answer/events.ts';
import type { Dice } from '../fuzz/dice.ts';
import type { TestGateway } from '../support/gateway.ts';
import { readEvents } from '../wire/support/event-scripts.ts';
import { send } from '../wire/support/send.ts';
import { blocksOf, type CloudCase } from './scripted-cloud.ts';

type Json = Record<string, unknown>;

/** A request that was refused for lack of money. */
export interface Refusal {
  /** Of what a holder would have needed who knew the request's tokens, in nano-dollars. */
  neededNanoUsd: number;
  /** How many requests were served before. */
  served: number;
}

export interface AgentOptions {
  gateway: TestGateway;
  cloud: CloudCase;
  dice: Dice;
}

/** gw lowers an answer with tools to no less: admission.min_output_tokens. */
const LEAST_OUTPUT = 1024;
/** Agents go on with small sessions, until so many of them are refused at their first request. */
const SMALL_SESSIONS = 4;
const LARGE_BYTES = 40_000;

const MARK = { cache_control: { type: 'ephemeral' } };
const SYSTEM = 'You are a coding agent. Read before you write, and test what you have written. '.repeat(60);
const TOOLS = ['read', 'write', 'run', 'search'].map((name) => ({
  name,
  description: `${name} a file of the repository, by its path. `.repeat(8),
  input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}));

/**
 * Plays a coding agent, in Anthropic's API whatever the model is: streams, tools, results of 0.1 to 6 kB, marks on the last
 * message. It works until it is refused, and then in small sessions until these are.
 */
export async function playAgent(options: AgentOptions): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  let served = 0;
  while (refusals.length <= SMALL_SESSIONS) {
    const isSmall = refusals.length > 0;
    const session = await playSession(options, isSmall ? LARGE_BYTES / 4 : LARGE_BYTES);
    served += session.served;
    if (session.neededNanoUsd !== undefined) refusals.push({ neededNanoUsd: session.neededNanoUsd, served });
  }
  return refusals;
}

interface Session {
  served: number;
  /** Undefined where it became too large. */
  neededNanoUsd?: number;
}

async function playSession({ gateway, cloud, dice }: AgentOptions, mostBytes: number): Promise<Session> {
  const messages: Json[] = [userTurn([{ type: 'text', text: `Task ${dice.below(1e9)}: find the fault.` }])];
  let bytes = 0;
  for (let served = 0; ; served++) {
    if (bytes > mostBytes) return { served };
    const request = {
      ...{ model: `${cloud.provider}/${cloud.model}`, max_tokens: 8192, stream: true, tools: TOOLS },
      system: [{ type: 'text', text: SYSTEM, ...MARK }],
      messages: messages.map((message, i) => (i === messages.length - 1 ? marked(message) : message)),
    };
    const answer = await askPatiently(gateway, request);
    if (answer.status === 402) return { served, neededNanoUsd: needOf(request, cloud) };
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text()}`);
    const content = contentOf(answer.body);
    const results = content.flatMap(({ type, id }) =>
      type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: resultOf(dice) }] : [],
    );
    messages.push({ role: 'assistant', content }, userTurn(results));
    bytes = JSON.stringify(messages).length;
  }
}

const userTurn = (content: Json[]): Json => ({ role: 'user', content });

const marked = ({ content, ...rest }: Json): Json => ({
  ...rest,
  content: (content as Json[]).map((block, i, all) => (i === all.length - 1 ? { ...block, ...MARK } : block)),
});

/** As the SDKs do where the rest of the money is held by running requests. */
async function askPatiently(gateway: TestGateway, request: object) {
  for (;;) {
    const answer = await send(gateway, '/v1/messages', request);
    if (answer.status !== 429) return answer;
  }
}

/** Log-normal enough: half are below 800 bytes. A dollar is a fifth of what agents have elsewhere, and so are these. */
function resultOf(dice: Dice): string {
  const bytes = Math.floor(100 * 60 ** (dice.below(1000) / 1000));
  return `${dice.below(1e9)} function read(path) { return open(path); }\n`
    .repeat(Math.ceil(bytes / 50))
    .slice(0, bytes);
}

/** All input at the dearest price that it can have, and the smallest answer. */
function needOf(request: Json, { tokens, prices: { input, written, output } }: CloudCase): number {
  const all = blocksOf(request).reduce<number>((sum, block) => sum + tokens(block), 0);
  return Math.ceil((all * Math.max(input, written) + LEAST_OUTPUT * output) / 1000);
}

/** The content of a streamed message. */
function contentOf(body: Buffer): Json[] {
  const blocks: Json[] = [];
  for (const [name, data] of readEvents(body)) {
    const { index, content_block, delta } = data as Json;
    const at = Number(index);
    if (name === 'content_block_start' && isObject(content_block))
      blocks[at] = { ...content_block, json: '' };
    if (name !== 'content_block_delta' || !isObject(delta)) continue;
    const block = blocks[at] as Json;
    if (delta.type === 'text_delta') block.text = String(block.text) + String(delta.text);
    if (delta.type === 'input_json_delta') block.json = String(block.json) + String(delta.partial_json);
  }
  return blocks
    .filter(({ type }) => type === 'text' || type === 'tool_use')
    .map(({ json, ...block }) =>
      block.type === 'tool_use' ? { ...block, input: parseObject(String(json)) } : block,
    );
}
