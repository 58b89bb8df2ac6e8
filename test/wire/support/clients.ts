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
const MODEL = 'test-model';
const CLAUDE = 'claude-sonnet-4-6';

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

function signalOf(options: AskOptions = {}): { signal?: AbortSignal } {
  return options.signal ? { signal: options.signal } : {};
}

/** The AI SDK has abort signals instead of timeouts. */
function abortSignalOf({ signal, timeoutMs }: AskOptions = {}): { abortSignal?: AbortSignal } {
  const abortSignal = signal ?? (timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs));
  return abortSignal ? { abortSignal } : {};
}

async function aiClients(): Promise<Client[]> {
  const ai = await loadSdk<{
    generateText(options: object): Promise<{ text: string }>;
    streamText(options: object): {
      fullStream: AsyncIterable<{ type: string; text?: string; error?: unknown }>;
    };
    generateObject(options: object): Promise<{ object: unknown }>;
    jsonSchema(schema: object): unknown;
  }>('ai');
  type Provider = ((model: string) => unknown) & { chat(model: string): unknown };
  const openai = await loadSdk<{ createOpenAI(endpoint: Endpoint): Provider }>('@ai-sdk/openai');
  const anthropic = await loadSdk<{ createAnthropic(endpoint: Endpoint): Provider }>('@ai-sdk/anthropic');
  if (!ai || !openai || !anthropic) return [];
  const client = (name: string, model: (endpoint: Endpoint) => unknown, hasStructured = true): Client => ({
    name: `AI SDK, ${name}`,
    async ask(endpoint, prompt, options = {}) {
      const { maxRetries = 0 } = options;
      return (
        await ai.generateText({ model: model(endpoint), prompt, maxRetries, ...abortSignalOf(options) })
      ).text;
    },
    async *stream(endpoint, prompt, options = {}) {
      const onError = () => {};
      const request = { model: model(endpoint), prompt, maxRetries: 0, onError, ...abortSignalOf(options) };
      for await (const part of ai.streamText(request).fullStream) {
        if (part.type === 'error') throw part.error;
        if (part.type === 'abort') throw new Error('aborted');
        if (part.type === 'text-delta') yield part.text ?? '';
      }
    },
    ...(hasStructured
      ? {
          async structured(endpoint: Endpoint, prompt: string) {
            const schema = ai.jsonSchema(SCHEMA);
            return (await ai.generateObject({ model: model(endpoint), prompt, schema, maxRetries: 0 }))
              .object;
          },
        }
      : {}),
  });
  return [
    client('responses', (endpoint) => openai.createOpenAI(endpoint)(MODEL)),
    client('chat', (endpoint) => openai.createOpenAI(endpoint).chat(MODEL)),
    client('messages', (endpoint) => anthropic.createAnthropic(endpoint)(CLAUDE), false),
  ];
}

async function langChainClients(): Promise<Client[]> {
  interface Model {
    invoke(prompt: string, options?: object): Promise<{ text: string }>;
    stream(prompt: string, options?: object): Promise<AsyncIterable<{ text: string }>>;
    withStructuredOutput(schema: object, options: object): { invoke(prompt: string): Promise<unknown> };
  }
  const sdk = await loadSdk<{ ChatOpenAI: new (options: object) => Model }>('@langchain/openai');
  if (!sdk) return [];
  return [false, true].map((useResponsesApi): Client => {
    const model = ({ baseURL, apiKey }: Endpoint, { maxRetries = 0, timeoutMs = 20_000 }: AskOptions = {}) =>
      new sdk.ChatOpenAI({
        model: MODEL,
        apiKey,
        configuration: { baseURL },
        useResponsesApi,
        maxRetries,
        timeout: timeoutMs,
      });
    return {
      name: `LangChain, ${useResponsesApi ? 'responses' : 'chat'}`,
      ask: async (endpoint, prompt, options) =>
        (await model(endpoint, options).invoke(prompt, signalOf(options))).text,
      async *stream(endpoint, prompt, options) {
        for await (const { text } of await model(endpoint, options).stream(prompt, signalOf(options)))
          yield text;
      },
      structured: (endpoint, prompt) =>
        model(endpoint).withStructuredOutput(SCHEMA, { name: 'place', method: 'jsonSchema' }).invoke(prompt),
    };
  });
}

async function agentsClients(): Promise<Client[]> {
  interface Result {
    finalOutput?: unknown;
    toTextStream(): AsyncIterable<string>;
    completed: Promise<void>;
  }
  const agents = await loadSdk<{
    Agent: new (options: object) => unknown;
    Runner: new (
      options: object,
    ) => { run(agent: unknown, input: string, options?: object): Promise<Result> };
    OpenAIProvider: new (options: object) => unknown;
    setTracingDisabled(disabled: boolean): void;
  }>('@openai/agents');
  if (!agents) return [];
  agents.setTracingDisabled(true);
  return [true, false].map((useResponses): Client => {
    const run = (
      endpoint: Endpoint,
      prompt: string,
      options: AskOptions & { stream?: true } = {},
      rest: object = {},
    ) => {
      const { maxRetries = 0, timeoutMs = 20_000, stream } = options;
      const openAIClient = new OpenAI({ ...endpoint, maxRetries, timeout: timeoutMs });
      const modelProvider = new agents.OpenAIProvider({ openAIClient, useResponses });
      const agent = new agents.Agent({ name: 'a', model: MODEL, ...rest });
      const runner = new agents.Runner({ modelProvider });
      return runner.run(agent, prompt, { ...signalOf(options), ...(stream ? { stream } : {}) });
    };
    return {
      name: `OpenAI Agents, ${useResponses ? 'responses' : 'chat'}`,
      ask: async (endpoint, prompt, options) => String((await run(endpoint, prompt, options)).finalOutput),
      async *stream(endpoint, prompt, options) {
        const result = await run(endpoint, prompt, { ...options, stream: true });
        for await (const piece of result.toTextStream()) yield piece;
        await result.completed;
      },
      async structured(endpoint, prompt) {
        const outputType = { type: 'json_schema', name: 'place', strict: true, schema: SCHEMA };
        return (await run(endpoint, prompt, {}, { outputType })).finalOutput;
      },
    };
  });
}

async function llamaIndexClients(): Promise<Client[]> {
  interface Llm {
    chat(options: object): Promise<{ message: { content: unknown } } & AsyncIterable<{ delta: string }>>;
  }
  const sdk = await loadSdk<{ OpenAI: new (options: object) => Llm }>('@llamaindex/openai');
  if (!sdk) return [];
  const llm = ({ baseURL, apiKey }: Endpoint, { maxRetries = 0, timeoutMs = 20_000 }: AskOptions = {}) =>
    new sdk.OpenAI({ model: MODEL, apiKey, baseURL, maxRetries, timeout: timeoutMs });
  const messagesOf = (content: string) => [{ role: 'user', content }];
  return [
    {
      name: 'LlamaIndex',
      isPatient: true,
      async ask(endpoint, prompt, options) {
        return String((await llm(endpoint, options).chat({ messages: messagesOf(prompt) })).message.content);
      },
      async *stream(endpoint, prompt, options) {
        const stream = await llm(endpoint, options).chat({ messages: messagesOf(prompt), stream: true });
        for await (const { delta } of stream) yield delta;
      },
    },
  ];
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

/** All client libraries that are installed. */
export async function allClients(): Promise<Client[]> {
  const others = await Promise.all([
    aiClients(),
    langChainClients(),
    agentsClients(),
    llamaIndexClients(),
    anthropicClients(),
  ]);
  return [...openAiClients(OpenAI as unknown as OpenAiConstructor, '6'), ...others.flat()];
}
