import { existsSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { learnerPath } from '../../src/tiering/learner/learner-file.ts';
import { completion } from '../support/chat-scripts.ts';
import { request } from '../support/client.ts';
import { until } from '../support/gateway.ts';
import { json, respond } from '../support/scripts.ts';
import { closeAll, severalTargets } from '../support/several-targets.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

async function start() {
  const clock = createVirtualClock();
  const settings = { tiers: { 'm-a': 'strong: a/m-a; fast: b/m-b; share=50%' } };
  const several = await severalTargets({ clock, count: 2, settings });
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
  const file = learnerPath(gateway.paths.home, gateway.project.name);
  /** The learner is saved within a minute. */
  const learnt = () =>
    until(async () => {
      await clock.advance(60_000);
      return existsSync(file);
    });
  return { ...several, clock, ask, tell, file, learnt };
}

describe('POST /v1/requests/{id}/feedback', () => {
  test('is kept in the record, and teaches the project', async () => {
    const { gateway, ask, tell, learnt } = await start();
    const id = await ask('Why?');
    const told = await tell(id, { good: false });
    expect([told.status, told.json()]).toEqual([
      200,
      { object: 'feedback', request_id: id, score: 0, learnt: true },
    ]);
    expect((await tell(id, { score: 0.7 })).json()).toEqual({
      object: 'feedback',
      request_id: id,
      score: 0.7,
      learnt: false,
      because: 'said_before',
    });
    const [record] = await gateway.settled(1);
    expect(record?.detail).toMatchObject({ feedback: 0.7, tier: { chosen: 'strong' } });
    await learnt();
  });

  test('on a request without tiers is kept, and teaches nothing', async () => {
    const { gateway, ask, tell } = await start();
    const id = await ask('Why?', { model: 'many' });
    expect((await tell(id, { score: 1 })).json()).toMatchObject({ learnt: false, because: 'no_tiers' });
    expect((await gateway.settled(1))[0]?.detail).toEqual({ feedback: 1, need: expect.anything() });
  });

  test('on a request without an answer is kept, and teaches nothing', async () => {
    const { upstreams, ask, tell } = await start();
    upstreams[0]?.script(json(400, { error: { message: 'no', type: 'invalid_request_error' } }));
    const id = await ask('Why?');
    expect((await tell(id, { score: 0 })).json()).toMatchObject({ learnt: false, because: 'no_answer' });
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

const streamed = (choice: object) => `data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`;

test.each<[string, string[], object]>([
  ['a question asked again', ['Why?', 'Why?'], {}],
  ['an answer that refuses', ['Refuse!'], {}],
  ['a stream that refuses', ['Refuse!'], { stream: true }],
])('%s teaches too', async (_name, questions, fields) => {
  const { upstreams, ask, file, learnt } = await start();
  const message = { role: 'assistant', refusal: 'No.' };
  const choice = { index: 0, finish_reason: 'stop' };
  const refusal =
    'stream' in fields
      ? respond(200, { 'content-type': 'text/event-stream' }, streamed({ ...choice, delta: message }))
      : json(200, { choices: [{ ...choice, message }] });
  upstreams[0]?.script(questions.includes('Refuse!') ? refusal : completion());
  await ask('Another question', fields);
  expect(existsSync(file)).toBe(false);
  for (const question of questions) await ask(question, fields);
  await learnt();
});
