import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { listKeys, revokeKey } from '../../src/store/accounts/keys.ts';
import { removeProject, setPaused } from '../../src/store/accounts/projects.ts';
import { bumpConfigurationEpoch } from '../../src/store/database/write.ts';
import { answer, completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { modelList, status } from '../support/scripts.ts';
import { startUpstream } from '../support/upstream.ts';

/** The status of a completion and the provider that served it. */
async function outcome(gateway: TestGateway, model: string, key = gateway.key) {
  const given = await gateway.post({ ...PLAIN, model }, { headers: { authorization: `Bearer ${key}` } });
  return [given.status, given.header('x-service-provider'), given.header('x-service-model')];
}

const OK = [200, 'mock', 'test-model'];

describe('takes effect with the next request', () => {
  test('a key that is created or revoked', async () => {
    const gateway = await startGateway();
    for (let i = 0; i < 5; i++) {
      const key = await gateway.newKey('default');
      expect(await outcome(gateway, 'test-model', key)).toEqual(OK);
      const { id } = (await listKeys(gateway.db)).at(-1) ?? { id: 0 };
      await revokeKey(gateway.db, id, Date.now());
      expect((await outcome(gateway, 'test-model', key))[0]).toBe(401);
    }
  });

  test('a project that is removed and created again', async () => {
    const gateway = await startGateway();
    await gateway.newProject('web');
    const key = await gateway.newKey('web');
    expect((await outcome(gateway, 'test-model', key))[0]).toBe(200);
    await removeProject(gateway.db, 'web', Date.now());
    expect((await outcome(gateway, 'test-model', key))[0]).toBe(401);
    await gateway.newProject('web');
    expect((await outcome(gateway, 'test-model', await gateway.newKey('web')))[0]).toBe(200);
  });

  test('a project that is paused or resumed', async () => {
    const gateway = await startGateway();
    await setPaused(gateway.db, 'default', Date.now());
    expect((await outcome(gateway, 'test-model'))[0]).toBe(403);
    await setPaused(gateway.db, 'default', null);
    expect((await outcome(gateway, 'test-model'))[0]).toBe(200);
  });

  test('a price', async () => {
    const gateway = await startGateway();
    gateway.upstream.script(completion({ usage: usageOf(1_000_000, 0) }));
    for (const dollars of [1, 5, 3]) {
      await gateway.setPrice({ model: 'test-model', inputPicoUsd: dollars * 1e6, outputPicoUsd: 0 });
      await gateway.post(PLAIN);
      expect((await gateway.records()).at(-1)?.costNanoUsd).toBe(dollars * 1e9);
    }
  });

  test('a fee for each request', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 0.75 } });
    gateway.upstream.script(completion({ usage: usageOf(1, 1) }));
    await gateway.setPrice({
      model: 'test-model',
      inputPicoUsd: 0,
      outputPicoUsd: 0,
      requestPicoUsd: 0.5e12,
    });
    expect((await gateway.post(PLAIN)).status).toBe(200);
    expect((await gateway.records()).at(-1)?.costNanoUsd).toBe(0.5e9);
    expect((await gateway.post(PLAIN)).status).toBe(402);
  });

  test('a provider that is added, moved or removed', async () => {
    const gateway = await startGateway();
    const other = await startUpstream({ script: answer('other') });
    expect((await outcome(gateway, 'second/m'))[0]).toBe(404);
    gateway.configure({ providers: { second: { baseUrl: other.url } } });
    expect(await outcome(gateway, 'second/m')).toEqual([200, 'second', 'm']);
    gateway.configure({ providers: { second: { baseUrl: gateway.upstream.url } } });
    expect(await outcome(gateway, 'second/m')).toEqual([200, 'second', 'm']);
    expect([other.requests.length, gateway.upstream.requests.length]).toEqual([1, 1]);
    gateway.configure({});
    expect((await outcome(gateway, 'second/m'))[0]).toBe(404);
    await other.close();
  });

  test('the model list of a provider that has moved', async () => {
    const gateway = await startGateway();
    const other = await startUpstream({ models: modelList(['other-model']) });
    expect((await outcome(gateway, 'other-model'))[0]).toBe(404);
    gateway.configure({ providers: { mock: { baseUrl: other.url } } });
    expect(await outcome(gateway, 'other-model')).toEqual([200, 'mock', 'other-model']);
    expect((await outcome(gateway, 'test-model'))[0]).toBe(404);
    await other.close();
  });

  test("a provider's key, without which its model list had failed", async () => {
    const gateway = await startGateway({ credentials: {} });
    const withKey = modelList(['test-model']);
    gateway.upstream.models(async (exchange) => {
      const known = exchange.request.head.headers.some(([, value]) => value === 'Bearer right');
      await (known ? withKey : status(401))(exchange);
    });
    const missing = await gateway.post({ ...PLAIN, model: 'test-model' });
    expect(missing.status).toBe(404);
    expect(missing.text()).toContain('mock (no list: HTTP 401)');
    writeFileSync(gateway.paths.credentials, JSON.stringify({ mock: 'right' }));
    bumpConfigurationEpoch(gateway.db);
    expect(await outcome(gateway, 'test-model')).toEqual(OK);
  });

  test('an alias, and an alias of an alias', async () => {
    const gateway = await startGateway();
    gateway.configure({
      aliases: { fast: 'mock/test-model', faster: 'fast', round: 'and-round', 'and-round': 'round' },
    });
    expect(await outcome(gateway, 'fast')).toEqual(OK);
    expect(await outcome(gateway, 'faster')).toEqual(OK);
    expect((await outcome(gateway, 'round'))[0]).toBe(404);
    expect((await outcome(gateway, 'toString'))[0]).toBe(404);
    expect((await outcome(gateway, '__proto__'))[0]).toBe(404);
    gateway.configure({ aliases: { fast: 'mock/slow' } });
    expect(await outcome(gateway, 'fast')).toEqual([200, 'mock', 'slow']);
    expect((await gateway.records()).at(-1)).toMatchObject({ askedModel: 'fast', model: 'slow' });
  });

  test('a limit', async () => {
    const gateway = await startGateway();
    gateway.configure({ 'limits.max_body_bytes': 1024 });
    expect((await gateway.post({ ...PLAIN, x: 'x'.repeat(1024) })).status).toBe(413);
    gateway.configure({});
    expect((await gateway.post({ ...PLAIN, x: 'x'.repeat(1024) })).status).toBe(200);
  });

  test('the last of many changes during running requests', async () => {
    const gateway = await startGateway();
    for (let i = 0; i < 20; i++) {
      const running = Array.from({ length: 5 }, () => gateway.post(PLAIN));
      gateway.configure({ aliases: { [`alias-${i}`]: 'mock/a' } });
      bumpConfigurationEpoch(gateway.db);
      expect((await outcome(gateway, `alias-${i}`))[0]).toBe(200);
      if (i > 0) expect((await outcome(gateway, `alias-${i - 1}`))[0]).toBe(404);
      await Promise.all(running);
    }
  });
});

describe('an error', () => {
  test('in a provider is logged, and the other providers work', async () => {
    const gateway = await startGateway();
    gateway.configure({ providers: { broken: {}, 'no-url': { baseUrl: 'ftp://x' } } });
    expect((await outcome(gateway, 'mock/test-model'))[0]).toBe(200);
    const warned = gateway.logged.filter(({ level }) => level === 40).map(({ msg }) => String(msg));
    expect(warned.join('\n')).toMatch(/provider broken[\s\S]*provider no-url/);
  });

  test('in the settings file is logged, and the settings stay as they were', async () => {
    const gateway = await startGateway();
    gateway.configure({ 'admission.max_wait_ms': -1, aliases: { fast: 'mock/test-model' } });
    expect((await outcome(gateway, 'mock/test-model'))[0]).toBe(200);
    expect((await outcome(gateway, 'fast'))[0]).toBe(404);
    const warned = gateway.logged.filter(({ level }) => level === 40).map(({ msg }) => String(msg));
    expect(warned.join('\n')).toMatch(/admission\.max_wait_ms[\s\S]*gw keeps the settings that it had/);
  });

  test.each([
    ['invalid JSON', '{"mock": '],
    ['a list', '[]'],
    ['null', 'null'],
  ])(
    'in the credentials file (%s) affects only requests that need credentials, until it is fixed',
    async (_name, content) => {
      const gateway = await startGateway();
      expect((await outcome(gateway, 'mock/test-model'))[0]).toBe(200);
      writeFileSync(gateway.paths.credentials, content);
      bumpConfigurationEpoch(gateway.db);
      expect((await outcome(gateway, 'sandbox/echo'))[0]).toBe(200);
      expect((await outcome(gateway, 'sandbox/echo'))[0]).toBe(200);
      writeFileSync(gateway.paths.credentials, '{"mock":"again"}');
      bumpConfigurationEpoch(gateway.db);
      expect((await outcome(gateway, 'mock/test-model'))[0]).toBe(200);
      const { head } = gateway.upstream.requests.at(-1) ?? { head: undefined };
      expect(head?.headers.find(([name]) => name.toLowerCase() === 'authorization')?.[1]).toBe(
        'Bearer again',
      );
    },
  );
});

describe('a model name', () => {
  test('is looked up in the lists of all providers, which are fetched again only when they are old', async () => {
    const gateway = await startGateway();
    const other = await startUpstream({ models: modelList(['other-model']) });
    gateway.configure({ providers: { second: { baseUrl: other.url } } });
    expect(await outcome(gateway, 'other-model')).toEqual([200, 'second', 'other-model']);
    expect(await outcome(gateway, 'test-model')).toEqual(OK);
    expect((await outcome(gateway, 'none'))[0]).toBe(404);
    expect([gateway.upstream.modelRequests.length, other.modelRequests.length]).toEqual([1, 1]);
    await other.close();
  });

  test('with a slash but no provider before it is a name like any other', async () => {
    const gateway = await startGateway();
    gateway.upstream.models(modelList(['meta-llama/Llama-3']));
    expect(await outcome(gateway, 'meta-llama/Llama-3')).toEqual([200, 'mock', 'meta-llama/Llama-3']);
    expect(await outcome(gateway, 'mock/meta-llama/Llama-3')).toEqual([200, 'mock', 'meta-llama/Llama-3']);
  });

  test('that matches a provider of the environment goes there', async () => {
    const gateway = await startGateway({ env: { MISTRAL_API_KEY: 'env-key' } });
    gateway.configure({ providers: { mistral: { baseUrl: gateway.upstream.url } } });
    expect(await outcome(gateway, 'mistral-small-latest')).toEqual([200, 'mistral', 'mistral-small-latest']);
    const headers = gateway.upstream.requests[0]?.head.headers ?? [];
    expect(headers).toContainEqual(['authorization', 'Bearer env-key']);
  });

  test("is not sent with gw's own key, which a shell may have as OPENAI_API_KEY", async () => {
    const gateway = await startGateway({ env: { OPENAI_API_KEY: 'sk-gw-own' } });
    const answered = await gateway.post({ ...PLAIN, model: 'gpt-4o' });
    expect(answered.status).toBe(404);
  });

  test('is unknown while a provider does not answer, and the error says so', async () => {
    const gateway = await startGateway();
    gateway.upstream.models(status(503));
    const answered = await gateway.post({ ...PLAIN, model: 'whatever' });
    expect(answered.status).toBe(404);
    expect(answered.text()).toContain('mock (no list: HTTP 503)');
    const models = (await gateway.get('/v1/models')).json() as { errors: unknown };
    expect(models.errors).toEqual([{ provider: 'mock', error: 'HTTP 503' }]);
  });
});
