import { createCalendar } from '../../calendar.ts';
import type { Settings } from '../../config/settings.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { findProject } from '../../store/accounts/projects.ts';
import type { Db } from '../../store/database/open.ts';
import { inTransaction } from '../../store/database/write.ts';
import { type AddressPolicy, addressPolicy } from '../../webhooks/address-check.ts';
import { createSend } from '../../webhooks/send.ts';
import { createWebhookService, type WebhookCaller, type WebhookService } from '../../webhooks/service.ts';
import type { Context } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { remoteOf } from '../remote/connection.ts';
import { remoteWebhookService } from '../remote/webhook-service.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** The webhook operations, and the admin caller in whose name the command line runs them. */
export interface Webhooks {
  service: WebhookService;
  caller: WebhookCaller;
}

/** Stands for the owner of the key, whom the remote gw knows. */
const REMOTE_CALLER: WebhookCaller = { project: '', projectId: 0, admin: false };

/**
 * Runs webhook operations at the remote gw, else directly on the database, whether or not gw runs: a daemon polls for
 * due deliveries every second. `policy` is needed for operations that connect to an address or set one.
 */
export function withWebhooks<T>(
  context: Context,
  work: (webhooks: Webhooks) => Promise<T>,
  policy?: AddressPolicy,
): Promise<T> {
  const remote = remoteOf(context);
  if (remote) return work({ service: remoteWebhookService(remote.ask), caller: REMOTE_CALLER });
  const { settings } = readSettings(context);
  const allowed = policy ?? policyOf(settings, settings.port);
  return withStore(context, (db) =>
    work({ service: serviceOn(db, context, settings.timezone, allowed), caller: adminOf(db) }),
  );
}

/** Which addresses webhooks may use. Excludes gw itself, on the port of the running daemon if there is one. */
export async function policyInForce(context: Context): Promise<AddressPolicy> {
  const state = await findDaemon(context);
  const { settings } = readSettings(context);
  return policyOf(settings, state.kind === 'running' ? state.daemon.port : settings.port);
}

function policyOf(settings: Settings, port: number): AddressPolicy {
  return addressPolicy({ host: settings.host, port, allowedHosts: settings['server.allowed_hosts'].names });
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
