import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { dataIn } from '../../src/wire/answer/events.ts';

/** A tool call as an agent got it. */
export interface Called {
  name: string;
  args: unknown;
}

/** An agent: runs the tools that are asked for until the model has an answer. */
export interface Agent {
  name: string;
  /** The name of its first tool. */
  tool: string;
  run(options: RunOptions): Promise<{ calls: Called[]; text: string }>;
}

interface RunOptions {
  url: string;
  key: string;
  /** By turn: it may change. */
  modelOf: (turn: number) => string;
  stream: boolean;
  /** Called before each turn. */
  before?: ((turn: number) => Promise<void>) | undefined;
}

const MAX_TURNS = 12;
/** A tool of an MCP server, with all that its schema may have, and one without any. */
const LONG_NAME = `mcp__a_server_with_a_long_name__${'and_a_tool_with_a_longer_one'.repeat(2)}`;
const SHORT_NAME = 'mcp__server__find';
const SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object' as const,
  additionalProperties: false,
  properties: { turn: { type: 'integer' }, kind: { const: 'a' }, text: { type: ['string', 'null'] } },
};
const BARE = { type: 'object' as const };
const REMINDER = '<system-reminder>Be brief.</system-reminder>';
const resultOf = (call: Called) => `result of ${JSON.stringify(call.args)}`;

/** As Claude Code: brings all blocks back as they came, and has a reminder beside results. */
export const claudeCode: Agent = {
  name: 'messages',
  tool: LONG_NAME,
  async run({ url, key, modelOf, stream, before }) {
    const client = new Anthropic({ baseURL: url.replace(/\/v1$/, ''), apiKey: key, maxRetries: 0 });
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Go' }];
    const calls: Called[] = [];
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      await before?.(turn);
      const request = {
        model: modelOf(turn),
        max_tokens: 8_000,
        system: [
          { type: 'text' as const, text: 'You are an agent.', cache_control: { type: 'ephemeral' as const } },
        ],
        thinking: { type: 'enabled' as const, budget_tokens: 4_000 },
        metadata: { user_id: 'u'.repeat(100) },
        tools: [
          { name: LONG_NAME, description: 'A', input_schema: SCHEMA },
          { name: 'read', input_schema: BARE },
        ],
        messages,
      };
      const answer = stream
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request);
      const used = answer.content.filter((block) => block.type === 'tool_use');
      if (used.length === 0) {
        const text = answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
        return { calls, text };
      }
      if (answer.stop_reason !== 'tool_use') throw new Error(`stop_reason ${answer.stop_reason}`);
      calls.push(...used.map(({ name, input }) => ({ name, args: input })));
      messages.push({ role: 'assistant', content: answer.content });
      const results = used.map(({ id, name, input }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: resultOf({ name, args: input }),
      }));
      messages.push({ role: 'user', content: [...results, { type: 'text', text: REMINDER }] });
    }
    throw new Error('the loop did not end');
  },
};

/** As Codex: stores nothing, brings all items back, and has a message between calls and results. */
export const codex: Agent = {
  name: 'responses',
  tool: SHORT_NAME,
  async run({ url, key, modelOf, stream, before }) {
    const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
    const input: OpenAI.Responses.ResponseInput = [
      { type: 'message', role: 'developer', content: 'Approved: ls' },
      { type: 'message', role: 'user', content: 'Go' },
    ];
    const calls: Called[] = [];
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      await before?.(turn);
      const request = {
        model: modelOf(turn),
        instructions: 'You are an agent.',
        input,
        store: false,
        include: ['reasoning.encrypted_content' as const],
        reasoning: { effort: 'low' as const },
        parallel_tool_calls: true,
        tools: [
          { type: 'function' as const, name: SHORT_NAME, parameters: SCHEMA, strict: false },
          { type: 'function' as const, name: 'read', parameters: { ...BARE, properties: {} }, strict: true },
        ],
      };
      const answer = stream
        ? await client.responses.stream(request).finalResponse()
        : await client.responses.create(request);
      const used = (answer.output as OpenAI.Responses.ResponseOutputItem[]).filter(
        (item) => item.type === 'function_call',
      );
      if (used.length === 0) return { calls, text: answer.output_text };
      const made = used.map(({ name, arguments: args }) => ({ name, args: JSON.parse(args) }));
      calls.push(...made);
      input.push(...(answer.output as OpenAI.Responses.ResponseInputItem[]));
      input.push({ type: 'message', role: 'developer', content: REMINDER });
      input.push(
        ...used.map(({ call_id }, i) => ({
          type: 'function_call_output' as const,
          call_id,
          output: resultOf(made[i] as Called),
        })),
      );
    }
    throw new Error('the loop did not end');
  },
};

/** As most clients of chat completions: brings back the ids, names and arguments of calls, and nothing else. */
export const chatClient: Agent = {
  name: 'chat',
  tool: 'find',
  async run({ url, key, modelOf, stream, before }) {
    const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'You are an agent.' },
      { role: 'user', content: 'Go' },
    ];
    const calls: Called[] = [];
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      await before?.(turn);
      const request = {
        model: modelOf(turn),
        messages,
        tools: [
          { type: 'function' as const, function: { name: 'find', parameters: { ...BARE, properties: {} } } },
          { type: 'function' as const, function: { name: 'read', parameters: { ...BARE, properties: {} } } },
        ],
      };
      const answer = stream
        ? await client.chat.completions.stream(request).finalChatCompletion()
        : await client.chat.completions.create(request);
      const message = answer.choices[0]?.message;
      const used = (message?.tool_calls ?? []).filter((call) => call.type === 'function');
      if (used.length === 0) return { calls, text: message?.content ?? '' };
      const made = used.map(({ function: { name, arguments: args } }) => ({ name, args: JSON.parse(args) }));
      calls.push(...made);
      const tool_calls = used.map(({ id, type, function: { name, arguments: args } }) => ({
        id,
        type,
        function: { name, arguments: args },
      }));
      messages.push({ role: 'assistant', content: message?.content ?? null, tool_calls });
      messages.push(
        ...used.map(({ id }, i) => ({
          role: 'tool' as const,
          tool_call_id: id,
          content: resultOf(made[i] as Called),
        })),
      );
    }
    throw new Error('the loop did not end');
  },
};

interface GeminiPart {
  text?: string;
  thought?: boolean;
  functionCall?: { id?: string; name: string; args: object };
  thoughtSignature?: string;
}

interface GeminiAnswer {
  candidates?: { content: { role: string; parts: GeminiPart[] }; finishReason?: string }[];
}

async function generate(address: string, key: string, request: object): Promise<GeminiAnswer[]> {
  const answer = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-goog-api-key': key },
    body: JSON.stringify(request),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return address.endsWith('alt=sse')
    ? dataIn(Buffer.from(text)).map((data) => JSON.parse(data))
    : [JSON.parse(text)];
}

/** As Gemini CLI: brings contents back as they came, with signatures in the alphabet of URLs as Python writes them. */
export const geminiCli: Agent = {
  name: 'gemini',
  tool: 'find',
  async run({ url, key, modelOf, stream, before }) {
    const contents: object[] = [{ role: 'user', parts: [{ text: 'Go' }] }];
    const calls: Called[] = [];
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      await before?.(turn);
      const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      const answers = await generate(url.replace(/v1$/, `v1beta/models/${modelOf(turn)}:${method}`), key, {
        contents,
        systemInstruction: { role: 'user', parts: [{ text: 'You are an agent.' }] },
        generationConfig: { temperature: 1, topP: 0.95, topK: 64, thinkingConfig: { includeThoughts: true } },
        tools: [
          {
            functionDeclarations: [
              { name: 'find', description: 'A', parametersJsonSchema: SCHEMA },
              { name: 'read', parameters: { type: 'OBJECT', properties: { turn: { type: 'INTEGER' } } } },
            ],
          },
        ],
      });
      const candidates = answers.flatMap((answer) => answer.candidates ?? []);
      if (candidates.filter(({ finishReason }) => finishReason).length !== 1) throw new Error('not one end');
      const parts = candidates.flatMap(({ content }) => content.parts).filter(({ thought }) => !thought);
      const used = parts.flatMap(({ functionCall }) => functionCall ?? []);
      if (used.length === 0) return { calls, text: parts.map(({ text }) => text ?? '').join('') };
      calls.push(...used.map(({ name, args }) => ({ name, args })));
      contents.push({ role: 'model', parts: parts.map(asPython) });
      const results = used.map(({ id, name, args }) => ({
        functionResponse: { id, name, response: { output: resultOf({ name, args }) } },
      }));
      contents.push({ role: 'user', parts: [...results, { text: REMINDER }] });
    }
    throw new Error('the loop did not end');
  },
};

const asPython = ({ thoughtSignature, ...part }: GeminiPart): object => ({
  ...part,
  ...(thoughtSignature && {
    thoughtSignature: Buffer.from(thoughtSignature, 'base64').toString('base64url'),
  }),
});

export const AGENTS: readonly Agent[] = [claudeCode, codex, chatClient, geminiCli];
