import type { Calendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { badRequest, GwError, notFound } from '../errors.ts';
import { newId, type Random, systemRandom } from '../ids.ts';
import { mustBeOwn, type ProjectAccess } from '../own-project.ts';
import { getProject, type Project } from '../store/accounts/projects.ts';
import type { Db } from '../store/database/open.ts';
import {
  type DeliveryFilter,
  type DeliveryState,
  getDelivery,
  listDeliveries,
  replayDelivery,
  replayFailed,
} from '../store/webhooks/delivery-log.ts';
import { createEndpoints, type Endpoint, type Write } from '../store/webhooks/endpoints.ts';
import type { EventType } from '../store/webhooks/event-types.ts';
import type { AddressPolicy } from './address-check.ts';
import { buildPost, type Outgoing } from './request.ts';
import type { Send } from './send.ts';
import { newWebhookSecret, ROTATION_MS } from './sign.ts';
import { parseId, viewDelivery, viewEndpoint } from './views.ts';

export interface DeliveryQuery {
  project?: string | undefined;
  webhook?: string | undefined;
  status?: DeliveryState | undefined;
  /** UTC milliseconds. */
  since?: number | undefined;
  limit?: number | undefined;
}

/** Webhook operations behind the HTTP routes and the CLI. They throw GwError 400, 403 or 404. */
export type WebhookService = ReturnType<typeof createWebhookService>;

export type TestView = Awaited<ReturnType<WebhookService['test']>>;

export interface WebhookServiceOptions {
  db: Db;
  write: Write;
  clock: Clock;
  calendar: () => Calendar;
  send: Send;
  policy: () => AddressPolicy;
  random?: Random;
  /** Called when a delivery may be due: the dispatcher's `wake`, if one is running. */
  wake?: () => void;
}

/** Loaded on first use: zod and the schemas take 8 MB. */
const validation = () => import('./validate.ts');

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one method an endpoint, over the same store
export function createWebhookService(options: WebhookServiceOptions) {
  const { db, write, clock, calendar, send, policy, random = systemRandom, wake = () => undefined } = options;
  const endpoints = createEndpoints(db, write);

  async function find(caller: WebhookCaller, id: string): Promise<Endpoint> {
    const number = parseId(id, 'wh');
    const endpoint = number === undefined ? undefined : await endpoints.get(number);
    if (!endpoint || !maySee(caller, endpoint.projectId))
      throw notFound(`no webhook "${id}". See: gw webhooks list`, 'webhook_not_found', 'id');
    return endpoint;
  }

  async function filterOf(caller: WebhookCaller, query: DeliveryQuery): Promise<DeliveryFilter> {
    const { project, webhook, status, since, limit } = query;
    const projectId = await projectScope(db, caller, project);
    const endpointId = webhook === undefined ? undefined : (await find(caller, webhook)).id;
    return { projectId, endpointId, state: status, since, limit };
  }

  const view = (endpoint: Endpoint) => viewEndpoint(endpoint, clock.now());
  const show = async (caller: WebhookCaller, id: string) => view(await find(caller, id));

  return {
    /** Returns the webhook with its secret, which is shown only here. */
    async register(caller: WebhookCaller, input: unknown) {
      const { parseRegistration } = await validation();
      const { project: name, ...registration } = parseRegistration(input, policy());
      const project = await targetProject(db, caller, name);
      requirePlan(project);
      const secret = newWebhookSecret(random);
      const id = await endpoints.create({ ...registration, projectId: project.id, secret, now: clock.now() });
      return { ...(await show(caller, String(id))), secret };
    },
    async list(caller: WebhookCaller, project?: string) {
      const all = await endpoints.list(await projectScope(db, caller, project));
      return all.map(view);
    },
    get: show,
    async update(caller: WebhookCaller, id: string, input: unknown) {
      const { parseChange } = await validation();
      const endpoint = await find(caller, id);
      const { enabled, ...changes } = parseChange(input, policy(), endpoint.format);
      if (Object.keys(changes).length > 0) await endpoints.update(endpoint.id, changes);
      if (enabled === true) await endpoints.enable(endpoint.id);
      if (enabled === false) await endpoints.disable(endpoint.id, 'disabled by hand', clock.now());
      wake();
      return show(caller, id);
    },
    async remove(caller: WebhookCaller, id: string): Promise<void> {
      const endpoint = await find(caller, id);
      await endpoints.remove(endpoint.id);
    },
    /** Replaces a webhook's secret. For 24 hours deliveries are signed with both secrets. */
    async rotate(caller: WebhookCaller, id: string) {
      const endpoint = await find(caller, id);
      const secret = newWebhookSecret(random);
      await endpoints.rotate(endpoint.id, secret, clock.now() + ROTATION_MS);
      return { ...(await show(caller, id)), secret };
    },
    /** Sends a sample event once and immediately, bypassing the outbox. */
    async test(caller: WebhookCaller, id: string) {
      const endpoint = await find(caller, id);
      requirePlan({ name: endpoint.project, plan: endpoint.plan });
      const outgoing = sampleOutgoing(endpoint, clock, random);
      const result = await send(buildPost(outgoing, { calendar: calendar(), now: clock.now() }));
      return {
        delivered: result.ok,
        event_id: outgoing.eventId,
        event_type: outgoing.type,
        response_status: result.status,
        response_body: result.response,
        error: result.error,
        duration_ms: result.durationMs,
      };
    },
    async deliveries(caller: WebhookCaller, query: DeliveryQuery = {}) {
      return (await listDeliveries(db, await filterOf(caller, query))).map(viewDelivery);
    },
    /** Resends a finished delivery. */
    async replay(caller: WebhookCaller, id: string) {
      const number = parseId(id, 'dlv');
      const delivery = number === undefined ? undefined : await getDelivery(db, number);
      if (!delivery || !maySee(caller, delivery.projectId))
        throw notFound(`no delivery "${id}". See: gw webhooks deliveries`, 'delivery_not_found', 'id');
      await requireEnabled(delivery.endpointId);
      const newId = await replayDelivery(db, write, delivery.id, clock.now());
      const replayed = newId === undefined ? undefined : await getDelivery(db, newId);
      if (!replayed)
        throw badRequest(`delivery ${id} is still on its way: nothing to replay yet`, 'id', 'delivery_open');
      wake();
      return viewDelivery(replayed);
    },
    /** Resends failed deliveries that haven't been replayed. Returns their number. */
    async replayFailed(caller: WebhookCaller, query: Omit<DeliveryQuery, 'status' | 'limit'> = {}) {
      const replayed = await replayFailed(db, write, await filterOf(caller, query), clock.now());
      wake();
      return replayed.length;
    },
  };

  async function requireEnabled(id: number): Promise<void> {
    const endpoint = await endpoints.get(id);
    if (!endpoint || endpoint.disabledAt === null) return;
    throw badRequest(
      `webhook wh_${id} is disabled (${endpoint.disabledReason}). Enable it first: gw webhooks enable wh_${id}`,
      'id',
      'webhook_disabled',
    );
  }
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** A sample event of a type that the endpoint subscribes to. `data.test` marks it as a test. */
function sampleOutgoing(endpoint: Endpoint, clock: Clock, random: Random): Outgoing {
  const [type = 'budget.threshold_reached'] = endpoint.events;
  const { url, format, secret, oldSecret, oldSecretUntil, project } = endpoint;
  const eventAt = clock.now();
  const data = JSON.stringify({ test: true, ...sampleData(type, project, eventAt) });
  const eventId = newId('evt', random);
  return { url, format, secret, oldSecret, oldSecretUntil, project, eventId, type, eventAt, data };
}

function sampleData(type: EventType, project: string, now: number): Record<string, unknown> {
  const budget = { budget_id: `${project}/daily`, period: 'daily', cap_usd: 1 };
  const resets = { resets_at: new Date(now + 8 * HOUR_MS).toISOString() };
  switch (type) {
    case 'budget.threshold_reached':
      return { ...budget, spent_usd: 0.8, held_usd: 0, alert_percent: 80, ...resets };
    case 'budget.exceeded':
      return { ...budget, spent_usd: 1, held_usd: 0, alert_percent: 80, ...resets };
    case 'budget.reset':
      return { ...budget, period_start: new Date(now).toISOString(), skipped: 0, spent_usd: 1, ...resets };
    case 'request.blocked':
      return {
        ...budget,
        request_id: 'req_00000000000',
        model: 'gpt-4.1-mini',
        estimated_cost_usd: 0.01,
        remaining_usd: 0,
        spent_usd: 1,
      };
    case 'request.approval_requested':
      return {
        ...budget,
        ask_id: 'ask_00000000000',
        request_id: 'req_00000000000',
        model: 'gpt-4.1-mini',
        needed_usd: 0.01,
        remaining_usd: 0,
        spent_usd: 1,
        expires_at: new Date(now + MINUTE_MS).toISOString(),
      };
  }
}

/** Caller of an operation. Without an admin key, it sees only its own project's webhooks. */
export interface WebhookCaller extends ProjectAccess {
  projectId: number;
}

const maySee = (caller: WebhookCaller, projectId: number) => caller.admin || caller.projectId === projectId;

/** Project id to filter by: the project `name`, else the caller's project; undefined (all) for an admin. */
async function projectScope(
  db: Db,
  caller: WebhookCaller,
  name: string | undefined,
): Promise<number | undefined> {
  if (name === undefined) return caller.admin ? undefined : caller.projectId;
  return (await targetProject(db, caller, name)).id;
}

/** The project `name`, by default the caller's. Throws 403 for another project without an admin key, 404 if unknown. */
async function targetProject(db: Db, caller: WebhookCaller, name = caller.project): Promise<Project> {
  mustBeOwn(caller, name, 'project_id');
  return getProject(db, name);
}

/** Throws 403 `plan_required` for a plan below pro. */
function requirePlan({ name, plan }: { name: string; plan: string }): void {
  if (plan !== 'free') return;
  throw new GwError(
    `webhooks need the pro plan, and project ${name} is on ${plan}. Run: gw plan set pro -p ${name}`,
    { status: 403, type: 'permission_error', code: 'plan_required' },
  );
}
