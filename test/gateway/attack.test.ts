import { describe, expect, test } from 'vitest';
import { type GatewayOptions, PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { respond } from '../support/scripts.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BUDGET = { budget: { period: 'daily' as const, capUsd: 10 } };

function budgeted(options: GatewayOptions = {}): Promise<TestGateway> {
  return startGateway({ ...BUDGET, ...options });
}

/** The one record, once nothing is held any more. */
async function recordOf(gateway: TestGateway) {
  const [record] = await gateway.settled(1);
  if (!record) throw new Error('nothing is on record');
  return record;
}

describe('what an answer cost', () => {
  test('is counted where it is nested deeper than a stack', async () => {
    const gateway = await budgeted();
    const content = `${'['.repeat(50_000)}"Hello"${']'.repeat(50_000)}`;
    gateway.upstream.queue(respond(200, JSON_TYPE, `{"choices":[{"message":{"content":${content}}}]}`));
    expect((await gateway.post({ ...PLAIN, max_tokens: 50 })).status).toBe(200);
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 'Hello'.length, flags: ['estimated'] });
  });
});
