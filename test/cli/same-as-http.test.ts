import { expect, test } from 'vitest';
import { cliHome, stopAfterwards } from './cli-home.ts';

type Fields = Record<string, unknown>;

test('--json has the same fields and values as the HTTP API', async () => {
  const cli = cliHome();
  stopAfterwards(cli);
  const json = async (...args: string[]) => {
    const { stdout, stderr } = await cli.exec([...args, '--json']);
    return stdout === '' ? stderr : (JSON.parse(stdout) as unknown);
  };
  await cli.exec(['start']);
  await cli.exec(['plan', 'set', 'pro']);
  await cli.exec(['budget', 'set', '5', '--alert', '50']);
  await cli.exec(['budget', 'set', '--max-rate', '2/hour']);
  await cli.exec(['webhooks', 'add', 'http://127.0.0.1:9/hook']);
  const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = (await json('env')) as Record<string, string>;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const get = async (path: string) => (await (await fetch(`${base}${path}`, { headers })).json()) as Fields;
  const body = '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hi"}]}';
  const answer = await fetch(`${base}/chat/completions`, { method: 'POST', headers, body });
  expect(answer.status).toBe(200);
  await answer.text();
  const id = answer.headers.get('x-service-request-id') ?? '';

  // The window of a rolling budget moves on between two requests, and with it the reset time.
  const still = (budgets: unknown) =>
    (budgets as Fields[]).map((each) => (each.period === 'rolling' ? { ...each, resets_at: 'later' } : each));
  const { data: budgets } = await get('/budgets');
  expect(budgets).toHaveLength(2);
  expect(still(await json('budget', 'list'))).toMatchObject(still(budgets));
  expect(await json('usage', '-p', 'default')).toMatchObject(await get('/usage'));
  expect(await json('requests', id)).toMatchObject(await get(`/requests/${id}`));
  expect(await json('requests')).toMatchObject([await get(`/requests/${id}`)]);
  expect(await json('webhooks', 'list')).toEqual((await get('/webhooks')).data);
  expect(await json('models')).toEqual((await get('/models')).data);
});
