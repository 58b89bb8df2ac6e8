import { Option } from 'commander';
import { WEBHOOK_FORMATS, type WebhookFormat } from '../../store/webhooks/endpoints.ts';
import { EVENT_TYPES } from '../../store/webhooks/event-types.ts';
import type { TeamWebhook } from '../../team/authority.ts';
import { right } from '../../terminal/table.ts';
import { maskUrl } from '../../webhooks/format/recognise.ts';
import { newWebhookSecret } from '../../webhooks/sign.ts';
import { parseRegistration } from '../../webhooks/validate.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { printList } from '../print-list.ts';
import { type AdminOptions, addAdminOptions, noSuch, readId, withTeam } from './connection.ts';

const SEE = 'gw team webhooks';
/** Requests are a matter of their gateway, whose own webhooks report them. */
const TEAM_EVENTS = EVENT_TYPES.filter((type) => type.startsWith('budget.'));

/** Commands for the destinations of the team's events. */
export const addWebhookCommands: SetUp = (command, context) => {
  addAdminOptions(command.command('list', { isDefault: true }).description('list the webhooks')).action(
    (options) => list(context, options),
  );
  add(command, context);
  addAdminOptions(command.command('remove').description('remove a webhook'))
    .argument('<id>')
    .action(async (text, options) => {
      const id = readId(text, SEE);
      if (!(await withTeam(context, options, (admin) => admin.removeWebhook(id))))
        throw noSuch('webhook', id, SEE);
      if (options.json) sayJson(context, { id, deleted: true });
      else note(context, `Removed webhook ${id} of the team.`);
    });
};

/** Prints the secret to stdout, only this once. */
const add: SetUp = (command, context) =>
  addAdminOptions(
    command.command('add').description('send the events to a URL; its secret is shown only once'),
  )
    .argument('<to>')
    .option('--events <list>', 'comma-separated events (default: all of budgets)')
    .addOption(new Option('--format <format>', 'payload format').choices(WEBHOOK_FORMATS))
    .action(async (to, options) => {
      const events = options.events?.split(',').map((type) => type.trim()) ?? TEAM_EVENTS;
      const other = events.find((type) => !(TEAM_EVENTS as string[]).includes(type));
      if (other !== undefined)
        throw usageError(`"${other}" is no event of a team. Its events are: ${TEAM_EVENTS.join(', ')}`);
      // Which addresses are allowed depends on the courier's machine, which checks them with each delivery.
      const webhook = parseRegistration(
        { url: to, events, ...(options.format === undefined ? {} : { format: options.format }) },
        { allowLocal: true, ownPort: 0 },
      );
      const { url, format } = webhook;
      const secret = newWebhookSecret();
      const { id, courier } = await withTeam(context, options, async (admin) => ({
        id: await admin.addWebhook({ ...webhook, secret }),
        ...(await admin.status()),
      }));
      if (options.json) sayJson(context, { id, url, format, events: webhook.events, secret });
      else say(context, secret);
      note(
        context,
        `Added webhook ${id} (${format}) of the team: ${maskUrl(url, format)}. Its secret is shown only once.`,
      );
      noteCourier(context, courier);
    });

async function list(context: Context, options: AdminOptions): Promise<void> {
  const { webhooks, courier } = await withTeam(context, options, async (admin) => ({
    webhooks: await admin.webhooks(),
    ...(await admin.status()),
  }));
  printList(
    context,
    webhooks,
    [
      right('id', ({ id }) => String(id)),
      { header: 'url', value: ({ url, format }) => maskUrl(url, format as WebhookFormat), shrinks: true },
      { header: 'format', value: ({ format }) => format },
      {
        header: 'events',
        value: ({ events }) => (events.length === TEAM_EVENTS.length ? 'all' : events.join(', ')),
        shrinks: true,
      },
      right('waiting', ({ pendingDeliveries }) => String(pendingDeliveries)),
      right('failed', ({ failedDeliveries }) => String(failedDeliveries)),
      { header: '', value: ({ lastError }) => lastError ?? '', wraps: true },
    ],
    {
      json: options.json,
      data: webhooks.map(webhookView),
      empty: 'The team has no webhooks. To add one: gw team webhooks add URL',
    },
  );
  if (!options.json && webhooks.length > 0) noteCourier(context, courier);
}

function noteCourier(context: Context, courier: string | null): void {
  note(
    context,
    courier === null
      ? "No gateway delivers the team's events. On one that may: gw team join --courier"
      : `Gateway "${courier}" delivers the team's events.`,
  );
}

function webhookView({
  url,
  format,
  lastError,
  createdAt,
  deliveredAt,
  failedDeliveries,
  pendingDeliveries,
  ...webhook
}: TeamWebhook) {
  return {
    ...webhook,
    url: maskUrl(url, format as WebhookFormat),
    format,
    created_at: new Date(createdAt).toISOString(),
    delivered_at: deliveredAt === null ? null : new Date(deliveredAt).toISOString(),
    failed_deliveries: failedDeliveries,
    pending_deliveries: pendingDeliveries,
    last_error: lastError,
  };
}
