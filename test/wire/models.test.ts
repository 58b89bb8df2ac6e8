import { expect, test } from 'vitest';
import { modelList } from '../support/scripts.ts';
import { startUpstream } from '../support/upstream.ts';
import { CLAUDE, startBothWires } from './support/anthropic-gateway.ts';

async function startWithModels() {
  return startBothWires({ upstream: await startUpstream({ models: modelList([CLAUDE, 'nobody-knows']) }) });
}

test('models say what they take in, write and cost, as far as is known', async () => {
  const gateway = await startWithModels();
  const { data } = (await gateway.get('/v1/models')).json() as { data: { id: string }[] };
  expect(data.find(({ id }) => id === `anthropic/${CLAUDE}`)).toMatchObject({
    object: 'model',
    owned_by: 'anthropic',
    max_output_tokens: 64_000,
    pricing: { input: 3, cached_input: 0.3, output: 15 },
  });
  expect((await gateway.get('/v1/models/mock/nobody-knows')).json()).toMatchObject({
    pricing: null,
    context_window: null,
  });
  await gateway.stop();
  await gateway.upstream.close();
});

test("Anthropic's clients get a page as they read it", async () => {
  const gateway = await startWithModels();
  const headers = { 'anthropic-version': '2023-06-01' };
  const page = (await gateway.get('/v1/models', headers)).json() as { data: { id: string }[] };
  expect(page).toMatchObject({ has_more: false, first_id: page.data[0]?.id, last_id: page.data.at(-1)?.id });
  expect(page.data[0]).toMatchObject({
    type: 'model',
    display_name: expect.any(String),
    created_at: expect.any(String),
  });
  expect((await gateway.get(`/v1/models/${CLAUDE}`, headers)).json()).toMatchObject({ type: 'model' });
  await gateway.stop();
  await gateway.upstream.close();
});
