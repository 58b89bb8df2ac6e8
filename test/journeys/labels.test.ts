import { expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import type { RawResponse } from '../support/client.ts';
import { PLAIN, startGateway } from '../support/gateway.ts';

/** A request that costs $0.10: one output token. */
const TEN_CENTS = { ...PLAIN, max_tokens: 1 };

const rowsOf = (answer: RawResponse) =>
  (answer.json() as { data: Record<string, unknown>[] }).data.map(({ label, cost_usd }) => [label, cost_usd]);

test('requests are recorded, grouped and found by labels of the header and of the body', async () => {
  const gateway = await startGateway({ price: { input: 0, output: 100_000 } });
  gateway.upstream.script(completion({ usage: usageOf(5, 1) }));
  const labelled = (text: string) => ({ headers: { 'x-service-labels': text } });
  const first = await gateway.post(TEN_CENTS, labelled('customer=acme,feature=search'));
  await gateway.post({ ...TEN_CENTS, service: { labels: { customer: 'acme' } } }, labelled('customer=mega'));
  await gateway.post(TEN_CENTS, labelled('customer=mega'));
  await gateway.post(TEN_CENTS);
  // Neither the header nor the field leaves the machine.
  for (const { head, body } of gateway.upstream.requests) {
    expect(JSON.stringify(head)).not.toContain('x-service-labels');
    expect(String(body)).not.toContain('labels');
  }
  const read = (path: string) => gateway.get(path, { authorization: `Bearer ${gateway.adminKey}` });
  expect(rowsOf(await read('/v1/gw/usage?group_by=label:customer'))).toEqual([
    ['acme', 0.2],
    ['mega', 0.1],
    ['unknown', 0.1],
  ]);
  expect(rowsOf(await read('/v1/gw/usage?group_by=label:feature,model&label=customer=acme'))).toEqual([
    ['search', 0.1],
    ['unknown', 0.1],
  ]);
  const found = (await read('/v1/gw/requests?label=customer%3Dacme,feature%3Dsearch')).json() as {
    data: { id: string; labels: unknown }[];
  };
  expect(found.data.map(({ id, labels }) => [id, labels])).toEqual([
    [first.header('x-service-request-id'), { customer: 'acme', feature: 'search' }],
  ]);
});

test('labels that gw cannot count are refused before anything is sent', async () => {
  const gateway = await startGateway();
  const latin1 = await gateway.post(PLAIN, { headers: { 'x-service-labels': 'customer=M\u00fcller' } });
  expect([latin1.status, latin1.json()]).toMatchObject([400, { error: { param: 'x-service-labels' } }]);
  const header = await gateway.post(PLAIN, { headers: { 'x-service-labels': 'customer' } });
  expect([header.status, header.json()]).toMatchObject([400, { error: { param: 'x-service-labels' } }]);
  const body = await gateway.post({ ...PLAIN, service: { labels: { customer: 7 } } });
  expect([body.status, body.json()]).toMatchObject([400, { error: { param: 'service.labels' } }]);
  expect(gateway.upstream.requests).toEqual([]);
  const bytes = (text: string) => Buffer.from(text).toString('latin1');
  const utf8 = await gateway.post(PLAIN, { headers: { 'x-service-labels': bytes('customer=Müller') } });
  expect(utf8.status).toBe(200);
  await gateway.settled(1);
  expect(gateway.db.prepare('SELECT labels FROM label_sets').pluck().all()).toContain(
    '{"customer":"Müller"}',
  );
});
