import { describe, expect, test } from 'vitest';
import { HOSTS, type Host } from '../bridge/hosts.ts';
import { strictProvider, TURNS } from '../bridge/providers/strict.ts';
import { startGateway } from '../support/gateway.ts';
import type { Endpoint } from '../wire/support/direct-and-through-gw.ts';
import { loadSdk } from './load-sdk.ts';

interface Ai {
  generateText(options: object): Promise<{ text: string }>;
  streamText(options: object): { text: Promise<string> };
  tool(options: object): unknown;
  jsonSchema(schema: object): unknown;
  stepCountIs(count: number): unknown;
}
type Models = ((model: string) => unknown) & { chat(model: string): unknown };
interface Named extends Endpoint {
  name: string;
}

const ai = await loadSdk<Ai>('ai');
const openai = await loadSdk<{ createOpenAI(endpoint: Endpoint): Models }>('@ai-sdk/openai');
const anthropic = await loadSdk<{ createAnthropic(endpoint: Endpoint): Models }>('@ai-sdk/anthropic');
const compatible = await loadSdk<{ createOpenAICompatible(endpoint: Named): Models }>(
  '@ai-sdk/openai-compatible',
);
interface Message {
  text: string;
  tool_calls?: { id: string; args: unknown }[];
}
interface LangChain {
  ChatOpenAI: new (
    options: object,
  ) => {
    bindTools(tools: object[]): {
      invoke(messages: unknown[]): Promise<Message>;
      stream(messages: unknown[]): Promise<AsyncIterable<Message & { concat(next: Message): Message }>>;
    };
  };
}
const langchain = await loadSdk<LangChain>('@langchain/openai');
const { ToolMessage } = await loadSdk<{ ToolMessage: new (fields: object) => unknown }>(
  '@langchain/core/messages',
);

interface Chat {
  sendMessage(message: object): Promise<Said>;
  sendMessageStream(message: object): Promise<AsyncIterable<Said>>;
}
interface Said {
  text?: string;
  functionCalls?: { id?: string; name: string; args: object }[];
}
interface GenAi {
  GoogleGenAI: new (options: object) => { chats: { create(options: object): Chat } };
}
const google = await loadSdk<{ createGoogleGenerativeAI(endpoint: Endpoint): Models }>('@ai-sdk/google');
const genai = await loadSdk<GenAi>('@google/genai');

/** What a library makes of a loop of tools: the text at its end. */
type Loop = (options: Endpoint & { model: string; isStream: boolean; called: unknown[] }) => Promise<string>;

const SCHEMA = {
  type: 'object' as const,
  properties: { turn: { type: 'integer' }, text: { type: 'string' } },
  required: ['turn'],
  additionalProperties: false,
};
const STEPS = 12;

function aiLoop(modelOf: (endpoint: Endpoint, model: string) => unknown, ofOpenAi: object = {}): Loop {
  return async ({ model, isStream, called, ...endpoint }) => {
    const tool = (name: string) =>
      ai.tool({
        description: name,
        inputSchema: ai.jsonSchema(SCHEMA),
        execute: async (args: object) => {
          called.push(args);
          return `result of ${JSON.stringify(args)}`;
        },
      });
    const options = {
      model: modelOf(endpoint, model),
      system: 'You are an agent.',
      prompt: 'Go',
      tools: { find: tool('find'), read: tool('read') },
      stopWhen: ai.stepCountIs(STEPS),
      maxRetries: 0,
      maxOutputTokens: 8_000,
      providerOptions: { openai: ofOpenAi },
    };
    return isStream ? ai.streamText(options).text : (await ai.generateText(options)).text;
  };
}

const langChainLoop: Loop = async ({ baseURL, apiKey, model, isStream, called }) => {
  const chat = new langchain.ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL } });
  const bound = chat.bindTools(
    ['find', 'read'].map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } })),
  );
  const ask = async (messages: unknown[]): Promise<Message> => {
    if (!isStream) return bound.invoke(messages);
    let whole: Message | undefined;
    for await (const chunk of await bound.stream(messages))
      whole = whole ? (whole as typeof chunk).concat(chunk) : chunk;
    return whole as Message;
  };
  const messages: unknown[] = [
    { role: 'system', content: 'You are an agent.' },
    { role: 'user', content: 'Go' },
  ];
  for (let step = 0; step < STEPS; step++) {
    const message = await ask(messages);
    if (!message.tool_calls?.length) return message.text;
    messages.push(message);
    for (const { id, args } of message.tool_calls) {
      called.push(args);
      messages.push(new ToolMessage({ tool_call_id: id, content: `result of ${JSON.stringify(args)}` }));
    }
  }
  throw new Error('the loop did not end');
};

/** Its chat keeps the contents that come, with signatures and thoughts, and sends them back. */
const genAiLoop: Loop = async ({ baseURL, apiKey, model, isStream, called }) => {
  const client = new genai.GoogleGenAI({ apiKey, httpOptions: { baseUrl: baseURL.replace(/\/v1$/, '') } });
  const declaration = (name: string) => ({ name, description: name, parametersJsonSchema: SCHEMA });
  const chat = client.chats.create({
    model,
    config: {
      systemInstruction: 'You are an agent.',
      maxOutputTokens: 8_000,
      thinkingConfig: { includeThoughts: true },
      tools: [{ functionDeclarations: [declaration('find'), declaration('read')] }],
    },
  });
  let message: object = { message: 'Go' };
  for (let step = 0; step < STEPS; step++) {
    const said: Said[] = [];
    if (isStream) for await (const chunk of await chat.sendMessageStream(message)) said.push(chunk);
    else said.push(await chat.sendMessage(message));
    const calls = said.flatMap(({ functionCalls }) => functionCalls ?? []);
    if (calls.length === 0) return said.map(({ text }) => text ?? '').join('');
    const results = calls.map(({ id, name, args }) => {
      called.push(args);
      const response = { output: `result of ${JSON.stringify(args)}` };
      return { functionResponse: { ...(id && { id }), name, response } };
    });
    message = { message: results };
  }
  throw new Error('the loop did not end');
};

/** As strict providers. */
const STORES_NOTHING = { store: false, include: ['reasoning.encrypted_content'] };

const LIBRARIES: { name: string; isChat?: boolean; loop: Loop }[] = [
  {
    name: 'AI SDK, responses',
    loop: aiLoop((endpoint, model) => openai.createOpenAI(endpoint)(model), STORES_NOTHING),
  },
  {
    name: 'AI SDK, chat',
    isChat: true,
    loop: aiLoop((endpoint, model) => openai.createOpenAI(endpoint).chat(model)),
  },
  { name: 'AI SDK, messages', loop: aiLoop((endpoint, model) => anthropic.createAnthropic(endpoint)(model)) },
  {
    name: 'AI SDK, compatible',
    isChat: true,
    loop: aiLoop((endpoint, model) => compatible.createOpenAICompatible({ name: 'gw', ...endpoint })(model)),
  },
  { name: 'LangChain', isChat: true, loop: langChainLoop },
  {
    name: 'AI SDK, google',
    loop: aiLoop(({ baseURL, apiKey }, model) =>
      google.createGoogleGenerativeAI({ baseURL: baseURL.replace(/v1$/, 'v1beta'), apiKey })(model),
    ),
  },
  { name: '@google/genai', loop: genAiLoop },
];

describe.each(LIBRARIES)('$name', ({ isChat, loop }) => {
  const hosts = HOSTS.filter(({ breaksChatLibrary }) => !(isChat && breaksChatLibrary));
  test.each(hosts.flatMap((host) => [true, false].map((isStream) => ({ ...host, isStream }))))(
    'runs a loop of tools at $name (stream: $isStream)',
    async ({ isStream, ...host }: Host & { isStream: boolean }) => {
      const { script, seen } = strictProvider(host.apis());
      const gateway = await startGateway({
        settings: { providers: {} },
        credentials: { [host.name]: 'provider-key' },
      });
      gateway.configure({ providers: { [host.name]: { baseUrl: gateway.upstream.url } } });
      gateway.upstream.script(script);
      const called: { turn: number }[] = [];
      const text = await loop({
        baseURL: gateway.url,
        apiKey: gateway.key,
        model: `${host.name}/${host.model}`,
        isStream,
        called,
      });
      expect(seen.faults).toEqual([]);
      expect(text).toBe(`All done after ${2 * TURNS} results`);
      const turns = called.map(({ turn }) => turn).sort((a, b) => a - b);
      expect(turns).toEqual([...Array(TURNS).keys(), ...[...Array(TURNS).keys()].map((turn) => turn + 100)]);
    },
  );
});
