import { describe, expect, onTestFinished, test } from 'vitest';
import { request } from '../support/client.ts';
import { json } from '../support/scripts.ts';
import { closeAll, severalTargets } from '../support/several-targets.ts';

async function start() {
  const settings = { tiers: { 'm-a': 'strong: a/m-a; fast: b/m-b; share=50%' } };
  const several = await severalTargets({ count: 2, settings });
  onTestFinished(() => closeAll(several));
  const { gateway } = several;
  const ask = async (content: string, fields: object = {}) => {
    const answer = await gateway.post({ model: 'm-a', messages: [{ role: 'user', content }], ...fields });
    return answer.header('x-service-request-id') ?? '';
  };
  const tell = (id: string, body: unknown, key = gateway.key) =>
    request(gateway.origin, {
      path: `/v1/requests/${id}/feedback`,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
  return { ...several, ask, tell };
}

describe('POST /v1/requests/{id}/feedback', () => {
  test('is kept in the record, the last one said', async () => {
    const { gateway, ask, tell } = await start();
    const id = await ask('Why?');
    const answer = { object: 'feedback', request_id: id, learnt: false, because: 'no_learner' };
    const first = await tell(id, { good: false });
    expect([first.status, first.json()]).toEqual([200, { ...answer, score: 0 }]);
    expect((await tell(id, { score: 0.7 })).json()).toEqual({ ...answer, score: 0.7 });
    const [record] = await gateway.settled(1);
    expect(record?.detail).toMatchObject({ feedback: 0.7, tier: { chosen: 'strong' } });
  });

  test('on a request without tiers is kept', async () => {
    const { gateway, ask, tell } = await start();
    const id = await ask('Why?', { model: 'many' });
    expect((await tell(id, { score: 1 })).status).toBe(200);
    expect((await gateway.settled(1))[0]?.detail).toEqual({ feedback: 1, need: expect.anything() });
  });

  test('on a request without an answer is kept', async () => {
    const { gateway, upstreams, ask, tell } = await start();
    upstreams[0]?.script(json(400, { error: { message: 'no', type: 'invalid_request_error' } }));
    const id = await ask('Why?');
    expect((await tell(id, { score: 0 })).status).toBe(200);
    expect((await gateway.settled(1))[0]?.detail).toMatchObject({ feedback: 0 });
  });

  test('is accepted for the project’s own requests only', async () => {
    const { gateway, ask, tell } = await start();
    const id = await ask('Why?');
    await gateway.newProject('other');
    const foreign = await tell(id, { good: true }, await gateway.newKey('other'));
    expect(foreign.status).toBe(404);
    expect((await tell('req_nobody', { good: true })).status).toBe(404);
    expect((await tell(id, { good: true }, 'sk-gw-wrong')).status).toBe(401);
    expect((await gateway.settled(1))[0]?.detail).not.toHaveProperty('feedback');
  });

  test.each([
    {},
    { score: 2 },
    { score: -0.1 },
    { score: '1' },
    { good: 1 },
    { good: true, score: 1 },
    [],
    null,
    'x',
    { rating: 5 },
  ])('refuses %j', async (body) => {
    const { ask, tell } = await start();
    expect((await tell(await ask('Why?'), body)).status).toBe(400);
  });
});
