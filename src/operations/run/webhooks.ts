import type { DeliveryQuery } from '../../webhooks/service.ts';
import type { Id, Input } from '../operation.ts';
import type * as described from '../schemas/webhooks.ts';
import type { Sources } from '../sources.ts';
import { parseTime } from '../times.ts';

export async function addWebhook(
  { webhooks, scope }: Sources,
  registration: Input<typeof described.addWebhook>,
) {
  return (await webhooks('changing')).register(scope, registration);
}

export async function webhooks(
  { webhooks, scope }: Sources,
  { project_id }: Input<typeof described.webhooks>,
) {
  return (await webhooks('reading')).list(scope, project_id);
}

export async function webhook({ webhooks, scope }: Sources, { id }: Id) {
  return (await webhooks('reading')).get(scope, id);
}

export async function changeWebhook(
  { webhooks, scope }: Sources,
  { id, ...change }: Id & Input<typeof described.changeWebhook>,
) {
  return (await webhooks('changing')).update(scope, id, change);
}

export async function removeWebhook({ webhooks, scope }: Sources, { id }: Id) {
  await (await webhooks('reading')).remove(scope, id);
  return { object: 'webhook.deleted', id, deleted: true };
}

export async function testWebhook({ webhooks, scope }: Sources, { id }: Id) {
  return (await webhooks('changing')).test(scope, id);
}

export async function rotateWebhook({ webhooks, scope }: Sources, { id }: Id) {
  return (await webhooks('reading')).rotate(scope, id);
}

export async function deliveries(
  { webhooks, scope }: Sources,
  { status, limit, ...filter }: Input<typeof described.deliveries>,
) {
  return (await webhooks('reading')).deliveries(scope, { ...filterOf(filter), status, limit });
}

export async function replayFailed(
  { webhooks, scope }: Sources,
  filter: Input<typeof described.replayFailed>,
) {
  return { replayed: await (await webhooks('reading')).replayFailed(scope, filterOf(filter)) };
}

export async function replayDelivery({ webhooks, scope }: Sources, { id }: Id) {
  return (await webhooks('reading')).replay(scope, id);
}

function filterOf({ project_id, webhook_id, since }: Input<typeof described.replayFailed>): DeliveryQuery {
  return { project: project_id, webhook: webhook_id, since: parseTime(since) };
}
