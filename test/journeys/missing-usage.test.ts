import { beforeAll, describe, expect, test } from 'vitest';
import { createTokenCounter } from '../../src/tokens/counter.ts';
import { MODEL, type TestGateway } from '../support/gateway.ts';
import { json, raw, type Script } from '../support/scripts.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { send } from '../wire/support/send.ts';

const WORDS = 'The quick brown fox jumps over the lazy dog, antidisestablishmentarianism notwithstanding.';
const EVENT_STREAM = { 'content-type': 'text/event-stream' };

let gateway: TestGateway;
let tokens = 0;
const undos: (() => Promise<void>)[] = [];
beforeAll(async () => {
  gateway = await startBothWires({ whenDone: (undo) => void undos.push(undo) });
  const counter = createTokenCounter();
  tokens = await counter.count([WORDS], 'o200k_base');
  await counter.close();
  return async () => {
    for (const undo of undos.reverse()) await undo();
  };
});

/** Events as a provider sends them: unnamed, and whatever has a `type` named after it. */
function eventText(events: (object | string)[]): string {
  const texts = events.map((event) => {
    const name = typeof event === 'object' && 'type' in event ? `event: ${event.type}\n` : '';
    return `${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`;
  });
  return texts.join('');
}

/** Sends each part in a chunk of its own. */
function stream(...parts: string[]): Script {
  return async (exchange) => {
    await exchange.body;
    await exchange.start(200, EVENT_STREAM);
    for (const part of parts) await exchange.chunk(Buffer.from(part));
    await exchange.finish();
  };
}

const chunk = (rest: object, delta?: object, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: delta ? [{ index: 0, delta, finish_reason: finish }] : [],
  ...rest,
});
const role = chunk({}, { role: 'assistant', content: '' });
const stop = chunk({}, {}, 'stop');
const said = chunk({}, { content: WORDS });
const usage = { prompt_tokens: 9, completion_tokens: 21, total_tokens: 30 };
const chat = (...events: (object | string)[]) => stream(eventText(events));
const call = {
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name: 'f', arguments: `{"a":"${WORDS}"}` },
};

const started = (rest: object) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', model: CLAUDE, content: [], ...rest },
});
const message = (first: object, last: object, delta: object = { type: 'text_delta', text: WORDS }) =>
  stream(
    eventText([
      started(first),
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, ...last },
      { type: 'message_stop' },
    ]),
  );
const plainMessage = (rest: object) =>
  json(200, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: WORDS }],
    ...rest,
  });

const item = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: WORDS }] };
const response = (rest: object) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [item],
  ...rest,
});
const responseStream = (rest: object, deltas = true) =>
  stream(
    eventText([
      { type: 'response.created', response: { id: 'resp_1', output: [] } },
      ...(deltas ? [{ type: 'response.output_text.delta', delta: WORDS }] : []),
      { type: 'response.completed', response: response(rest) },
    ]),
  );

const completion = (rest: object, answer: object = { role: 'assistant', content: WORDS }) =>
  json(200, { id: 'c', choices: [{ index: 0, message: answer, finish_reason: 'stop' }], ...rest });

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const RESPONSES = '/v1/responses';
const ANTHROPIC = `anthropic/${CLAUDE}`;

function bodyOf(path: string, model: string, isStream: boolean): object {
  const input = path === RESPONSES ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] };
  return { model, ...input, ...(path === MESSAGES ? { max_tokens: 500 } : {}), stream: isStream };
}

type Case = [name: string, path: string, model: string, script: Script];

const PLAIN: Case[] = [
  ['no usage', CHAT, MODEL, completion({})],
  ['{}', CHAT, MODEL, completion({ usage: {} })],
  ['null', CHAT, MODEL, completion({ usage: null })],
  ['zeros', CHAT, MODEL, completion({ usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } })],
  ['no output', CHAT, MODEL, completion({ usage: { prompt_tokens: 9, completion_tokens: 0 } })],
  [
    'counts of other types',
    CHAT,
    MODEL,
    completion({ usage: { prompt_tokens: '9', completion_tokens: [1] } }),
  ],
  ['negative counts', CHAT, MODEL, completion({ usage: { prompt_tokens: -9, completion_tokens: -21 } })],
  ['a text as usage', CHAT, MODEL, completion({ usage: 'none' })],
  [
    'tool calls',
    CHAT,
    MODEL,
    completion({ usage: {} }, { role: 'assistant', content: null, tool_calls: [call] }),
  ],
  ['reasoning', CHAT, MODEL, completion({ usage: {} }, { role: 'assistant', reasoning_content: WORDS })],
  ['message: {}', MESSAGES, ANTHROPIC, plainMessage({ usage: {} })],
  ['message: zeros', MESSAGES, ANTHROPIC, plainMessage({ usage: { input_tokens: 0, output_tokens: 0 } })],
  ['message: no output', MESSAGES, ANTHROPIC, plainMessage({ usage: { input_tokens: 9, output_tokens: 0 } })],
  ['message, translated', CHAT, ANTHROPIC, plainMessage({ usage: {} })],
  [
    'completion, translated',
    MESSAGES,
    MODEL,
    completion({ usage: { prompt_tokens: 0, completion_tokens: 0 } }),
  ],
  ['response: no usage', RESPONSES, MODEL, json(200, response({}))],
  [
    'response: zeros',
    RESPONSES,
    MODEL,
    json(200, response({ usage: { input_tokens: 0, output_tokens: 0 } })),
  ],
];

const STREAMS: Case[] = [
  ['no usage', CHAT, MODEL, chat(role, said, stop, '[DONE]')],
  ['{} at the end', CHAT, MODEL, chat(role, said, stop, chunk({ usage: {} }), '[DONE]')],
  ['null at the end', CHAT, MODEL, chat(role, said, stop, chunk({ usage: null }), '[DONE]')],
  [
    'a chunk of zeros',
    CHAT,
    MODEL,
    chat(role, said, stop, chunk({ usage: { prompt_tokens: 0, completion_tokens: 0 } }), '[DONE]'),
  ],
  [
    'usage with the first event only',
    CHAT,
    MODEL,
    chat({ ...role, usage: { prompt_tokens: 9, completion_tokens: 1 } }, said, stop, '[DONE]'),
  ],
  ['tool calls', CHAT, MODEL, chat(role, chunk({}, { tool_calls: [call] }), stop, '[DONE]')],
  ['reasoning', CHAT, MODEL, chat(role, chunk({}, { reasoning_content: WORDS }), stop, '[DONE]')],
  [
    'message_delta without usage',
    MESSAGES,
    ANTHROPIC,
    message({ usage: { input_tokens: 9, output_tokens: 1 } }, {}),
  ],
  ['message: {} at both ends', MESSAGES, ANTHROPIC, message({ usage: {} }, { usage: {} })],
  [
    'message: null at the end',
    MESSAGES,
    ANTHROPIC,
    message({ usage: { input_tokens: 9, output_tokens: 1 } }, { usage: null }),
  ],
  [
    'message: zeros',
    MESSAGES,
    ANTHROPIC,
    message({ usage: { input_tokens: 0, output_tokens: 0 } }, { usage: { output_tokens: 0 } }),
  ],
  [
    'message: a zero at the end',
    MESSAGES,
    ANTHROPIC,
    message({ usage: { input_tokens: 9, output_tokens: 1 } }, { usage: { output_tokens: 0 } }),
  ],
  [
    'message: thinking',
    MESSAGES,
    ANTHROPIC,
    message({ usage: {} }, {}, { type: 'thinking_delta', thinking: WORDS }),
  ],
  [
    'message: input of a tool',
    MESSAGES,
    ANTHROPIC,
    message({ usage: {} }, {}, { type: 'input_json_delta', partial_json: WORDS }),
  ],
  ['message, translated', CHAT, ANTHROPIC, message({ usage: { input_tokens: 9, output_tokens: 1 } }, {})],
  ['completion, translated', MESSAGES, MODEL, chat(role, said, stop, '[DONE]')],
  ['response.completed without usage', RESPONSES, MODEL, responseStream({})],
  ['response.completed with null', RESPONSES, MODEL, responseStream({ usage: null })],
  ['response: zeros', RESPONSES, MODEL, responseStream({ usage: { input_tokens: 0, output_tokens: 0 } })],
  ['response without deltas', RESPONSES, MODEL, responseStream({}, false)],
];

async function recordOf([name, path, model, script]: Case, isStream: boolean) {
  gateway.upstream.queue(script);
  const before = (await gateway.records()).length;
  const answer = await send(gateway, path, bodyOf(path, model, isStream));
  expect([name, answer.status, answer.complete, answer.text().includes('quick brown')]).toEqual([
    name,
    200,
    true,
    true,
  ]);
  const records = await gateway.settled(before + 1);
  const record = records.at(-1);
  if (!record) throw new Error('there is no record');
  return record;
}

describe('an answer with text whose usage says nothing of it', () => {
  test.each(PLAIN)('plain, %s: its text is counted', async (...each) => {
    const record = await recordOf(each, false);
    expect(record.flags).toContain('estimated');
    expect(record.inputTokens).toBeGreaterThan(0);
    expect(record.outputTokens).toBeGreaterThanOrEqual(tokens);
    expect(record.outputTokens).toBeLessThan(tokens + 15);
  });

  test.each(STREAMS)('stream, %s: its text is counted', async (...each) => {
    const record = await recordOf(each, true);
    expect(record.flags).toContain('estimated');
    expect(record.inputTokens).toBeGreaterThan(0);
    expect(record.outputTokens).toBeGreaterThanOrEqual(tokens);
    expect(record.outputTokens).toBeLessThan(tokens + 15);
  });

  test.each([
    ['plain', false, completion({ usage: {} })],
    ['streamed', true, chat(role, said, stop, '[DONE]')],
  ] as const)(
    'is booked at exactly its tokens where the tokenizer is known: %s',
    async (_, isStream, script) => {
      const record = await recordOf(['exact', CHAT, 'mock/gpt-4o', script], isStream);
      expect([record.outputTokens, record.flags.includes('estimated')]).toEqual([tokens, true]);
    },
  );
});

describe('a zero that nothing contradicts stands', () => {
  test.each<[string, string, string, boolean, Script]>([
    [
      'plain',
      CHAT,
      MODEL,
      false,
      completion({ usage: { prompt_tokens: 9, completion_tokens: 0 } }, { role: 'assistant', content: '' }),
    ],
    [
      'streamed',
      CHAT,
      MODEL,
      true,
      chat(role, stop, chunk({ usage: { prompt_tokens: 9, completion_tokens: 0 } }), '[DONE]'),
    ],
    [
      'a message',
      MESSAGES,
      ANTHROPIC,
      true,
      message(
        { usage: { input_tokens: 9, output_tokens: 0 } },
        { usage: { output_tokens: 0 } },
        { type: 'text_delta', text: '' },
      ),
    ],
  ])('%s', async (_, path, model, isStream, script) => {
    gateway.upstream.queue(script);
    const before = (await gateway.records()).length;
    await send(gateway, path, bodyOf(path, model, isStream));
    const record = (await gateway.settled(before + 1)).at(-1);
    expect(record).toMatchObject({ inputTokens: 9, outputTokens: 0 });
    expect(record?.flags).not.toContain('estimated');
  });
});

describe('read as a browser or curl reads it', () => {
  const MARK = '\ufeff';
  const last = eventText([chunk({ usage })]);
  const text = eventText([role, said, stop]);
  const http = (head: string, body: string) =>
    raw(
      `${head}HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  const body = JSON.stringify({
    id: 'c',
    usage,
    choices: [{ index: 0, message: { role: 'assistant', content: WORDS } }],
  });
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

  test.each<[string, string, boolean, Script]>([
    [
      'a byte order mark before the events',
      CHAT,
      true,
      stream(MARK + eventText([{ ...said, usage }]) + eventText(['[DONE]'])),
    ],
    [
      'a byte order mark in bytes of its own',
      CHAT,
      true,
      stream('\ufeff', eventText([{ ...said, usage }, '[DONE]'])),
    ],
    ['a byte order mark, translated', MESSAGES, true, stream(MARK + text + last + eventText(['[DONE]']))],
    ['a byte order mark before JSON', CHAT, false, http('', MARK + body)],
    ['a byte order mark before JSON, translated', MESSAGES, false, http('', MARK + body)],
    ['usage behind [DONE], in the same bytes', CHAT, true, stream(text + eventText(['[DONE]']) + last)],
    ['usage behind [DONE], in later bytes', CHAT, true, stream(text, eventText(['[DONE]']), last)],
    [
      'usage behind [DONE], without its empty line',
      CHAT,
      true,
      stream(text, eventText(['[DONE]']), last.trimEnd()),
    ],
    ['usage behind [DONE], translated', MESSAGES, true, stream(text, eventText(['[DONE]']), last)],
    ['an unasked 100 Continue', CHAT, false, http(CONTINUE, body)],
    [
      'several of them, with headers',
      CHAT,
      false,
      http(`${CONTINUE}HTTP/1.1 100 Go on\r\nx-a: b\r\n\r\n`, body),
    ],
    ['early hints', CHAT, false, http('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', body)],
  ])('%s', async (name, path, isStream, script) => {
    const record = await recordOf([name, path, MODEL, script], isStream);
    expect(record).toMatchObject({ inputTokens: 9, outputTokens: 21, flags: isStream ? ['stream'] : [] });
  });

  test('the client gets the mark', async () => {
    gateway.upstream.queue(stream(MARK + eventText([{ ...said, usage }, '[DONE]'])));
    const answer = await send(gateway, CHAT, bodyOf(CHAT, MODEL, true));
    expect(answer.text()).toBe(MARK + eventText([{ ...said, usage }, '[DONE]']));
  });

  test('100 Continue byte by byte, twice on a connection that is kept', async () => {
    for (let i = 0; i < 2; i++) {
      const script: Script = async (exchange) => {
        await exchange.body;
        for (const byte of CONTINUE) await exchange.write(byte);
        await exchange.send(200, { 'content-type': 'application/json' }, body);
      };
      await recordOf(['byte by byte', CHAT, MODEL, script], false);
    }
    const [first, second] = gateway.upstream.requests.slice(-2);
    expect(first?.connection).toBe(second?.connection);
  });
});
