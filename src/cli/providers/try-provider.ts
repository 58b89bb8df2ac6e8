import { isObject, objectsIn } from '../../json/object.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/projects.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import type { Context } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { askLocal } from '../daemon/http.ts';
import { withStore } from '../with-store.ts';

/** A real request that was sent to a provider, through gw, which records it like any other. */
export interface Trial {
  what: 'answer' | 'tool call' | 'stream';
  ok: boolean;
  model: string;
  message: string;
  /** The API that the provider was spoken to in. */
  api: string | null;
  /** Dollars; null if unknown. */
  costUsd: number | null;
}

interface TrialOptions {
  /** The provider's name of a model; the cheapest with a known price if none is named. */
  model: string | undefined;
  /** A tool call and a stream besides. */
  isFull: boolean;
}

const TIMEOUT_MS = 60_000;
const MESSAGES = [{ role: 'user', content: 'Reply with OK.' }];
const TOOL = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
};

/** Sends the smallest real requests to a provider. A text instead: why none was sent. */
export async function tryProvider(
  context: Context,
  name: string,
  options: TrialOptions,
): Promise<Trial[] | string> {
  const state = await findDaemon(context);
  if (state.kind !== 'running') return 'no request was sent, as gw is not running. Run: gw start';
  const { local } = state.daemon;
  const key = await withStore(context, (db) => cliKeyOf(context, db, DEFAULT_PROJECT));
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const model = options.model ?? (await cheapestModel(`${local}/v1/models`, headers, name));
  if (model === undefined)
    return `no request was sent, as gw knows no price of its models. Run: gw providers test ${name} --model MODEL`;
  const send = async (
    what: Trial['what'],
    fields: object,
    isGood: (answer: Answer) => boolean,
  ): Promise<Trial> => {
    const service = { optimize: false, route: false };
    const body = Buffer.from(
      JSON.stringify({ model: `${name}/${model}`, messages: MESSAGES, service, ...fields }),
    );
    const answer = await askLocal(`${local}/v1/chat/completions`, { headers, body, timeoutMs: TIMEOUT_MS });
    return { what, model, ...judge(what, answer, isGood) };
  };
  const first = await send('answer', { max_tokens: 16 }, ({ body }) => messageIn(body) !== undefined);
  if (!options.isFull || !first.ok) return [first];
  const tools = { tools: [TOOL], tool_choice: 'required', max_tokens: 200 };
  return [
    first,
    await send('tool call', tools, ({ body }) => objectsIn(messageIn(body)?.tool_calls).length > 0),
    await send('stream', { stream: true, max_tokens: 16 }, ({ text }) => text.includes('data: [DONE]')),
  ];
}

type Answer = Awaited<ReturnType<typeof askLocal>>;

function judge(
  what: Trial['what'],
  answer: Answer,
  isGood: (answer: Answer) => boolean,
): Omit<Trial, 'what' | 'model'> {
  const { status, text, headers } = answer;
  const cost = headers['x-service-cost-usd'];
  const api = headers['x-service-api'];
  const facts = {
    api: typeof api === 'string' ? api : null,
    costUsd: typeof cost === 'string' ? Number(cost) : null,
  };
  if (status >= 400)
    return {
      ok: false,
      message: `${reasonIn(answer.body) ?? text.slice(0, 300)} (HTTP ${status})`,
      ...facts,
    };
  if (isGood(answer)) return { ok: true, message: what === 'answer' ? 'answered' : 'works', ...facts };
  return { ok: false, message: `the answer has no ${what === 'stream' ? 'end' : what}`, ...facts };
}

function messageIn(body: unknown): Record<string, unknown> | undefined {
  const [choice] = objectsIn(isObject(body) ? body.choices : undefined);
  return isObject(choice?.message) ? choice.message : undefined;
}

/** Names of models that answer no chat. */
const NO_CHAT =
  /embed|whisper|tts|audio|image|dall|moderation|rerank|ocr|guard|realtime|transcri|video|sora|imagen|veo/i;

async function cheapestModel(
  url: string,
  headers: Record<string, string>,
  provider: string,
): Promise<string | undefined> {
  const { body } = await askLocal(url, { headers, timeoutMs: TIMEOUT_MS });
  const start = `${provider}/`;
  const priced = objectsIn(isObject(body) ? body.data : undefined).flatMap(({ id, pricing }) => {
    const output = isObject(pricing) ? pricing.output : undefined;
    if (typeof id !== 'string' || !id.startsWith(start) || typeof output !== 'number') return [];
    return NO_CHAT.test(id) ? [] : [{ model: id.slice(start.length), output }];
  });
  return priced.sort((a, b) => a.output - b.output)[0]?.model;
}

function reasonIn(body: unknown): string | undefined {
  const error = isObject(body) ? body.error : undefined;
  const message = isObject(error) ? error.message : error;
  return typeof message === 'string' ? message : undefined;
}
