import { describe, expect, onTestFinished, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { status } from '../support/scripts.ts';
import { closeAll, type SeveralOptions, severalTargets } from '../support/several-targets.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

async function start(options: SeveralOptions = {}) {
  const clock = createVirtualClock();
  const several = await severalTargets({ clock, join: ' | ', ...options });
  onTestFinished(() => closeAll(several));
  return { ...several, clock };
}

/** A turn of a conversation: the turns so far, and one more question. */
function turnOf(name: string, turn: number) {
  const before = Array.from({ length: turn }, (_, i) => [
    { role: 'user' as const, content: `${name} asks ${i}` },
    { role: 'assistant' as const, content: `answer ${i}` },
  ]).flat();
  return {
    model: 'many',
    max_tokens: 20,
    messages: [
      { role: 'system' as const, content: 'You help.' },
      ...before,
      { role: 'user' as const, content: `${name} asks ${turn}` },
    ],
  };
}

describe('a conversation with equal targets', () => {
  test('stays at its target, while conversations are spread over all targets', async () => {
    const { gateway, hits } = await start();
    const servers = new Map<string, Set<string | undefined>>();
    for (let turn = 0; turn < 6; turn++) {
      for (let i = 0; i < 20; i++) {
        const answer = await gateway.post(turnOf(`c${i}`, turn));
        const seen = servers.get(`c${i}`) ?? new Set();
        servers.set(`c${i}`, seen.add(answer.header('x-service-provider')));
      }
    }
    expect([...servers.values()].filter((seen) => seen.size !== 1)).toEqual([]);
    expect(hits().every((count) => count > 0)).toBe(true);
  });

  test.each<[string, object, Record<string, string>]>([
    ['a prompt cache key', { prompt_cache_key: 'k' }, {}],
    ['a session header', {}, { 'x-session-id': 's' }],
    ['a session header that is very long', {}, { session_id: 's'.repeat(5_000) }],
  ])('is known by %s, whatever is said in it', async (_name, fields, headers) => {
    const { gateway, hits } = await start();
    for (let i = 0; i < 20; i++) await gateway.post({ ...turnOf(`c${i}`, 0), ...fields }, { headers });
    expect(hits().filter((count) => count > 0)).toEqual([20]);
  });

  test('moves once when its target fails, and stays at the new one', async () => {
    const { gateway, upstreams, clock } = await start();
    const post = async (turn: number) => {
      const answer = await gateway.post(turnOf('c', turn));
      expect(answer.status).toBe(200);
      return answer.header('x-service-provider') ?? '';
    };
    const first = await post(0);
    expect(await post(1)).toBe(first);
    const at = ['a', 'b', 'c'].indexOf(first);
    upstreams[at]?.script(status(429, { retryAfter: '5' }));
    const second = await post(2);
    expect(second).not.toBe(first);
    upstreams[at]?.script(completion());
    await clock.advance(60_000);
    for (let turn = 3; turn < 30; turn++) expect(await post(turn)).toBe(second);
  });

  test('leaves a target with a cooldown or an open breaker', async () => {
    const { gateway, upstreams } = await start({ count: 2 });
    const first = (await gateway.post(turnOf('c', 0))).header('x-service-provider') ?? '';
    const at = ['a', 'b'].indexOf(first);
    upstreams[at]?.script(status(429, { retryAfter: '600' }));
    await gateway.post(turnOf('other', 0));
    await gateway.post(turnOf('c', 1));
    const before = upstreams[at]?.requests.length;
    for (let turn = 2; turn < 10; turn++) expect((await gateway.post(turnOf('c', turn))).status).toBe(200);
    expect(upstreams[at]?.requests.length).toBe(before);
  });

  test('is kept apart from those of other projects and models', async () => {
    const { gateway, hits } = await start({
      settings: { aliases: { many: 'a/m-a | b/m-b | c/m-c', more: 'a/m-a | b/m-b | c/m-c' } },
    });
    const keyed = (model: string) => ({ ...turnOf('c', 0), model, prompt_cache_key: 'k' });
    for (let i = 0; i < 5; i++) {
      await gateway.post(keyed('many'));
      await gateway.post(keyed('more'));
    }
    expect(hits().filter((count) => count > 0).length).toBeLessThanOrEqual(2);
  });

  test('is recognized by its beginning on the other APIs: texts, items and tool results', async () => {
    const { gateway } = await start();
    const call = { type: 'function_call', call_id: 'x', name: 'w', arguments: '{}' };
    const responses = (name: string) => {
      const question = { type: 'message', role: 'user', content: [{ type: 'input_text', text: name }] };
      const result = { type: 'function_call_output', call_id: 'x', output: 'rain' };
      return [name, [{ role: 'user', content: name }, call], [question, call, result]].map((input) => ({
        path: '/v1/responses',
        body: { model: 'many', instructions: 'Help', input },
      }));
    };
    const messages = (name: string) => {
      const use = { type: 'tool_use', id: 'x', name: 'w', input: {} };
      const result = { type: 'tool_result', tool_use_id: 'x', content: 'rain' };
      const turns = [
        { role: 'user', content: name },
        { role: 'assistant', content: [use] },
        { role: 'user', content: [result] },
      ];
      return [1, 3].map((length) => ({
        path: '/v1/messages',
        body: { model: 'many', system: 'Help', max_tokens: 9, messages: turns.slice(0, length) },
      }));
    };
    for (const conversation of ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'].flatMap((name) => [
      responses(name),
      messages(name),
    ])) {
      const served = new Set<string | undefined>();
      for (const { path, body } of conversation) {
        served.add((await gateway.post(body, { path })).header('x-service-provider'));
      }
      expect([...served]).toEqual([expect.stringMatching(/^[abc]$/)]);
    }
  });
});

test('identical requests that start a conversation are still balanced', async () => {
  const { gateway, hits } = await start();
  for (let i = 0; i < 60; i++) await gateway.post(turnOf('same', 0));
  expect(Math.min(...hits())).toBeGreaterThan(5);
});

test('a conversation returns to a target of better priority as soon as that is back', async () => {
  const { gateway, upstreams, clock } = await start({ count: 2, join: ', ' });
  upstreams[0]?.queue(status(429, { retryAfter: '5' }));
  expect((await gateway.post(turnOf('c', 0))).header('x-service-provider')).toBe('b');
  await clock.advance(6_000);
  expect((await gateway.post(turnOf('c', 1))).header('x-service-provider')).toBe('a');
});
