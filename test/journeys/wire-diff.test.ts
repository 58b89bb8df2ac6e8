import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../src/json/edit.ts';
import { chatWire } from '../../src/wire/apis/chat.ts';
import { openConnection, requestBytes } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chunkBytes } from '../support/http-message.ts';
import { echo, json, respond } from '../support/scripts.ts';

const LONG = { timeout: 120_000 };

const MESSAGES = '"messages":[{"role":"user","content":"Hi"}]';

/** The bytes that reach the upstream for a body. */
async function forwarded(gateway: TestGateway, body: string | Buffer): Promise<Buffer> {
  const answer = await gateway.post(body);
  if (answer.status !== 200) throw new Error(answer.text());
  return (await gateway.upstream.nextRequest()).body;
}

describe('a body that needs no edit reaches the upstream byte for byte', () => {
  test.each([
    ['odd whitespace', `\t{ \r\n "model" :\t"test-model" ,\n\n  ${MESSAGES}\r\n } \n`],
    [
      'unknown fields',
      `{"model":"test-model","x_new":{"a":[1,{}]},${MESSAGES},"service_tier":"flex","user":null}`,
    ],
    [
      '__proto__ and constructor',
      `{"__proto__":{"model":"x"},"model":"test-model","constructor":1,${MESSAGES}}`,
    ],
    ['__proto__ in the messages', `{"model":"test-model","messages":[{"__proto__":{"role":"user"}}]}`],
    [
      'numbers that JSON.parse changes',
      `{"model":"test-model","a":1e400,"b":0.10,"c":12345678901234567890,"d":-0,"e":1E+2,${MESSAGES}}`,
    ],
    ['lone surrogates', `{"model":"test-model","messages":[{"content":"\\ud800 \\udc00 \\uD83D"}]}`],
    [
      'escapes of every kind',
      `{"model":"test-model","messages":[{"content":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00e9"}]}`,
    ],
    ['250 levels', `{"model":"test-model","messages":${'['.repeat(250)}${']'.repeat(250)}}`],
    [
      'content: null and parts',
      `{"model":"test-model","messages":[{"content":null,"tool_calls":[]},{"content":[{"type":"text","text":""}]}]}`,
    ],
    [
      'max_tokens beside developer',
      `{"max_tokens":5,"model":"test-model","messages":[{"role":"developer","content":"x"}]}`,
    ],
    [
      'null for what gw reads',
      `{"model":"test-model","stream":null,"n":null,"service":null,"max_tokens":null,${MESSAGES}}`.replace(
        '"service":null,',
        '',
      ),
    ],
    [
      'stream_options on a plain request',
      `{"model":"test-model","stream":false,"stream_options":{"x":1},${MESSAGES}}`,
    ],
  ])('%s', async (_name, body) => {
    const gateway = await startGateway();
    expect((await forwarded(gateway, body)).toString()).toBe(body);
  });

  test('a duplicate of a field that gw does not read, for the owner of one project', async () => {
    const gateway = await startGateway({ alone: true });
    const body = `{"seed":1,"model":"test-model","seed":2,${MESSAGES}}`;
    expect((await forwarded(gateway, body)).toString()).toBe(body);
  });

  test('a byte order mark', async () => {
    const gateway = await startGateway();
    const body = Buffer.concat([
      Buffer.from([0xef, 0xbb, 0xbf]),
      Buffer.from('{"model":"test-model","messages":[{"content":"x"}]}'),
    ]);
    gateway.upstream.queue(echo());
    expect((await forwarded(gateway, body)).equals(body)).toBe(true);
  });
});

describe('the edits', () => {
  test.each([
    [
      'the model of provider/model',
      `{"model": "mock/test-model" ,${MESSAGES}}`,
      `{"model": "test-model" ,${MESSAGES}}`,
    ],
    [
      'service first',
      `{"service":{"route":false},"model":"test-model",${MESSAGES}}`,
      `{"model":"test-model",${MESSAGES}}`,
    ],
    [
      'service in the middle',
      `{"model":"test-model", "service" : {} , ${MESSAGES}}`,
      `{"model":"test-model", ${MESSAGES}}`,
    ],
    [
      'service last',
      `{"model":"test-model",${MESSAGES} , "service":{"optimize":"off"} }`,
      `{"model":"test-model",${MESSAGES} }`,
    ],
    [
      'service as an escaped key',
      `{"model":"test-model","\\u0073ervice":{},${MESSAGES}}`,
      `{"model":"test-model",${MESSAGES}}`,
    ],
    [
      'service null',
      `{"model":"test-model",${MESSAGES},"service":null}`,
      `{"model":"test-model",${MESSAGES}}`,
    ],
    [
      'service first beside stream_options',
      `{"service":{}, "model":"test-model","stream":true,${MESSAGES}}`,
      `{"stream_options":{"include_usage":true},"model":"test-model","stream":true,${MESSAGES}}`,
    ],
    [
      'stream_options inserted',
      `{ "model":"mock/test-model","stream":true,${MESSAGES}}`,
      `{ "stream_options":{"include_usage":true},"model":"test-model","stream":true,${MESSAGES}}`,
    ],
    [
      'stream_options null',
      `{"model":"test-model","stream":true,"stream_options": null,${MESSAGES}}`,
      `{"model":"test-model","stream":true,"stream_options": {"include_usage":true},${MESSAGES}}`,
    ],
    [
      'stream_options empty',
      `{"model":"test-model","stream":true,"stream_options":{ },${MESSAGES}}`,
      `{"model":"test-model","stream":true,"stream_options":{"include_usage":true },${MESSAGES}}`,
    ],
    [
      'stream_options with another field',
      `{"model":"test-model","stream":true,"stream_options":{"x":[1]},${MESSAGES}}`,
      `{"model":"test-model","stream":true,"stream_options":{"include_usage":true,"x":[1]},${MESSAGES}}`,
    ],
    [
      'include_usage false',
      `{"model":"test-model","stream":true,"stream_options":{"x":1,"include_usage" : false},${MESSAGES}}`,
      `{"model":"test-model","stream":true,"stream_options":{"x":1,"include_usage" : true},${MESSAGES}}`,
    ],
    [
      'include_usage false twice',
      `{"model":"test-model","stream":true,"stream_options":{"include_usage":false,"include_usage":null},${MESSAGES}}`,
      `{"model":"test-model","stream":true,"stream_options":{"include_usage":true,"include_usage":true},${MESSAGES}}`,
    ],
    [
      'include_usage true',
      `{"model":"test-model","stream":true,"stream_options":{"include_usage":true},${MESSAGES}}`,
      `{"model":"test-model","stream":true,"stream_options":{"include_usage":true},${MESSAGES}}`,
    ],
  ])('%s', async (_name, body, expected) => {
    const gateway = await startGateway({ alone: true });
    await gateway.get('/v1/models');
    expect((await forwarded(gateway, body)).toString()).toBe(expected);
  });

  test('service by headers leaves the body alone and does not reach the upstream', async () => {
    const gateway = await startGateway();
    const body = `{"model":"test-model",${MESSAGES}}`;
    const headers = { 'x-service-optimize': 'false', 'x-service-route': '0', 'X-Service-Budget': 'default' };
    await gateway.post(body, { headers });
    const seen = await gateway.upstream.nextRequest();
    expect(seen.body.toString()).toBe(body);
    expect(seen.head.headers.filter(([name]) => /^x-service/i.test(name))).toEqual([]);
    expect((await gateway.records())[0]?.flags).toEqual(['noOptimize', 'noRoute']);
  });

  test('a chunked body sent byte by byte is one body', async () => {
    const gateway = await startGateway();
    const body = `{"model":"test-model",${MESSAGES}}`;
    const connection = await openConnection(gateway.url);
    const headers = {
      authorization: `Bearer ${gateway.key}`,
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    };
    await connection.send(requestBytes(`${gateway.url}/complete`, { headers }));
    for (const byte of Buffer.from(body)) await connection.send(chunkBytes(Buffer.from([byte])));
    await connection.send('0\r\n\r\n');
    expect((await connection.response()).status).toBe(200);
    expect((await gateway.upstream.nextRequest()).body.toString()).toBe(body);
    connection.hangUp();
  });
});

describe('the answer reaches the client byte for byte', () => {
  test.each([
    [
      'odd JSON',
      '{ "id" : 1e400,\r\n"choices":[ ],"usage" :{"prompt_tokens":1,"completion_tokens":2.0},"x":"\\ud800" }\n',
    ],
    ['no JSON', 'hello'],
    ['nothing', ''],
    ['a usage that is none', '{"usage":"a lot"}'],
    ['usage twice', '{"usage":{"prompt_tokens":1,"completion_tokens":1},"usage":null}'],
    ['multi-byte characters', `{"choices":[{"message":{"content":"${'é✓🎉'.repeat(20_000)}"}}]}`],
  ])('%s', async (_name, body) => {
    const gateway = await startGateway();
    gateway.upstream.queue(respond(200, { 'content-type': 'application/json' }, body));
    const answer = await gateway.post(`{"model":"mock/m",${MESSAGES}}`);
    expect([answer.status, answer.text()]).toEqual([200, body]);
  });

  test('bytes of every value', async () => {
    const gateway = await startGateway();
    const body = Buffer.from(Array.from({ length: 20_000 }, (_, at) => at % 256));
    gateway.upstream.queue(respond(200, { 'content-type': 'application/octet-stream' }, body));
    expect((await gateway.post(`{"model":"mock/m",${MESSAGES}}`)).body.equals(body)).toBe(true);
  });

  test('40 MB', async () => {
    const gateway = await startGateway();
    const usage = { prompt_tokens: 11, completion_tokens: 22 };
    gateway.upstream.queue(json(200, { choices: [{ message: { content: 'x'.repeat(40e6) } }], usage }));
    const answer = await gateway.post(`{"model":"mock/test-model",${MESSAGES}}`);
    expect(answer.body).toHaveLength(gateway.upstream.requests[0]?.progress.bodyBytes ?? 0);
    // Too large to be gathered, but still metered by the usage at its end.
    expect(await gateway.settled(1)).toMatchObject([{ inputTokens: 11, outputTokens: 22, flags: [] }]);
  });
});

/** JSON text of an object with `model`, `messages` and more, with any whitespace and in any order. */
const bodyArbitrary = (() => {
  const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
  const other = fc.stringMatching(/^[a-z_]{1,9}$/).filter((key) => !READ.has(key));
  const value = fc.oneof(
    fc.json({ maxDepth: 3 }),
    fc.constantFrom(
      '1e400',
      '0.10',
      '-0',
      '"\\ud800"',
      '"\\u0073ervice"',
      '{"service":{}}',
      '"\\\\"',
      '"\\""',
    ),
  );
  const members = fc.record({
    others: fc.array(fc.tuple(other, value), { maxLength: 6 }),
    service: fc.option(fc.constantFrom('{}', 'null', '{"route":true}', '{ "optimize" : "off" }'), {
      nil: undefined,
    }),
    stream: fc.option(fc.constantFrom('true', 'false', 'null'), { nil: undefined }),
    options: fc.option(
      fc.constantFrom('{}', 'null', '{"include_usage":false}', '{"include_usage":true,"z":1}', '{ "z":1 }'),
      { nil: undefined },
    ),
    messages: fc.array(fc.json({ maxDepth: 2 }), { minLength: 1, maxLength: 3 }),
    order: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
    gaps: fc.array(space, { minLength: 60, maxLength: 60 }),
  });
  return members.map(({ others, service, stream, options, messages, order, gaps }) => {
    const list: [string, string][] = [
      ...others,
      ['model', '"asked"'],
      ['messages', `[${messages.join(',')}]`],
      ...(service === undefined ? [] : [['service', service] as [string, string]]),
      ...(stream === undefined ? [] : [['stream', stream] as [string, string]]),
      ...(options === undefined ? [] : [['stream_options', options] as [string, string]]),
    ];
    list.sort((_a, _b) => 0);
    const shuffled = list
      .map((member, at) => ({ member, rank: order[at % order.length] ?? 0 }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ member }) => member);
    let gap = 0;
    const next = () => gaps[gap++ % gaps.length] ?? '';
    const text = shuffled
      .map(([key, json]) => `${next()}"${key}"${next()}:${next()}${json}${next()}`)
      .join(',');
    return { text: `${next()}{${text}}${next()}`, list: shuffled };
  });
})();

const READ = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'n',
  'temperature',
  'service',
]);

describe('any body', () => {
  test('keeps every other member unchanged and in order', LONG, () => {
    fc.assert(
      fc.property(bodyArbitrary, ({ text, list }) => {
        const asked = chatWire.parse(Buffer.from(text));
        const edits = [
          ...asked.edits,
          ...chatWire.renameModel(asked, 'served'),
          ...chatWire.limitOutput(asked, 7, 'max_tokens'),
        ];
        const sent = applyEdits(asked.bytes, edits);
        const after = chatWire.parse(sent);
        const written = after.members.map(({ key, start, end }) => [key, sent.toString('utf8', start, end)]);
        const kept = list
          .filter(([key]) => key !== 'service')
          .map(([key, json]) => (key === 'model' ? [key, '"served"'] : [key, json]));
        expect(written.filter(([key]) => !EDITED.has(key ?? ''))).toEqual(
          kept.filter(([key]) => !EDITED.has(key ?? '')),
        );
        expect(after.maxOutputTokens).toBe(7);
        expect(after.stream).toBe(asked.stream);
        if (asked.stream) expect(after.wantsUsage).toBe(true);
        JSON.parse(sent.toString('utf8').replaceAll('1e400', '1'));
      }),
      { numRuns: process.env.GW_LONG ? 100_000 : 1_000 },
    );
  });

  test('without an edit is passed on byte for byte', () => {
    fc.assert(
      fc.property(bodyArbitrary, ({ text }) => {
        const bytes = Buffer.from(text);
        const { edits } = chatWire.parse(bytes);
        if (edits.length === 0) expect(applyEdits(bytes, edits)).toBe(bytes);
      }),
    );
  });
});

const EDITED = new Set(['stream_options', 'max_tokens']);
