import { describe, expect, test } from 'vitest';
import { createKey } from '../../../src/store/accounts/keys.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { json } from '../../support/scripts.ts';

const START = '{"model":"mock/test-model","max_tokens":9,"messages":[{"role":"user","content":"hi"}]';
const withMember = (member: string) => `${START},${member}}`;

const TWICE: [string, string][] = [
  ['thinking.budget_tokens', withMember('"thinking":{"budget_tokens":1024,"budget_tokens":99999}')],
  [
    'tools[1].function.strict',
    withMember('"tools":[{"type":"function"},{"function":{"strict":true,"strict":false}}]'),
  ],
  ['messages[0].content', START.replace('"role"', '"content":"dear","role"').concat('}')],
  ['reasoning.effort', withMember('"reasoning":{"effort":"low","\\u0065ffort":"high"}')],
  ['seed', withMember('"seed":1,"seed":2')],
  ['metadata.a.b', withMember('"metadata":{"a":{"b":1,"c":{},"b":2}}')],
];
const MISSPELT: [string, string][] = [
  ['thinking.Budget_Tokens', withMember('"thinking":{"budget_tokens":1024,"Budget_Tokens":99999}')],
  ['tools[0].TYPE', withMember('"tools":[{"type":"function","TYPE":"web_search"}]')],
  [
    'tools[0].max_u\u017fe\u017f',
    withMember('"tools":[{"type":"function","name":"a","max_u\u017fe\u017f":9}]'),
  ],
];

async function answerTo(
  gateway: TestGateway,
  body: string,
  path = '/v1/chat/completions',
  key = gateway.key,
) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await gateway.post(body, { path, headers: { ...headers, 'x-service-provider': 'mock' } });
  const { error } = answer.json() as { error?: { code: string; param: string } };
  return [answer.status, error?.code, error?.param];
}

describe('a key that stands twice in its object', () => {
  test.each(TWICE)('is refused where a budget is at stake: %s', async (param, body) => {
    const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 5 } });
    for (const path of ['/v1/chat/completions', '/v1/images/generations'])
      expect(await answerTo(gateway, body, path)).toEqual([400, 'duplicate_parameter', param]);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('is refused beside another project, and for a key with models of its own', async () => {
    const [[param = '', body = ''] = []] = TWICE;
    expect(await answerTo(await startGateway(), body)).toEqual([400, 'duplicate_parameter', param]);
    const gateway = await startGateway({ alone: true });
    const { db, project } = gateway;
    const { key } = await createKey(db, { projectId: project.id, now: Date.now(), models: ['test-model'] });
    expect(await answerTo(gateway, body, undefined, key)).toEqual([400, 'duplicate_parameter', param]);
  });

  test.each(TWICE)('passes for the owner of one project without a budget: %s', async (_, body) => {
    const gateway = await startGateway({ alone: true });
    expect((await answerTo(gateway, body))[0]).toBe(200);
    expect((await gateway.upstream.nextRequest()).body.toString().length).toBeGreaterThan(START.length);
  });

  test('is found in the part of a body that its session has sent before, and in what is new', async () => {
    const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 5_000 } });
    const message = (more: string) => `{"role":"user","content":"${'word '.repeat(900)}"${more}}`;
    const body = (...mores: string[]) =>
      `{"model":"mock/test-model","max_tokens":9,"messages":[${mores.map(message).join()}]}`;
    const plain = Array.from({ length: 9 }, () => '');
    const doubled = ',"role":"system"';
    expect((await answerTo(gateway, body(...plain)))[0]).toBe(200);
    expect(await answerTo(gateway, body(...plain, doubled))).toEqual([
      400,
      'duplicate_parameter',
      'messages[9].role',
    ]);
    expect(await answerTo(gateway, body(...plain, doubled, '', ''))).toEqual([
      400,
      'duplicate_parameter',
      'messages[9].role',
    ]);
    expect((await answerTo(gateway, body(...plain, '', '')))[0]).toBe(200);
  });
});

test.each(MISSPELT)(
  'a name that decoders without a sense of case know is refused: %s',
  async (param, body) => {
    const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 5 } });
    expect(await answerTo(gateway, body)).toEqual([400, 'ambiguous_parameter', param]);
  },
);

test('schemas, metadata and calls of tools have the keys that they like', async () => {
  const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 5_000 } });
  const properties = { ID: { type: 'string' }, id: { type: 'string' }, Type: {}, Model: {}, filePath: {} };
  const parameters = { type: 'object', properties };
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`key${i}`, { a: i }]));
  const body = {
    model: 'mock/test-model',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi', input: { Content: 1, content: 2 } }],
    tools: [{ type: 'function', function: { name: 'pick', parameters } }],
    metadata: { Model: 'a', MODEL: 'b', ...many },
    'odd key': { '\u540d': 1, '\u5b57': 2 },
  };
  expect((await answerTo(gateway, JSON.stringify(body)))[0]).toBe(200);
});

test('a body with more keys than gw compares is refused if one may stand twice', async () => {
  const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 5_000 } });
  const keys = Array.from({ length: 60_000 }, (_, i) => `"k${i}":1`);
  const body = withMember(`"metadata":{${keys.join()}}`);
  expect(await answerTo(gateway, body)).toEqual([400, 'duplicate_parameter', null]);
});

describe('JSON that gw cannot read, and a lenient parser can', () => {
  test.each([
    ['NaN', Buffer.from('{"model":"dear","n":NaN}')],
    ['UTF-16', Buffer.from('{"model":"dear"}', 'utf16le')],
    ['text behind the object', Buffer.from('{"model":"dear"}{}')],
    ['a bad escape in a key', Buffer.from('{"input":{"\\a":1,"\\a":1}}')],
  ])('is refused where a budget is at stake: %s', async (_, body) => {
    const send = async (gateway: TestGateway) => {
      gateway.configure({
        'passthrough.unmetered': 'allow',
        providers: { mock: { baseUrl: gateway.upstream.url } },
      });
      gateway.upstream.script(json(200, {}));
      const headers = { 'content-type': 'application/json' };
      return (await gateway.post(body, { path: '/v1/images/generations', headers })).status;
    };
    const budget = { period: 'daily', capUsd: 5 } as const;
    expect(await send(await startGateway({ alone: true, budget }))).toBe(400);
    expect(await send(await startGateway({ alone: true }))).toBe(200);
  });
});
