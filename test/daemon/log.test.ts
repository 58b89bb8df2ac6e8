import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createLog } from '../../src/daemon/log.ts';
import { redactKeys } from '../../src/redact.ts';
import { openConnection, request, requestBytes } from '../support/client.ts';
import { PLAIN, STREAM } from '../support/gateway.ts';
import { prepareHome, until } from '../support/home.ts';
import { html, json, reset, status } from '../support/scripts.ts';
import { runServe } from '../support/spawned.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { refusingUrl, startUpstream } from '../support/upstream.ts';

describe('redactKeys()', () => {
  test.each([
    'sk-proj-abcdefgh12345678',
    'sk-gw-AbCd_efgh-1234',
    'sk-ant-api03-xxxxxxxxxxxx',
    'gsk_abcdefgh1234',
    'xai-abcdefgh1234',
    'AIzaSyA-bcdefgh1234',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  ])('redacts %s', (secret) => {
    const text = redactKeys(`the key ${secret} is wrong`);
    expect(text).not.toContain(secret.slice(8));
    expect(text).toMatch(/^the key .*\[redacted\] is wrong$/);
  });

  test('redacts a bearer token in a JSON line and keeps the rest', () => {
    const line = JSON.stringify({ error: 'sent "Bearer abc.def-ghi" there', url: '/v1', msg: 'x' });
    const parsed = JSON.parse(redactKeys(line));
    expect(parsed).toMatchObject({ url: '/v1', msg: 'x' });
    expect(parsed.error).not.toContain('abc.def');
    expect(JSON.parse(redactKeys(JSON.stringify({ error: 'Bearer abc', msg: 'x' }))).msg).toBe('x');
  });

  test('keeps text that is no key', () => {
    for (const text of ['task-force one', 'sk-short', 'the bearer of news', 'ask-me-anything-now']) {
      expect(redactKeys(text)).toBe(text);
    }
  });
});

describe('createLog()', () => {
  test('writes JSON lines from its level up to a file that only the owner can read', () => {
    const file = join(tmpHome(), 'gw.log');
    const log = createLog({ file, level: 'warn' });
    log.info('too quiet');
    log.error({ error: 'key sk-abcdefgh1234' }, 'failed');
    const line = JSON.parse(readFileSync(file, 'utf8'));
    expect(line).toMatchObject({ level: 50, msg: 'failed', error: 'key sk-abc[redacted]' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('rotates a file of more than 5 MB over the previous one', () => {
    const file = join(tmpHome(), 'gw.log');
    writeFileSync(`${file}.old`, 'older');
    writeFileSync(file, 'x'.repeat(5 * 1024 * 1024));
    createLog({ file, level: 'info' }).info('new');
    expect(readFileSync(`${file}.old`, 'utf8')).toHaveLength(5 * 1024 * 1024);
    expect(JSON.parse(readFileSync(file, 'utf8')).msg).toBe('new');
  });

  test('rotates while it runs', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const file = join(tmpHome(), 'gw.log');
    const log = createLog({ file, level: 'info' });
    log.info('x'.repeat(5 * 1024 * 1024));
    vi.advanceTimersByTime(60_000);
    log.info('new');
    expect(statSync(`${file}.old`).size).toBeGreaterThan(5 * 1024 * 1024);
    expect(JSON.parse(readFileSync(file, 'utf8')).msg).toBe('new');
  });

  test('appends to a smaller file', () => {
    const file = join(tmpHome(), 'gw.log');
    writeFileSync(file, '{"msg":"before"}\n');
    createLog({ file, level: 'info' }).info('after');
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
    expect(existsSync(`${file}.old`)).toBe(false);
  });
});

test('no key appears in the log, the database or a response, whatever goes wrong', {
  timeout: 30_000,
}, async () => {
  const upstream = await startUpstream();
  const gone = await refusingUrl();
  const home = await prepareHome(tmpHome(), {
    upstreamUrl: upstream.url,
    settings: {
      'log.level': 'debug',
      providers: { gone: { baseUrl: gone }, openai: { baseUrl: upstream.url } },
    },
    credentials: { mock: 'canary-stored-key-1234', gone: 'sk-canary-stored-5678' },
    budget: { period: 'daily', capUsd: 0.0005 },
  });
  const daemon = runServe(home.paths.home, {
    args: ['--background'],
    env: { OPENAI_API_KEY: 'canary-env-key-9012', MISTRAL_API_KEY: 'canary-env-key-3456' },
  });
  await until(() => existsSync(home.paths.daemonInfo));
  const { port } = JSON.parse(readFileSync(home.paths.daemonInfo, 'utf8'));
  const url = `http://127.0.0.1:${port}/v1`;
  const answers: string[] = [];
  async function ask(body: unknown, key = home.key, path = '/chat/completions') {
    const parts = { body, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } };
    const answer = await request(url + path, parts);
    answers.push(answer.head.raw.toString() + answer.text());
  }
  const limited = { ...PLAIN, max_tokens: 5 };
  upstream.queue(json(200, {}), status(401), html(502), reset());
  for (let i = 0; i < 4; i++) await ask(limited);
  await ask({ ...STREAM, max_tokens: 5 });
  await ask({ ...limited, model: 'openai/gpt-4o' });
  await ask({ ...limited, model: 'gone/m' });
  await ask({ ...limited, model: 'nobodys' });
  await ask({ ...limited, model: home.key });
  await ask({ ...PLAIN, max_tokens: 1_000_000 });
  await ask(limited, 'sk-gw-canary-unknown-key');
  await ask(limited, home.key, `/${home.key}`);
  await ask(limited, home.adminKey, `/chat/completions?key=${home.key}`);
  await ask('{"model"');
  const broken = await openConnection(url);
  await broken.send(requestBytes(url, { headers: { authorization: `Bearer ${home.key}` } }).subarray(0, 90));
  broken.hangUp();
  for (const path of ['/models', '/usage', '/requests/x']) {
    const answer = await request(url + path, {
      method: 'GET',
      headers: { authorization: `Bearer ${home.key}` },
    });
    answers.push(answer.text());
  }
  daemon.kill('SIGTERM');
  expect((await daemon.exited).code).toBe(0);
  // The provider did receive its key, so the canaries are live.
  const seen = upstream.requests.map(({ head }) => head.raw.toString()).join();
  expect(seen).toContain('Bearer canary-stored-key-1234');
  expect(seen).toContain('Bearer canary-env-key-9012');

  home.db.pragma('wal_checkpoint(TRUNCATE)');
  const files = readdirSync(home.paths.home).filter((name) => name !== 'credentials.json');
  expect(files).toContain('gw.log');
  expect(files).toContain('gw.db');
  for (const name of files) {
    const content = readFileSync(join(home.paths.home, name), 'latin1');
    expect([name, /canary/.exec(content)]).toEqual([name, null]);
    if (name === 'gw.log') expect(content).not.toContain(home.key);
    expect([name, content.includes(home.adminKey)]).toEqual([name, false]);
  }
  for (const answer of answers) expect(answer).not.toContain('canary');
  expect(daemon.stderr()).not.toContain('canary');
});
