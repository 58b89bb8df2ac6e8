import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { EARLIER_ROUTES, GW_ROUTES } from '../../src/operations/registry.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { request } from '../support/client.ts';
import type { RecordedRequest } from '../support/exchange.ts';
import type { TestGateway } from '../support/gateway.ts';
import type { Script } from '../support/scripts.ts';
import { subscriptionsAt } from '../support/subscriptions.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';

/** A secret of no known format: only its value gives it away. */
const canary = (name: string) => `Cn${createHash('sha256').update(name).digest('base64url').slice(0, 30)}`;

/** What clients and people hand to gw in confidence. Keys of gw and secrets of webhooks are added as they are made. */
const secrets: Record<string, string> = Object.fromEntries(
  [
    ...['provider key, stored', 'provider key, of Anthropic', 'provider key, from the environment'],
    ...['login of Claude', 'login of ChatGPT', 'address of a chat', 'key of another gw'],
    ...[
      'prompt',
      'system prompt',
      'tool call',
      'tool result',
      'tool definition',
      'image',
      'answer',
      'reasoning',
    ],
    ...[
      'input of a response',
      'instructions',
      'text to embed',
      'text to complete',
      'text to speak',
      'uploaded file',
    ],
    ...['cookie', 'header of the client', 'query', 'user name', 'text of a refused request'],
  ].map((name) => [name, canary(name)]),
);
const secret = (name: string): string => secrets[name] ?? '';

/** Twelve characters in a row of each spelling, at every sixth place. */
function partsOf(value: string): string[] {
  const spellings = [value, Buffer.from(value).toString('base64'), Buffer.from(value).toString('hex')];
  return spellings.flatMap((spelled) =>
    Array.from({ length: Math.ceil((spelled.length - 14) / 6) }, (_, i) =>
      spelled.slice(6 * i + 2, 6 * i + 14),
    ),
  );
}

/** The secrets that a text gives away, whole or in part. */
function leaksIn(text: string): string[] {
  return Object.entries(secrets)
    .filter(([, value]) => partsOf(value).some((part) => text.includes(part)))
    .map(([name]) => name);
}

/** Answers as a provider that quotes its credential, and the webhook's secret, wherever it can. */
const talkative: Script = async (exchange) => {
  const headers = Object.fromEntries(
    exchange.request.head.headers.map(([name, value]) => [name.toLowerCase(), value]),
  );
  const key = headers.authorization ?? headers['x-api-key'] ?? '';
  const body = (await exchange.body).toString();
  const quoted = `no ${key} ${encodeURIComponent(key)} ${Buffer.from(key).toString('base64')} ${key.slice(9, 34)}`;
  const own = { 'x-request-id': `req-${key}`, 'x-echo': key };
  const error = { error: { message: quoted, type: 'server_error', code: quoted } };
  if (exchange.request.path.startsWith('/hook')) {
    return exchange.send(500, {}, `${secret('secret of a webhook')} ${secret('address of a chat')}`);
  }
  if (body.includes('"stream":true')) {
    await exchange.start(200, { 'content-type': 'text/event-stream', ...own });
    const delta = { content: secret('answer'), reasoning_content: secret('reasoning') };
    await exchange.chunk(`data: ${JSON.stringify({ id: key, choices: [{ index: 0, delta }] })}\n\n`);
    await exchange.chunk(`event: error\ndata: ${JSON.stringify({ type: 'error', ...error })}\n\n`);
    return exchange.finish();
  }
  if (body.includes(secret('tool call'))) {
    return exchange.send(401, { 'content-type': 'application/json', ...own }, JSON.stringify(error));
  }
  const message = { role: 'assistant', content: secret('answer'), reasoning: secret('reasoning') };
  const usage = { prompt_tokens: 9, completion_tokens: 9, input_tokens: 9, output_tokens: 9 };
  const answer = { id: `id-${key}`, choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
  return exchange.send(200, { 'content-type': 'application/json', ...own }, JSON.stringify(answer));
};

async function start() {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  upstream.script(talkative);
  const gateway = await startBothWires({
    upstream,
    subscriptions: subscriptionsAt(upstream),
    credentials: { mock: secret('provider key, stored'), anthropic: secret('provider key, of Anthropic') },
    env: { GROQ_API_KEY: secret('provider key, from the environment') },
    settings: {
      'passthrough.subscriptions': 'allow',
      'passthrough.unmetered': 'allow',
      'metrics.otlp_endpoint': upstream.url.replace(/\/v1$/, ''),
    },
    mayLog: /request failed/,
  });
  secrets['key of a project'] = gateway.key;
  secrets['key of an admin'] = gateway.adminKey;
  return gateway;
}

/** Sends each secret where it belongs. Returns what people without an admin key get to see of errors. */
async function confide(gateway: TestGateway): Promise<string> {
  const errors: string[] = [];
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const answer = await request(gateway.origin, {
      path,
      headers: {
        authorization: `Bearer ${gateway.key}`,
        'content-type': 'application/json',
        cookie: `session=${secret('cookie')}`,
        'x-own': secret('header of the client'),
        ...headers,
      },
      body,
    });
    errors.push(answer.head.raw.toString(), answer.status >= 400 ? answer.text() : '');
    return answer;
  };
  const model = 'mock/test-model';
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'f', arguments: `{"a":"${secret('tool call')}"}` },
  };
  const tools = [{ type: 'function', function: { name: 'f', description: secret('tool definition') } }];
  const url = `data:image/png;base64,${Buffer.from(secret('image')).toString('base64')}`;
  const messages = [
    { role: 'system', content: secret('system prompt') },
    {
      role: 'user',
      content: [
        { type: 'text', text: secret('prompt') },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ];
  const user = secret('user name');
  await post(`/v1/chat/completions?api_key=${secret('query')}`, { model, messages, user });
  await post('/v1/chat/completions', { model, messages, stream: true });
  await post('/v1/chat/completions', {
    ...{ model, tools },
    messages: [
      ...messages,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: secret('tool result') },
    ],
  });
  await post('/v1/responses', {
    model,
    input: secret('input of a response'),
    instructions: secret('instructions'),
  });
  await post('/v1/embeddings', { model, input: secret('text to embed') });
  await post('/v1/completions', { model, prompt: secret('text to complete') });
  await post('/v1/audio/speech', { model, input: secret('text to speak') });
  const form = `--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${secret('uploaded file')}\r\n--b--\r\n`;
  const at = { 'x-service-provider': 'mock', 'content-type': 'multipart/form-data; boundary=b' };
  await post(`/v1/files?key=${secret('query')}`, Buffer.from(form), at);
  await post('/v1/messages', {
    model: CLAUDE,
    max_tokens: 9,
    messages: [{ role: 'user', content: secret('prompt') }],
  });
  const login = {
    'x-gw-key': gateway.key,
    authorization: `Bearer sk-ant-oat01-${secret('login of Claude')}`,
  };
  await post(
    '/v1/messages',
    { model: CLAUDE, max_tokens: 9, messages: [{ role: 'user', content: 'x' }], stream: true },
    login,
  );
  const jwt = `eyJhbGciOiJSUzI1NiJ9.${secret('login of ChatGPT')}.c2ln`;
  const chatgpt = { 'x-gw-key': gateway.key, authorization: `Bearer ${jwt}`, 'chatgpt-account-id': 'a' };
  await post('/v1/responses', { model: 'gpt-5.2', input: 'x', stream: true }, chatgpt);
  await post('/v1/chat/completions', { model, messages: secret('text of a refused request') });
  await post('/v1/chat/completions', Buffer.from(`{"a":"${secret('text of a refused request')}`));
  await post(
    '/v1/chat/completions',
    { model, messages },
    { authorization: `Bearer ${secret('key of another gw')}` },
  );
  return errors.join('\n');
}

/** What providers have to have got, or the test would show nothing. */
const SENT = [
  ...['provider key, stored', 'provider key, of Anthropic', 'login of Claude', 'login of ChatGPT'],
  ...[
    'prompt',
    'system prompt',
    'tool call',
    'tool result',
    'tool definition',
    'input of a response',
    'user name',
  ],
  ...[
    'instructions',
    'text to embed',
    'text to complete',
    'text to speak',
    'uploaded file',
    'header of the client',
  ],
];

const COMMANDS = [
  ...[
    'status',
    'requests',
    'usage',
    'usage -g model',
    'sessions',
    'keys list',
    'budget list',
    'providers list',
  ],
  ...[
    'providers test',
    'webhooks list',
    'webhooks deliveries',
    'projects list',
    'prices list',
    'config list',
    'doctor',
  ],
  ...['logs', 'models', 'plan'],
].flatMap((command) => [command, `${command} --json`]);
/** For a busy machine. */
const LIMIT_MS = 60_000;

/** All ways out of gw, by name. */
async function waysOut(gateway: TestGateway, commands = COMMANDS): Promise<Record<string, string>> {
  const ways: Record<string, string> = {};
  const headers = { authorization: `Bearer ${gateway.adminKey}` };
  const listed = (await gateway.get('/v1/gw/requests', headers)).json() as { data: { id: string }[] };
  for (const route of [...GW_ROUTES, ...EARLIER_ROUTES, 'GET /health', 'GET /metrics', 'GET /v1/models']) {
    const [method = '', path = ''] = route.split(' ');
    if (method !== 'GET') continue;
    for (const { id } of path.includes('{id}') ? listed.data : [{ id: '' }]) {
      const query = path.endsWith('calls')
        ? '?agent=&since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z'
        : '';
      const answer = await gateway.get(path.replace('{id}', id) + query, headers);
      ways[`${route} ${id}`] = `${answer.head.raw} ${answer.text()}`;
    }
  }
  const cli = commandLineOf(gateway, 'locally', createVirtualClock(Date.now()));
  Object.assign(cli.env, { GROQ_API_KEY: secret('provider key, from the environment') });
  const ids = listed.data.map(({ id }) => `requests ${id}`);
  for (const command of [...commands, ...ids, 'usage -g key --csv', 'usage -g session --csv']) {
    const { stdout, stderr } = await cli.run(command.split(' '));
    ways[`gw ${command}`] = stdout + stderr;
  }
  await cli.run(['backup', join(gateway.paths.home, 'copy.backup')]);
  ways['the log'] = JSON.stringify(gateway.logged);
  return ways;
}

/** The files of the state directory, but for those that hold keys. */
function filesOf(gateway: TestGateway): Record<string, string> {
  const { home, credentials, cliKeys } = gateway.paths;
  return Object.fromEntries(
    (readdirSync(home, { recursive: true }) as string[])
      .map((name) => join(home, name))
      .filter(
        (file) => existsSync(file) && statSync(file).isFile() && file !== credentials && file !== cliKeys,
      )
      .map((file) => [`the file ${file.slice(home.length + 1)}`, readFileSync(file, 'latin1')]),
  );
}

test('30 secrets are in nothing that gw writes, shows or sends', { timeout: LIMIT_MS }, async () => {
  const gateway = await start();
  const hook = `${gateway.upstream.url.replace(/\/v1$/, '')}/hook/${secret('address of a chat')}`;
  const admin = { authorization: `Bearer ${gateway.adminKey}`, 'content-type': 'application/json' };
  const made = await request(gateway.origin, {
    path: '/v1/webhooks',
    headers: admin,
    body: { url: hook, format: 'slack' },
  });
  const webhook = made.json() as { id: string; secret: string };
  secrets['first secret of a webhook'] = webhook.secret;
  const rotated = await request(gateway.origin, {
    path: `/v1/webhooks/${webhook.id}/rotate`,
    headers: admin,
    body: {},
  });
  secrets['secret of a webhook'] = (rotated.json() as { secret: string }).secret;
  expect(Object.keys(secrets).length).toBeGreaterThanOrEqual(30);

  const errors = await confide(gateway);
  const tested = await request(gateway.origin, {
    path: `/v1/webhooks/${webhook.id}/test`,
    headers: admin,
    body: {},
  });
  await gateway.records();
  // An internal error, whose stack is logged.
  gateway.db.exec('ALTER TABLE price_overrides RENAME TO gone');
  const broken = await gateway.get(`/v1/gw/prices?key=${secret('query')}`, admin);
  gateway.db.exec('ALTER TABLE gone RENAME TO price_overrides');
  const ways = {
    ...(await waysOut(gateway)),
    errors,
    'a test delivery': tested.text(),
    crash: broken.text(),
  };
  await gateway.stop();
  const textOf = ({ head, body }: RecordedRequest) => `${head.raw}${body}`;
  const isTelemetry = ({ path }: RecordedRequest) => /^\/v1\/(traces|metrics)$/.test(path);
  const sent = gateway.upstream.requests
    .filter((each) => !isTelemetry(each))
    .map(textOf)
    .join();
  const telemetry = gateway.upstream.requests.filter(isTelemetry).map(textOf).join();
  expect(telemetry).toMatch(/gen_ai\.response\.id.*gen_ai\.client\.token\.usage/s);
  expect(SENT.filter((name) => !sent.includes(secret(name)))).toEqual([]);
  expect(JSON.stringify(ways)).toContain('[redacted]');
  const found = Object.entries({ ...ways, ...filesOf(gateway), telemetry }).flatMap(([way, text]) =>
    leaksIn(text).map((name) => `${way}: ${name}`),
  );
  // The secrets of webhooks have to be kept, and a backup has all that the database has.
  const KEPT =
    /^the file (gw\.db(-wal|-shm)?|copy\.backup): (first secret of a webhook|secret of a webhook|address of a chat)$/;
  expect(found.filter((leak) => !KEPT.test(leak))).toEqual([]);
  expect(Object.keys(ways).length).toBeGreaterThan(80);
});

test('a planted leak is found', { timeout: LIMIT_MS }, async () => {
  const gateway = await start();
  await gateway.post({ model: 'mock/test-model', messages: [{ role: 'user', content: 'Hi' }] });
  await gateway.records();
  const leak = JSON.stringify({ error: `wrong key ${secret('provider key, stored').slice(4, 20)}` });
  for (const [table, column] of [
    ['journal', 'id'],
    ['request_details', 'id'],
  ] as const)
    gateway.db.prepare(`UPDATE ${table} SET detail = ? WHERE ${column} > 0`).run(leak);
  const ways = Object.entries({ ...(await waysOut(gateway, ['requests --json'])), ...filesOf(gateway) });
  const leaky = ways
    .filter(([, text]) => leaksIn(text).includes('provider key, stored'))
    .map(([way]) => way.split(' ')[0]);
  expect([...new Set(leaky)].sort()).toEqual(['GET', 'gw', 'the']);
});
