import { describe, expect, test } from 'vitest';
import { request } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';

/** Puts a body to a gateway of its own. */
async function put(body: string) {
  const gateway = await startGateway();
  const headers = { authorization: `Bearer ${gateway.adminKey}`, 'content-type': 'application/json' };
  const answer = await request(`${gateway.url}/budgets`, { method: 'PUT', headers, body });
  return { status: answer.status, body: answer.json() };
}

describe('PUT /v1/budgets', () => {
  test.each([
    ['0.0000001', 1e-7],
    ['1e-9', 1e-9],
    ['"0.000000001"', 1e-9],
    ['0.1', 0.1],
    ['1e6', 1_000_000],
  ])('takes a cap of %s', async (cap, cap_usd) => {
    expect(await put(`{"cap_usd":${cap}}`)).toMatchObject({ status: 200, body: { cap_usd } });
  });

  test.each(['1e-10', '0.30000000000000004', '-1e-9', '1e7', '"1e-7"', 'true', 'null'])(
    'refuses a cap of %s by its name',
    async (cap) => {
      expect(await put(`{"cap_usd":${cap}}`)).toMatchObject({
        status: 400,
        body: { error: { param: 'cap_usd', message: expect.stringMatching(/amount/) } },
      });
    },
  );

  test('refuses a body that no setting makes room for, without naming one', async () => {
    const { status, body } = await put(`{"cap_usd":"${'0'.repeat(70_000)}"}`);
    expect([status, body]).toMatchObject([
      413,
      { error: { message: 'the body is larger than 65536 bytes' } },
    ]);
  });

  test.each([
    ['{}', 'cap_usd', /dollars/],
    ['[]', null, /JSON object/],
    ['{"cap_usd":5,"alert":80}', 'alert', /alert_percent/],
    ['{"cap_usd":5,"period":"weekly"}', 'period', /daily/],
    ['{"cap_usd":5,"period":"rolling"}', 'window_seconds', /window/],
    ['{"cap_usd":5,"period":"daily","window_seconds":3600}', 'window_seconds', /rolling/],
  ])('says of %s what is wrong with it', async (body, param, message) => {
    expect(await put(body)).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', param, message: expect.stringMatching(message) } },
    });
  });
});
