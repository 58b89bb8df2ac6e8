import { describe, expect, test } from 'vitest';
import { cliHome, commandLineOf } from '../cli/cli-home.ts';
import { request } from '../support/client.ts';
import { PLAIN, startAlone } from '../support/gateway.ts';
import { json } from '../support/scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const DAY_MS = 86_400_000;

/** A daemon, and a command line that manages it: on its machine or, through GW_URL, from elsewhere. */
async function served(how: 'locally' | 'remotely' = 'locally') {
  const clock = createVirtualClock();
  const gateway = await startAlone({ clock });
  const cli = commandLineOf(gateway, how, clock);
  const newKey = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli.run(['keys', ...args]);
    if (code !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  const ask = (key: string, body: object = PLAIN) =>
    gateway.post(body, { headers: { authorization: `Bearer ${key}` } });
  const outcome = async (key: string, body?: object) => {
    const answer = await ask(key, body);
    const { error } = answer.json() as { error?: { code: string } };
    return `${answer.status} ${error?.code ?? 'ok'}`;
  };
  return { gateway, clock, cli, newKey, ask, outcome };
}

describe.each(['locally', 'remotely'] as const)('a key that is made %s', (how) => {
  test('expires, and says so', async () => {
    const { clock, newKey, ask, outcome } = await served(how);
    const key = await newKey('create', '--expires', '30d');
    clock.setWallTime(clock.now() + 30 * DAY_MS - 1);
    expect(await outcome(key)).toBe('200 ok');
    await clock.advance(1);
    const refused = await ask(key);
    expect([refused.status, refused.json()]).toEqual([
      401,
      {
        error: {
          message: expect.stringMatching(/^key 3 expired at 2026-01-31T12:00:00.000Z. To replace it: /),
          type: 'authentication_error',
          param: null,
          code: 'key_expired',
        },
      },
    ]);
    // More time for a new one, by the same id.
    expect(await outcome(await newKey('rotate', '3', '--expires', '1d'))).toBe('200 ok');
  });

  test('is made with a budget of its own', async () => {
    const { cli, newKey, outcome } = await served(how);
    const made = await cli.json<{ key: string; budget: object }>(
      'keys create --label ci --budget 0.000001 --period weekly --alert 50,90'.split(' '),
    );
    expect(made.budget).toMatchObject({
      id: 'default/weekly@key:ci',
      cap_usd: 0.000001,
      alert_percents: [50, 90],
      scope: { kind: 'key', value: 'ci' },
    });
    expect(await outcome(made.key)).toBe('402 budget_exceeded');
    expect(await outcome(await newKey('create'))).toBe('200 ok');
    expect((await cli.run(['keys', 'list'], { tty: true, columns: 100 })).stdout).toContain(
      '$0.0000010 weekly',
    );
  });

  test('is not made with a budget that cannot be', async () => {
    const { cli, newKey } = await served(how);
    const before = await cli.json<object[]>(['keys', 'list', '--all']);
    for (const args of [
      ['--budget', 'much'],
      ['--period', 'weekly'],
      ['--budget', '5', '--alert', 'x'],
    ])
      expect((await cli.run(['keys', 'create', ...args])).code).toBe(2);
    expect(await cli.json(['keys', 'list', '--all'])).toEqual(before);
    expect((await cli.run(['keys', 'create', '--budget', '5', '--alert', '101'])).code).toBe(2);
    await newKey('create', '--label', '5');
    const { code, stdout, stderr } = await cli.run(['keys', 'create', '--budget', '5']);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('labelled "5"')]);
    expect(await cli.json(['keys', 'list'])).toHaveLength(before.length + 1);
  });

  test('may use its models alone', async () => {
    const { newKey, outcome } = await served(how);
    const key = await newKey('create', '--models', 'test-model,other-*');
    const use = (model: string, more = {}) => outcome(key, { ...PLAIN, ...more, model });
    expect(await use('test-model')).toBe('200 ok');
    expect(await use('mock/test-model')).toBe('200 ok');
    expect(await use('mock/other-model')).toBe('200 ok');
    expect(await use('mock/test-model-2')).toBe('403 model_forbidden');
    expect(await use('another-model')).toBe('403 model_forbidden');
    expect(await use('test-model', { models: ['dear-model'] })).toBe('403 model_forbidden');
    expect(await use('test-model', { fallbacks: ['dear-model'] })).toBe('403 model_forbidden');
  });

  test('is rotated: the former one works until the overlap ends, and spend stays with the id', async () => {
    const { gateway, clock, cli, newKey, outcome } = await served(how);
    const first = await newKey('create', '--label', 'ci', '--rpm', '100', '--models', 'mock/test-model');
    expect(await outcome(first)).toBe('200 ok');
    const second = await newKey('rotate', 'ci', '--overlap', '2h');
    expect(await outcome(first)).toBe('200 ok');
    expect(await outcome(second)).toBe('200 ok');
    await gateway.settled(3);
    const [listed] = (await cli.json<Record<string, unknown>[]>(['keys', 'list'])).slice(-1);
    expect(listed).toMatchObject({
      id: 3,
      project_id: 'default',
      hint: second.slice(-4),
      label: 'ci',
      models: ['mock/test-model'],
      rpm: 100,
      expires_at: null,
      last_used_at: '2026-01-01T12:00:00.000Z',
      spent_nano_usd: (await gateway.records()).reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0),
      previous_key_expires_at: '2026-01-01T14:00:00.000Z',
    });
    expect(listed?.spent_usd).toBeGreaterThan(0);
    await clock.advance(2 * 3_600_000);
    expect(await outcome(first)).toBe('401 key_expired');
    expect(await outcome(second)).toBe('200 ok');
    const third = await newKey('rotate', '3', '--overlap', '0');
    expect(await outcome(second)).toBe('401 key_expired');
    expect(await outcome(first)).toBe('401 invalid_api_key');
    expect(await outcome(third)).toBe('200 ok');
  });
});

describe('a key with a rate', () => {
  test('makes that many requests in any minute, and is told when to come back', async () => {
    const { clock, gateway, newKey, ask, outcome } = await served();
    const key = await newKey('create', '--rpm', '2');
    const other = await newKey('create', '--rpm', '1');
    expect(await outcome(key)).toBe('200 ok');
    await clock.advance(20_000);
    expect(await outcome(key)).toBe('200 ok');
    const refused = await ask(key);
    expect([refused.status, refused.header('retry-after'), refused.json()]).toEqual([
      429,
      '40',
      {
        error: {
          message: 'key 3 may make 2 requests a minute. Try again in 40 s',
          type: 'rate_limit_error',
          param: null,
          code: 'key_rate_limited',
        },
      },
    ]);
    expect(await outcome(other)).toBe('200 ok');
    await clock.advance(40_000);
    expect(await outcome(key)).toBe('200 ok');
    expect(await outcome(key)).toBe('429 key_rate_limited');
    await clock.advance(20_000);
    expect(await outcome(key)).toBe('200 ok');
    expect((await gateway.records()).filter(({ outcome: how }) => how === 'refused')).toHaveLength(2);
  });

  test('is refused in the words of the API that the client speaks', async () => {
    const { gateway, newKey } = await served();
    const limited = await newKey('create', '--rpm', '1', '--models', 'claude-x');
    const ask = (key: string) =>
      request(`${gateway.url}/messages`, {
        headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
        body: { ...PLAIN, max_tokens: 5 },
      });
    expect((await ask(limited)).json()).toMatchObject({
      type: 'error',
      error: { type: 'permission_error', code: 'model_forbidden', param: 'model' },
    });
    const spent = await newKey('create', '--rpm', '1');
    await ask(spent);
    const refused = await ask(spent);
    expect([refused.status, refused.header('retry-after'), refused.json()]).toMatchObject([
      429,
      '60',
      { type: 'error', error: { type: 'rate_limit_error', code: 'key_rate_limited' } },
    ]);
  });
});

test('a key with models may read endpoints that name none, and change nothing there', async () => {
  const { gateway, newKey } = await served();
  gateway.upstream.script(json(200, {}));
  const key = await newKey('create', '--models', 'test-model');
  const at = (method: string, path: string) =>
    request(gateway.origin, { method, path, headers: { authorization: `Bearer ${key}` } });
  expect((await at('POST', '/v1/batches')).json()).toMatchObject({ error: { code: 'model_forbidden' } });
  expect((await at('DELETE', '/v1/files/f')).json()).toMatchObject({ error: { code: 'model_forbidden' } });
  expect((await at('GET', '/v1/files')).status).toBe(200);
});

test('using a key writes nothing but the request itself', async () => {
  const { gateway, newKey, outcome } = await served();
  const row = () => gateway.db.prepare('SELECT * FROM keys WHERE id = 3').get();
  const key = await newKey('create', '--rpm', '9', '--models', 'mock/*', '--expires', '1d');
  const before = row();
  expect(await outcome(key)).toBe('200 ok');
  await gateway.settled(1);
  expect(row()).toEqual(before);
});

test.each([
  [['create', '--expires', 'soon'], '--expires soon is not a length of time'],
  [['create', '--rpm', '0'], '--rpm 0 is not a whole number from 1 to 10000'],
  [['create', '--models', ' , '], 'a key may have 1 to 100 models, by their names'],
  [['rotate', 'ci', '--overlap', 'x'], '--overlap x is not a length of time'],
  [['rotate', 'ci', '--overlap', '100d'], 'the overlap of two keys is from 0 to 90 days'],
])('gw keys %j exits with 2', async (args, message) => {
  const cli = cliHome();
  await cli.run(['keys', 'create', '--label', 'ci']);
  const { code, stderr } = await cli.run(['keys', ...args]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('gw keys list shows last use, spend and limits', async () => {
  const { gateway, cli, clock, newKey, outcome } = await served();
  const key = await newKey('create', '--rpm', '9', '--expires', '1d', '--label', 'ci');
  await outcome(key);
  await gateway.settled(1);
  expect((await cli.run(['keys', 'list'], { tty: true, columns: 100 })).stdout).toMatch(
    /ci +12:00 +\$0\.00\S* +Fri 12:00 {2}9\/min/,
  );
  clock.setWallTime(clock.now() + DAY_MS);
  expect((await cli.run(['keys', 'list'])).stdout).toContain('expired');
});
