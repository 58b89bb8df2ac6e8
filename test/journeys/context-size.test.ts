import { expect, test } from 'vitest';
import { createKey } from '../../src/store/accounts/keys.ts';
import { startGateway } from '../support/gateway.ts';
import { json } from '../support/scripts.ts';
import { sentBody } from '../wire/support/send.ts';

const usage = { input_tokens: 20, output_tokens: 5 };

test.each([
  ['anthropic/claude-opus-4-8[1m]', {}],
  ['anthropic/claude-opus-4-8[1M]', {}],
  ['opus[1m]', { aliases: { opus: 'anthropic/claude-opus-4-8' } }],
  ['opus[1m]', { aliases: { 'opus[1m]': 'anthropic/claude-opus-4-8' } }],
])("Claude Code's model %s is its model without the suffix", async (model, settings) => {
  const gateway = await startGateway();
  gateway.configure({
    providers: { anthropic: { baseUrl: gateway.upstream.url, wire: 'anthropic' } },
    ...settings,
  });
  const options = { projectId: gateway.project.id, models: ['claude-opus-4-8', 'opus'], now: Date.now() };
  const { key } = await createKey(gateway.db, options);
  gateway.upstream.queue(json(200, { type: 'message', model: 'claude-opus-4-8', content: [], usage }));
  const body = { model, max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await gateway.post(body, {
    path: '/v1/messages',
    headers: { authorization: `Bearer ${key}` },
  });
  expect(answer.status).toBe(200);
  expect(sentBody(gateway).model).toBe('claude-opus-4-8');
  expect((await gateway.settled(1))[0]).toMatchObject({ model: 'claude-opus-4-8', flags: [] });
});
