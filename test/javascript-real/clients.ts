import OpenAI from 'openai';
import { type AskOptions, CLAUDE, type Client, MODEL, SCHEMA, signalOf } from '../wire/support/clients.ts';
import type { Endpoint } from '../wire/support/direct-and-through-gw.ts';
import { loadSdk } from './load-sdk.ts';

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

/** The clients of the libraries that stand above the makers' SDKs. */
export async function libraryClients(): Promise<Client[]> {
  const all = [aiClients(), langChainClients(), agentsClients(), llamaIndexClients()];
  return (await Promise.all(all)).flat();
}
