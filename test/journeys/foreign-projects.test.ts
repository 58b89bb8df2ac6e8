import { expect, test } from 'vitest';
import { EARLIER_ROUTES, GW_ROUTES } from '../../src/operations/registry.ts';
import { request } from '../support/client.ts';
import { PLAIN, startGateway } from '../support/gateway.ts';

/** They name no project and no budget, or only an id, which is a 404 in either case. */
const NAMELESS = [
  'GET /v1/requests/{id}',
  'POST /v1/requests/{id}/feedback',
  'GET /v1/webhooks/{id}',
  'PATCH /v1/webhooks/{id}',
  'DELETE /v1/webhooks/{id}',
  'POST /v1/webhooks/{id}/test',
  'POST /v1/webhooks/{id}/rotate',
  'POST /v1/deliveries/{id}/replay',
];
const COMPLETIONS = ['POST /v1/chat/completions', 'POST /v1/audio/speech'];

test('a project key learns of no other project: each route refuses one that exists as one that does not', async () => {
  const gateway = await startGateway();
  const other = await gateway.newProject('zebra');
  await gateway.setBudget({ period: 'daily', capUsd: 1 }, other);

  const ask = async (route: string, project: string) => {
    const [method = '', path = ''] = route.split(' ');
    const named = path.replace('{project}', project).replace('{period}', 'daily').replace('{id}', '1');
    const budget_id = `${project}/daily`;
    const isCompletion = COMPLETIONS.includes(route);
    const body = isCompletion
      ? { ...PLAIN, service: { budget_id } }
      : route === 'POST /v1/webhooks'
        ? { project_id: project, url: 'https://example.com/hook' }
        : { project_id: project, budget_id };
    const answer = await request(gateway.origin, {
      method,
      path: isCompletion ? named : `${named}?project_id=${project}`,
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      ...(method === 'GET' || method === 'DELETE' ? {} : { body }),
    });
    const { error } = answer.json() as { error?: { code: string; message: string } };
    return { status: answer.status, code: error?.code, message: error?.message.replaceAll(project, 'NAME') };
  };

  const routes = [...GW_ROUTES, ...EARLIER_ROUTES, ...COMPLETIONS];
  for (const route of routes) {
    const refusal = await ask(route, 'zebra');
    expect([route, refusal]).toEqual([route, await ask(route, 'nope')]);
    if (NAMELESS.includes(route)) expect([route, refusal.code]).not.toEqual([route, 'budget_forbidden']);
    else expect([route, refusal]).toMatchObject([route, { status: 403, code: 'budget_forbidden' }]);
  }
});
