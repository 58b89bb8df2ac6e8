import { expect, onTestFinished, test } from 'vitest';
import { differences } from './compare.ts';
import { forwardAll, type Passed } from './forward-all.ts';
import { readGenerously } from './generous.ts';
import type { Forwarded, OwnReading, Reading } from './reading.ts';

/** A request as gw sends it on if it reads a part of it in a wrong way, and what it then has on record. */
interface Misread {
  target?: string;
  type?: string;
  body?: string;
  own?: Partial<OwnReading>;
}

const BODY = { model: 'cheap', messages: [{ role: 'user', content: 'hi' }], max_tokens: 16 };
const json = JSON.stringify(BODY);
const form = (...fields: [string, string][]) =>
  `${fields.map(([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join('')}--b--\r\n`;
const FORM = {
  target: '/v1/images/edits',
  type: 'multipart/form-data; boundary=b',
  own: { endpoint: 'images/edits' },
};

function found({
  target = '/v1/chat/completions',
  type = 'application/json',
  body = json,
  own,
}: Misread): string[] {
  const bytes = Buffer.from(body);
  const forwarded: Forwarded = { name: 'case-0', method: 'POST', target, type, body: bytes, bytes };
  const known: OwnReading = {
    ...{ endpoint: 'chat/completions', provider: 'mock', model: 'cheap', stream: false, isLimited: false },
    ...{ holdNanoUsd: 16_000, ...own },
  };
  return readGenerously(forwarded).flatMap((reading: Reading) => differences(forwarded, known, reading));
}

test('a request that everybody reads alike makes no difference', () => {
  expect(found({})).toEqual([]);
  expect(found({ ...FORM, body: form(['model', 'cheap']) })).toEqual([]);
});

test.each<[string, Misread, RegExp]>([
  [
    'does not decode escapes in a path',
    { target: '/v1/%63hat/completions', own: { endpoint: '{id}/completions' } },
    /the endpoint is chat/,
  ],
  [
    'takes paths in capitals for others',
    { target: '/v1/Responses', own: { endpoint: '{id}' } },
    /the endpoint is responses/,
  ],
  [
    'keeps what stands behind ;',
    { target: '/v1/chat/completions;x', own: { endpoint: 'chat/{id}' } },
    /the endpoint is chat/,
  ],
  [
    'does not resolve dots',
    { target: '/v1/files/../responses', own: { endpoint: 'files/{id}/{id}' } },
    /the path is \/v1\/responses/,
  ],
  ['passes a query on', { target: '/v1/chat/completions?model=dear' }, /the model is "dear"/],
  [
    'takes the first of doubled fields',
    { ...FORM, body: form(['model', 'cheap'], ['model', 'dear']) },
    /the model is "dear"/,
  ],
  [
    'takes the last of doubled fields',
    { ...FORM, body: form(['model', 'dear'], ['model', 'cheap']) },
    /the model is "dear"/,
  ],
  ['takes the last of doubled keys', { body: json.replace('{', '{"model":"dear",') }, /the model is "dear"/],
  [
    'takes the last of doubled limits',
    { body: json.replace('{', '{"max_tokens":90000,') },
    /it may cost 90000000 nano-USD/,
  ],
  [
    'takes the last of doubled keys in a message',
    { body: json.replace('"role"', '"content":"dear","role"') },
    /the JSON is/,
  ],
  ['reads n as 1', { body: json.replace('{', '{"n":64,') }, /it may cost 1024000 nano-USD/],
  ['does not see a stream', { body: json.replace('{', '{"stream":true,') }, /stream is true/],
  [
    'lets a list of models by',
    { body: json.replace('{', '{"models":["mock/dear"],') },
    /the model is "mock\/dear"/,
  ],
  [
    'lets an answer in the background by',
    {
      target: '/v1/responses',
      body: '{"model":"cheap","background":true}',
      own: { endpoint: 'responses', holdNanoUsd: 1e12 },
    },
    /background is true/,
  ],
  [
    'reads no model for a key of certain ones',
    { ...FORM, body: form(['model', 'dear']), own: { endpoint: 'images/edits', model: '', isLimited: true } },
    /the model is "dear"/,
  ],
])('a gw that %s is caught', (_, misread, difference) => {
  expect(found(misread).join('\n')).toMatch(difference);
});

/** What gw does is changed on its way to the provider, in real requests. */
test.each<[string, (passed: Passed) => Forwarded]>([
  [
    'paths',
    ({ forwarded }) => ({
      ...forwarded,
      target: forwarded.target.replace('/v1/c', '/v1/%63').replace('/v1/r', '/v1/x/../r'),
    }),
  ],
  [
    'keys',
    ({ forwarded }) => ({
      ...forwarded,
      body: Buffer.from(forwarded.body.toString().replace('{', '{"model":"dear",')),
    }),
  ],
])('in a round of real requests, wrong %s are caught', async (_, change) => {
  const round = {
    seed: 7,
    from: 0,
    count: 60,
    alone: true,
    whenDone: (undo: () => Promise<void>) => onTestFinished(undo),
  };
  const { passed } = await forwardAll(round);
  const all = passed.flatMap((each) => {
    const { own } = each;
    if (!own) return [];
    const changed = change(each);
    return readGenerously(changed).flatMap((reading) => differences(changed, own, reading));
  });
  expect(all.length).toBeGreaterThan(5);
});
