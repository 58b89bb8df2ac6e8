import { createCalendar } from '../../calendar.ts';
import { findProject } from '../../store/accounts/find-project.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import type { Db } from '../../store/database/open.ts';
import { inTransaction } from '../../store/database/write.ts';
import { type AddressPolicy, addressPolicy } from '../../webhooks/address-check.ts';
import { createSend } from '../../webhooks/send.ts';
import { createWebhookService, type WebhookCaller, type WebhookService } from '../../webhooks/service.ts';
import type { Context } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** The operations on webhooks, and in whose name the command line asks for them: an admin's. */
export interface Webhooks {
  service: WebhookService;
  caller: WebhookCaller;
}

/**
 * Works on the webhooks in the database itself, whether gw runs or not: a daemon looks for what is due every second.
 * `policy` is for what connects, or says where to.
 */
export function withWebhooks<T>(
  context: Context,
  work: (webhooks: Webhooks) => Promise<T>,
  policy?: AddressPolicy,
): Promise<T> {
  const { settings } = readSettings(context);
  const allowed = policy ?? addressPolicy(settings);
  return withStore(context, (db) =>
    work({ service: serviceOn(db, context, settings.timezone, allowed), caller: adminOf(db) }),
  );
}

/** What webhooks may connect to; gw's own port is the one that it listens on now. */
export async function policyInForce(context: Context): Promise<AddressPolicy> {
  const state = await findDaemon(context);
  const { host, port } = readSettings(context).settings;
  return addressPolicy({ host, port: state.kind === 'running' ? state.daemon.port : port });
}

function serviceOn(db: Db, { clock }: Context, timezone: string, policy: AddressPolicy): WebhookService {
  const calendar = createCalendar(timezone);
  return createWebhookService({
    db,
    write: async (command) => inTransaction(db, command),
    clock,
    calendar: () => calendar,
    send: createSend({ policy: () => policy, clock }),
    policy: () => policy,
  });
}

function adminOf(db: Db): WebhookCaller {
  return { project: DEFAULT_PROJECT, projectId: findProject(db, DEFAULT_PROJECT), admin: true };
}
