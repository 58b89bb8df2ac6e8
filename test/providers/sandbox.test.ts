import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type Sandbox, startSandbox } from '../../src/providers/sandbox.ts';
import {
  openConnection,
  type RawConnection,
  type RawResponse,
  request,
  requestBytes,
} from '../support/client.ts';
import { hasOpenAiSchema, openAiFaults } from '../support/openai-schema.ts';
import { steady } from '../support/steady.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ wordDelayMs: 0 });
});
afterAll(() => sandbox.close());

const USER = { role: 'user' as const, content: 'What is a spending firewall?' };
const CHAT = { model: 'sandbox/echo', messages: [USER] };
const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city', 'days'],
    },
  },
};

function authorized(to: Sandbox) {
  return { authorization: `Bearer ${to.secret}` };
}

function post(body: unknown, to = sandbox): Promise<RawResponse> {
  return request(`${to.url}/chat/completions`, { body, headers: authorized(to) });
}

/** A stream of a sandbox whose clock the test moves, at the first wait. */
async function openPaced(body: object): Promise<[RawConnection, VirtualClock]> {
  const clock = createVirtualClock();
  const paced = await startSandbox({ clock });
  onTestFinished(() => paced.close());
  const connection = await openConnection(paced.url);
  const parts = { headers: authorized(paced), body: { ...CHAT, stream: true, ...body } };
  await connection.send(requestBytes(`${paced.url}/chat/completions`, parts));
  await clock.timerSet();
  return [connection, clock];
}

// The shapes under test are OpenAI's, whose types the client has.
async function ask(body: object): Promise<OpenAI.ChatCompletion> {
  return (await post({ ...CHAT, ...body })).json() as OpenAI.ChatCompletion;
}

async function stream(body: object): Promise<OpenAI.ChatCompletionChunk[]> {
  const response = await post({ ...CHAT, stream: true, ...body });
  const events = response.text().split('\n\n').slice(0, -1);
  expect(events.pop()).toBe('data: [DONE]');
  return events.map((event) => JSON.parse(event.replace('data: ', '')));
}

/** What the chunks of a stream say in one choice. */
function textOf(chunks: OpenAI.ChatCompletionChunk[], index = 0): string {
  const choices = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index);
  return choices
    .map(({ delta }) => delta.content ?? delta.tool_calls?.[0]?.function?.arguments ?? '')
    .join('');
}

describe('who may ask, and for what', () => {
  test('a caller without the secret is refused', async () => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: sandbox.secret }]) {
      const response = await request(`${sandbox.url}/models`, { method: 'GET', headers });
      expect([response.status, response.json()]).toMatchObject([401, { error: { code: 'invalid_api_key' } }]);
    }
  });

  test('each start has a secret of its own', async () => {
    const other = await startSandbox();
    expect(other.secret).not.toBe(sandbox.secret);
    await other.close();
  });

  test('the models are listed', async () => {
    const response = await request(`${sandbox.url}/models`, { method: 'GET', headers: authorized(sandbox) });
    expect(response.json()).toMatchObject({
      object: 'list',
      data: [{ id: 'sandbox/echo' }, { id: 'sandbox/large' }, { id: 'sandbox/free' }],
    });
    if (hasOpenAiSchema) expect(openAiFaults('ListModelsResponse', response.json())).toEqual([]);
  });

  test('another path is not found', async () => {
    const response = await request(`${sandbox.url}/responses`, { body: {}, headers: authorized(sandbox) });
    expect([response.status, response.json()]).toMatchObject([404, { error: { code: 'not_found' } }]);
  });

  test('a model may be named without sandbox/, another one is not found', async () => {
    expect(await ask({ model: 'echo' })).toMatchObject({ object: 'chat.completion', model: 'echo' });
    const response = await post({ ...CHAT, model: 'gpt-5' });
    expect([response.status, response.json()]).toMatchObject([404, { error: { code: 'model_not_found' } }]);
  });
});

describe('the answer', () => {
  test('quotes the last user message and is the same for the same messages', async () => {
    const [first, second] = [await ask({}), await ask({ temperature: 1 })];
    expect(first.choices[0]?.message.content).toContain(`“${USER.content}”`);
    expect(second.choices).toEqual(first.choices);
    expect(second.usage).toEqual(first.usage);
    expect(second.id).not.toBe(first.id);
    const other = await ask({ messages: [USER, { role: 'assistant', content: 'Hm.' }, USER] });
    expect(other.choices[0]?.message.content).not.toBe(first.choices[0]?.message.content);
  });

  test('of sandbox/large is long, of a long message only the beginning is quoted', async () => {
    const content = `${'word '.repeat(10_000)}end`;
    const { usage, choices } = await ask({ model: 'sandbox/large', messages: [{ role: 'user', content }] });
    expect(usage?.prompt_tokens).toBe(4 + Math.ceil(content.length / 4));
    expect(usage?.completion_tokens).toBeGreaterThan(500);
    expect(choices[0]?.message.content).toMatch(/You said: “word word .{50}…”/);
  });

  test('streams as the same text', async () => {
    const whole = await ask({ n: 2 });
    const chunks = await stream({ n: 2, stream_options: { include_usage: true } });
    expect([textOf(chunks, 0), textOf(chunks, 1)]).toEqual(
      whole.choices.map(({ message }) => message.content),
    );
    expect(textOf(chunks, 0)).not.toBe(textOf(chunks, 1));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
  });

  test('says nothing of usage in a stream that was not asked to', async () => {
    const chunks = await stream({});
    expect(chunks.some((chunk) => 'usage' in chunk)).toBe(false);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
  });

  test.each(['max_tokens', 'max_completion_tokens'])('is cut off at %s', async (field) => {
    const { usage, choices } = await ask({ [field]: 7, n: 3 });
    expect(usage?.completion_tokens).toBe(21);
    expect(choices.map((choice) => choice.finish_reason)).toEqual(['length', 'length', 'length']);
    expect((await stream({ [field]: 1 })).at(-1)?.choices[0]?.finish_reason).toBe('length');
  });

  test('is never longer than the model can say', async () => {
    const json_schema = { name: 'big', schema: { default: 'x'.repeat(1 << 20) } };
    const { usage, choices } = await ask({
      response_format: { type: 'json_schema', json_schema },
      max_tokens: 1e6,
    });
    expect([usage?.completion_tokens, choices[0]?.finish_reason]).toEqual([16_384, 'length']);
  });

  test('ends before a stop sequence', async () => {
    const { choices } = await ask({ stop: ['no such text', ' sandbox'] });
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: "This is gw's" } });
  });

  test('is JSON when that is asked for', async () => {
    const object = await ask({ response_format: { type: 'json_object' } });
    expect(JSON.parse(object.choices[0]?.message.content ?? '')).toEqual({
      sandbox: true,
      you_said: USER.content,
    });
    const json_schema = { name: 'forecast', schema: WEATHER.function.parameters };
    const schema = await ask({ response_format: { type: 'json_schema', json_schema } });
    expect(JSON.parse(schema.choices[0]?.message.content ?? '')).toEqual({ city: 'example', days: 1 });
  });

  test('calls a tool when the request demands it', async () => {
    const named = { type: 'function', function: { name: 'weather' } };
    const required = await ask({ tools: [WEATHER], tool_choice: 'required' });
    expect(required.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: null, tool_calls: [{ type: 'function', function: { name: 'weather' } }] },
    });
    const chunks = await stream({ tools: [WEATHER], tool_choice: named });
    expect(chunks[0]?.choices[0]?.delta.tool_calls?.[0]).toMatchObject({
      index: 0,
      function: { name: 'weather' },
    });
    expect(JSON.parse(textOf(chunks))).toEqual({ city: 'example', days: 1 });
    expect((await ask({ tools: [WEATHER] })).choices[0]?.finish_reason).toBe('stop');
  });

  test('satisfies the openai package', async () => {
    const client = new OpenAI({ baseURL: sandbox.url, apiKey: sandbox.secret, maxRetries: 0 });
    const final = await client.chat.completions
      .stream({ ...CHAT, tools: [WEATHER], tool_choice: 'required' })
      .finalMessage();
    expect(final.tool_calls?.[0]).toMatchObject({ function: { arguments: '{"city":"example","days":1}' } });
    const refused = client.chat.completions.create({ ...CHAT, model: 'sandbox/error-429' });
    await expect(refused).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });

  test
    .skipIf(!hasOpenAiSchema)
    .each([
      {},
      { n: 2, max_tokens: 3 },
      { tools: [WEATHER], tool_choice: 'required' },
      { response_format: { type: 'json_object' } },
    ])("has OpenAI's shapes, whole and streamed: %j", async (body) => {
    expect(openAiFaults('CreateChatCompletionResponse', await ask(body))).toEqual([]);
    for (const options of [{}, { stream_options: { include_usage: true } }]) {
      for (const chunk of await stream({ ...body, ...options })) {
        expect(openAiFaults('CreateChatCompletionStreamResponse', chunk)).toEqual([]);
      }
    }
  });
});

describe('bad requests', () => {
  test.skipIf(!hasOpenAiSchema)("have answers of OpenAI's shape", async () => {
    expect(openAiFaults('ErrorResponse', (await post({})).json())).toEqual([]);
  });

  test.each([
    ['model', { model: undefined }, 'missing_required_parameter'],
    ['model', { model: 5 }, 'invalid_type'],
    ['messages', { messages: undefined }, 'missing_required_parameter'],
    ['messages', { messages: 'Hi' }, 'invalid_type'],
    ['messages', { messages: [] }, 'invalid_value'],
    ['messages[0]', { messages: ['Hi'] }, 'invalid_type'],
    ['messages[1].role', { messages: [USER, { content: 'Hi' }] }, 'missing_required_parameter'],
    ['messages[0].role', { messages: [{ role: 'boss', content: 'Hi' }] }, 'invalid_value'],
    ['messages[0].content', { messages: [{ role: 'user' }] }, 'missing_required_parameter'],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }, 'invalid_type'],
    [
      'messages[0].content[0].type',
      { messages: [{ role: 'user', content: [{}] }] },
      'missing_required_parameter',
    ],
    [
      'messages[0].tool_call_id',
      { messages: [{ role: 'tool', content: 'x' }] },
      'missing_required_parameter',
    ],
    ['temperature', { temperature: '1' }, 'invalid_type'],
    ['temperature', { temperature: 2.5 }, 'invalid_value'],
    ['top_p', { top_p: -1 }, 'invalid_value'],
    ['max_tokens', { max_tokens: 1.5 }, 'invalid_type'],
    ['max_completion_tokens', { max_completion_tokens: 0 }, 'invalid_value'],
    ['n', { n: 129 }, 'invalid_value'],
    ['stream', { stream: 'yes' }, 'invalid_type'],
    ['stream_options', { stream_options: {} }, 'invalid_value'],
    ['stop', { stop: 5 }, 'invalid_type'],
    ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'invalid_value'],
    ['response_format.type', { response_format: { type: 'xml' } }, 'invalid_value'],
    ['tools[0].function', { tools: [{ type: 'function' }] }, 'missing_required_parameter'],
    ['tool_choice', { tool_choice: 'required' }, 'invalid_value'],
    [
      'tool_choice',
      { tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'x' } } },
      'invalid_value',
    ],
  ])('%s is named when it is wrong: %j', async (param, body, code) => {
    const response = await post({ ...CHAT, ...body });
    expect([response.status, response.json()]).toEqual([
      400,
      { error: { message: expect.stringContaining(`'`), type: 'invalid_request_error', param, code } },
    ]);
  });

  test.each(['', '{', '[]', 'null', '"x"', '\u0000'])('the body %j is no request', async (body) => {
    const response = await post(body);
    expect([response.status, response.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', param: null } },
    ]);
  });

  test('null stands for a field that is left out, unknown fields are allowed', async () => {
    const fields = [
      'temperature',
      'max_tokens',
      'n',
      'stop',
      'stream',
      'stream_options',
      'tools',
      'tool_choice',
    ];
    const body = Object.fromEntries(fields.map((field) => [field, null]));
    expect(await ask({ ...body, x_unknown: { deep: [1] } })).toHaveProperty('usage');
  });

  test('a body of more than 32 MB is refused', async () => {
    const response = await post(`{"model":"sandbox/echo","messages":"${'x'.repeat(32 << 20)}`);
    expect([response.status, response.json()]).toMatchObject([413, { error: { code: 'request_too_large' } }]);
  });
});

describe('faults on demand', () => {
  test('sandbox/error-500 and sandbox/error-429 answer with errors', async () => {
    const failed = await post({ ...CHAT, model: 'sandbox/error-500' });
    expect([failed.status, failed.json()]).toMatchObject([500, { error: { type: 'api_error' } }]);
    const limited = await post({ ...CHAT, model: 'sandbox/error-429', stream: true });
    expect([limited.status, limited.header('retry-after')]).toEqual([429, '1']);
  });

  test.each([true, false])('sandbox/cut breaks off in the middle, streaming: %j', async (streaming) => {
    const response = await post({ ...CHAT, model: 'sandbox/cut', stream: streaming });
    expect([response.status, response.complete]).toEqual([200, false]);
    expect(response.text()).toContain('gw');
    expect(response.text()).not.toMatch(/finish_reason":"|\[DONE\]/);
  });

  test('sandbox/slow takes ten times as long', async () => {
    const [connection, clock] = await openPaced({ model: 'sandbox/slow' });
    await clock.advance(149);
    expect(clock.timers).toBe(1);
    await clock.advance(1);
    await connection.bodyUntil('assistant');
  });

  test('sandbox/slow makes a whole answer wait as long as a stream', async () => {
    const [connection, clock] = await openPaced({ model: 'sandbox/slow', max_tokens: 2, stream: false });
    // A stream would have a chunk for the role, three for "This", " is" and " ", one for the end.
    for (let chunk = 0; chunk < 5; chunk++) {
      await clock.timerSet();
      await clock.advance(150);
    }
    expect((await connection.response()).complete).toBe(true);
    expect(clock.timers).toBe(0);
  });
});

describe('pace', () => {
  test('a word goes out every 15 ms', async () => {
    const [connection, clock] = await openPaced({});
    for (const word of ['assistant', '"This"', '" is"', `" gw's"`]) {
      await clock.timerSet();
      await clock.advance(15);
      const events = (await connection.bodyUntil(word)).toString().trimEnd().split('\n\n');
      expect(events.at(-1)).toContain(word);
    }
  });

  test('a client that leaves ends the answer', async () => {
    const [connection, clock] = await openPaced({});
    connection.hangUp();
    expect(await steady(() => clock.timers)).toBe(1);
    await clock.advance(15);
    expect(await steady(() => clock.timers)).toBe(0);
  });

  test('a client that does not read makes the answer wait', async () => {
    let chunks = 0;
    const after = (_: number, callback: () => void) => {
      chunks++;
      queueMicrotask(callback);
      return () => {};
    };
    const eager = await startSandbox({ clock: { ...systemClock, after } });
    onTestFinished(() => eager.close());
    // Each of the 128 choices is one word of 64 kB: more than the kernel's buffers take.
    const schema = { default: 'x'.repeat(1 << 20) };
    const response_format = { type: 'json_schema', json_schema: { name: 'big', schema } };
    const body = { ...CHAT, stream: true, n: 128, response_format };
    const connection = await openConnection(eager.url);
    connection.pause();
    await connection.send(
      requestBytes(`${eager.url}/chat/completions`, { headers: authorized(eager), body }),
    );
    expect(await steady(() => chunks)).toBeLessThan(256);
    connection.resume();
    expect((await connection.response()).body.length).toBeGreaterThan(128 << 16);
    expect(chunks).toBe(3 * 128);
  });
});
