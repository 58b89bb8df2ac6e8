import { EVENT_TYPES } from '../../store/webhooks/event-types.ts';
import type { TeamWebhook } from '../../team/authority.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { newWebhookSecret } from '../../webhooks/sign.ts';
import { parseRegistration } from '../../webhooks/validate.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { type AdminOptions, noSuch, readId, withTeam } from './connection.ts';

export interface AddWebhookOptions extends AdminOptions {
  events?: string;
  format?: string;
}

const SEE = 'gw team webhooks';
/** A blocked request is a matter of its gateway, whose own webhooks report it. */
const TEAM_EVENTS = EVENT_TYPES.filter((type) => type.startsWith('budget.'));

/** Prints the secret to stdout, only this once. */
export async function addWebhook(context: Context, to: string, options: AddWebhookOptions): Promise<void> {
  const events = options.events?.split(',').map((type) => type.trim()) ?? TEAM_EVENTS;
  // Which addresses are allowed depends on the courier's machine, which checks them with each delivery.
  const webhook = parseRegistration(
    { url: to, events, ...(options.format === undefined ? {} : { format: options.format }) },
    { allowLocal: true, ownPort: 0 },
  );
  const secret = newWebhookSecret();
  const id = await withTeam(context, options, (admin) => admin.addWebhook({ ...webhook, secret }));
  if (options.json)
    sayJson(context, { id, url: webhook.url, format: webhook.format, events: webhook.events, secret });
  else say(context, secret);
  note(
    context,
    `Added webhook ${id} (${webhook.format}) of the team: ${webhook.url}. Its secret is shown only once.`,
  );
  note(context, 'A gateway delivers the events that joined with: gw team join URL --courier');
}

export async function listWebhooks(context: Context, options: AdminOptions): Promise<void> {
  const webhooks = await withTeam(context, options, (admin) => admin.webhooks());
  if (options.json) {
    sayJson(context, webhooks.map(webhookView));
    return;
  }
  if (webhooks.length === 0) {
    note(context, 'The team has no webhooks. To add one: gw team webhooks add URL');
    return;
  }
  const lines = table(
    webhooks,
    [
      { header: 'id', value: ({ id }) => String(id), align: 'right' },
      { header: 'url', value: ({ url }) => url, shrinks: true },
      { header: 'format', value: ({ format }) => format },
      { header: 'events', value: ({ events }) => events.join(', '), shrinks: true },
      { header: 'waiting', value: ({ pendingDeliveries }) => String(pendingDeliveries), align: 'right' },
      { header: 'failed', value: ({ failedDeliveries }) => String(failedDeliveries), align: 'right' },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
}

export async function removeWebhook(context: Context, text: string, options: AdminOptions): Promise<void> {
  const id = readId(text, SEE);
  if (!(await withTeam(context, options, (admin) => admin.removeWebhook(id))))
    throw noSuch('webhook', id, SEE);
  if (options.json) sayJson(context, { id, deleted: true });
  else note(context, `Removed webhook ${id} of the team.`);
}

function webhookView({
  createdAt,
  deliveredAt,
  failedDeliveries,
  pendingDeliveries,
  ...webhook
}: TeamWebhook) {
  return {
    ...webhook,
    created_at: new Date(createdAt).toISOString(),
    delivered_at: deliveredAt === null ? null : new Date(deliveredAt).toISOString(),
    failed_deliveries: failedDeliveries,
    pending_deliveries: pendingDeliveries,
  };
}
