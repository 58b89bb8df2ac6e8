import { type Command, Option } from 'commander';
import { WEBHOOK_FORMATS } from '../../store/webhooks/endpoints.ts';
import { EVENT_TYPES } from '../../store/webhooks/event-types.ts';
import type { SetUp } from '../command.ts';
import type { Context } from '../context.ts';
import type { Unasked } from '../input/confirm.ts';
import {
  type DeliveriesOptions,
  listDeliveries,
  replayDeliveries,
  type Selection,
} from '../webhooks/deliveries.ts';
import { type ListenOptions, listenToEvents } from '../webhooks/listen.ts';
import {
  type AddOptions,
  addWebhook,
  enableWebhook,
  type Json,
  type ListOptions,
  listWebhooks,
  removeWebhook,
  rotateSecret,
  testWebhook,
} from '../webhooks/manage.ts';

export const webhooks: SetUp = (command, context) => {
  command
    .command('add <url>')
    .description('send events to a URL; its secret is shown only once')
    .option(
      '--events <list>',
      `comma-separated events (default: all but the last): ${EVENT_TYPES.join(', ')}`,
    )
    .option('-p, --project <name>', 'project whose events to send (default: that of the key, or default)')
    .addOption(
      new Option('--format <format>', 'payload format (default: depends on the URL)').choices(
        WEBHOOK_FORMATS,
      ),
    )
    .option('--json', 'print JSON')
    .action((url: string, options: AddOptions) => addWebhook(context, url, options));
  command
    .command('list')
    .description('list the webhooks, and why some get no events')
    .option('-p, --project <name>', 'only this project')
    .option('--json', 'print JSON')
    .action((options: ListOptions) => listWebhooks(context, options));
  addCommandsWithId(command, context);
  addDeliveryCommands(command, context);
  command
    .command('listen')
    .description('print events as they happen, until Ctrl-C')
    .option('--forward-to <url>', 'also send them to this URL, signed with a secret for this session')
    .option('-p, --project <name>', 'only this project')
    .option('--json', 'print one JSON object per line')
    .action((options: ListenOptions) => listenToEvents(context, options));
};

function addCommandsWithId(command: Command, context: Context): void {
  const withId = (name: string, about: string, run: (id: string, options: Json) => Promise<void>) =>
    command.command(`${name} <id>`).description(about).option('--json', 'print JSON').action(run);
  withId('remove', 'remove a webhook and its deliveries', (id, options: Json & Unasked) =>
    removeWebhook(context, id, options),
  ).option('--yes', 'do not ask on a terminal');
  command
    .command('test [id]')
    .description('send a sample event now and show the response')
    .option('--json', 'print JSON')
    .action((id: string | undefined, options: Json) => testWebhook(context, id, options));
  withId('rotate', 'create a new secret and print it; it is shown only once', (id, options) =>
    rotateSecret(context, id, options),
  );
  withId('enable', 'resume deliveries to a disabled webhook', (id, options) =>
    enableWebhook(context, id, true, options),
  );
  withId('disable', 'stop deliveries to a webhook', (id, options) =>
    enableWebhook(context, id, false, options),
  );
}

function addDeliveryCommands(command: Command, context: Context): void {
  command
    .command('deliveries [id]')
    .description('list the deliveries to one webhook or to all, with their results')
    .option('--failed', 'only failed deliveries')
    .option('--since <time>', 'only events from then on: 15m, 2h, 7d, today, YYYY-MM-DD')
    .option('-p, --project <name>', 'only this project')
    .option('-n, --limit <count>', 'maximum number, newest first', '20')
    .option('--json', 'print JSON')
    .action((id: string | undefined, options: DeliveriesOptions) => listDeliveries(context, id, options));
  command
    .command('replay [id]')
    .description('resend a delivery, or all that failed')
    .option('--failed', 'all that failed and were not resent yet')
    .option('--since <time>', 'only events from then on: 15m, 2h, 7d, today, YYYY-MM-DD')
    .option('-p, --project <name>', 'only this project')
    .option('--json', 'print JSON')
    .action((id: string | undefined, options: Selection) => replayDeliveries(context, id, options));
}
