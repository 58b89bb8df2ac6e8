import OpenAI from 'openai';
import type { Endpoint } from './direct-and-through-gw.ts';
import { loadSdk } from './load-sdk.ts';

export interface AskOptions {
  signal?: AbortSignal;
  maxRetries?: number;
  timeoutMs?: number;
}

/** One interface to all client libraries. */
export interface Client {
  name: string;
  /** The text of the answer. */
  ask(endpoint: Endpoint, prompt: string, options?: AskOptions): Promise<string>;
  /** The pieces of a streamed answer. */
  stream(endpoint: Endpoint, prompt: string, options?: AskOptions): AsyncIterable<string>;
  /** It can't abort a stream. */
  isPatient?: true;
  /** A parsed answer of SCHEMA; undefined when the library has no structured output. */
  structured?(endpoint: Endpoint, prompt: string): Promise<unknown>;
}

export const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
export const MODEL = 'test-model';
export const CLAUDE = 'claude-sonnet-4-6';

/** The common part of the constructors of all versions of `openai`. */
export type OpenAiConstructor = new (options: object) => OpenAI;

/** The clients of any version of `openai`. */
export function openAiClients(Sdk: OpenAiConstructor, version: string): Client[] {
  const connect = ({ baseURL, apiKey }: Endpoint, { maxRetries = 0, timeoutMs = 20_000 }: AskOptions = {}) =>
    new Sdk({ baseURL, apiKey, maxRetries, timeout: timeoutMs });
  const format = { type: 'json_schema' as const, name: 'place', schema: SCHEMA, strict: true };
  return [
    {
      name: `openai ${version}, chat`,
      async ask(endpoint, content, options) {
        const body = { model: MODEL, messages: [{ role: 'user' as const, content }] };
        const answer = await connect(endpoint, options).chat.completions.create(body, signalOf(options));
        return answer.choices[0]?.message.content ?? '';
      },
      async *stream(endpoint, content, options) {
        const body = { model: MODEL, messages: [{ role: 'user' as const, content }], stream: true as const };
        const stream = await connect(endpoint, options).chat.completions.create(body, signalOf(options));
        for await (const { choices } of stream) yield choices[0]?.delta.content ?? '';
      },
      async structured(endpoint, content) {
        const { type, ...json_schema } = format;
        const answer = await connect(endpoint).chat.completions.create({
          model: MODEL,
          messages: [{ role: 'user', content }],
          response_format: { type, json_schema },
        });
        return JSON.parse(answer.choices[0]?.message.content ?? '');
      },
    },
    {
      name: `openai ${version}, responses`,
      async ask(endpoint, input, options) {
        const answer = await connect(endpoint, options).responses.create(
          { model: MODEL, input },
          signalOf(options),
        );
        return answer.output_text;
      },
      async *stream(endpoint, input, options) {
        const body = { model: MODEL, input, stream: true as const };
        for await (const event of await connect(endpoint, options).responses.create(body, signalOf(options)))
          if (event.type === 'response.output_text.delta') yield event.delta;
      },
      async structured(endpoint, input) {
        const answer = await connect(endpoint).responses.create({ model: MODEL, input, text: { format } });
        return JSON.parse(answer.output_text);
      },
    },
  ];
}

export function signalOf(options: AskOptions = {}): { signal?: AbortSignal } {
  return options.signal ? { signal: options.signal } : {};
}

async function anthropicClients(): Promise<Client[]> {
  interface Message {
    content: { text?: string }[];
  }
  interface Messages {
    create(body: object, options?: object): Promise<Message & AsyncIterable<{ delta?: { text?: string } }>>;
  }
  const sdk = await loadSdk<{ default: new (options: object) => { messages: Messages } }>(
    '@anthropic-ai/sdk',
  );
  if (!sdk) return [];
  const messages = ({ baseURL, apiKey }: Endpoint, { maxRetries = 0, timeoutMs = 20_000 }: AskOptions = {}) =>
    new sdk.default({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey, maxRetries, timeout: timeoutMs })
      .messages;
  const bodyOf = (content: string) => ({
    model: CLAUDE,
    max_tokens: 100,
    messages: [{ role: 'user', content }],
  });
  return [
    {
      name: '@anthropic-ai/sdk',
      async ask(endpoint, prompt, options) {
        const { content } = await messages(endpoint, options).create(bodyOf(prompt), signalOf(options));
        return content[0]?.text ?? '';
      },
      async *stream(endpoint, prompt, options) {
        const body = { ...bodyOf(prompt), stream: true };
        for await (const { delta } of await messages(endpoint, options).create(body, signalOf(options)))
          if (delta?.text) yield delta.text;
      },
      async structured(endpoint, prompt) {
        const output_config = { format: { type: 'json_schema', schema: SCHEMA } };
        const { content } = await messages(endpoint).create({ ...bodyOf(prompt), output_config });
        return JSON.parse(content[0]?.text ?? '');
      },
    },
  ];
}

/** The clients of the makers' own SDKs. */
export async function makersClients(): Promise<Client[]> {
  return [...openAiClients(OpenAI as unknown as OpenAiConstructor, '6'), ...(await anthropicClients())];
}
