import { createCalendar } from '../../calendar.ts';
import type { Settings } from '../../config/settings.ts';
import type { Db } from '../../store/database/open.ts';
import { inTransaction } from '../../store/database/write.ts';
import { type AddressPolicy, addressPolicy } from '../../webhooks/address-check.ts';
import { createSend } from '../../webhooks/send.ts';
import { createWebhookService, type WebhookService } from '../../webhooks/service.ts';
import type { Context } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { networkOf, readSettings } from '../settings.ts';

/**
 * The webhook operations, directly on the database, whether or not gw runs: a daemon polls for due deliveries every
 * second. `policy` says which addresses the service connects to.
 */
export function localService(context: Context, db: Db, policy: AddressPolicy): WebhookService {
  const { clock } = context;
  const calendar = createCalendar(readSettings(context).settings.timezone);
  return createWebhookService({
    db,
    write: async (command) => inTransaction(db, command),
    clock,
    calendar: () => calendar,
    send: createSend({ policy: () => policy, network: () => networkOf(context), clock }),
    policy: () => policy,
  });
}

/** Which addresses webhooks may use. Excludes gw itself, on the port of the running daemon if there is one. */
export async function policyInForce(context: Context): Promise<AddressPolicy> {
  const state = await findDaemon(context);
  const { settings } = readSettings(context);
  return policyOf(settings, state.kind === 'running' ? state.daemon.port : settings.port);
}

export function policyOf(settings: Settings, port = settings.port): AddressPolicy {
  return addressPolicy({ host: settings.host, port, allowedHosts: settings['server.allowed_hosts'].names });
}
