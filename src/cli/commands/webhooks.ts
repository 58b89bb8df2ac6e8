import { type Command, Option } from 'commander';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { WEBHOOK_FORMATS } from '../../store/webhooks/endpoints.ts';
import { EVENT_TYPES } from '../../store/webhooks/event-types.ts';
import type { SetUp } from '../command.ts';
import type { Context } from '../context.ts';
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
    .description('send events to a URL; prints its secret, this once')
    .option('--events <list>', `which, with commas between (default: all): ${EVENT_TYPES.join(', ')}`)
    .option('-p, --project <name>', 'project whose events', DEFAULT_PROJECT)
    .addOption(
      new Option('--format <format>', 'how they are written (default: by the URL)').choices(WEBHOOK_FORMATS),
    )
    .option('--json', 'as JSON')
    .action((url: string, options: AddOptions) => addWebhook(context, url, options));
  command
    .command('list')
    .description('the webhooks, and why some get nothing')
    .option('-p, --project <name>', 'only this project')
    .option('--json', 'as JSON')
    .action((options: ListOptions) => listWebhooks(context, options));
  addCommandsOnOne(command, context);
  addDeliveryCommands(command, context);
  command
    .command('listen')
    .description('print events as they happen, until Ctrl-C')
    .option('--forward-to <url>', 'send them there too, signed with a secret of this session')
    .option('-p, --project <name>', 'only this project')
    .option('--json', 'as JSON, a line each')
    .action((options: ListenOptions) => listenToEvents(context, options));
};

function addCommandsOnOne(command: Command, context: Context): void {
  const onOne = (name: string, about: string, run: (id: string, options: Json) => Promise<void>) =>
    command.command(`${name} <id>`).description(about).option('--json', 'as JSON').action(run);
  onOne('remove', 'remove a webhook with its deliveries', (id, options) =>
    removeWebhook(context, id, options),
  );
  command
    .command('test [id]')
    .description('send a sample event now, and show what is answered')
    .option('--json', 'as JSON')
    .action((id: string | undefined, options: Json) => testWebhook(context, id, options));
  onOne('rotate', 'make a new secret and print it, this once', (id, options) =>
    rotateSecret(context, id, options),
  );
  onOne('enable', 'deliver again to one that was disabled', (id, options) =>
    enableWebhook(context, id, true, options),
  );
  onOne('disable', 'deliver nothing to it for now', (id, options) =>
    enableWebhook(context, id, false, options),
  );
}

function addDeliveryCommands(command: Command, context: Context): void {
  command
    .command('deliveries [id]')
    .description('what was sent, to one webhook or to all, and what came of it')
    .option('--failed', 'only those that failed')
    .option('--since <time>', 'only events from then on: 15m, 2h, 7d, today, YYYY-MM-DD')
    .option('-p, --project <name>', 'only this project')
    .option('-n, --limit <count>', 'at most so many, the newest', '20')
    .option('--json', 'as JSON')
    .action((id: string | undefined, options: DeliveriesOptions) => listDeliveries(context, id, options));
  command
    .command('replay [id]')
    .description('send a delivery again, or all that failed')
    .option('--failed', 'all that failed and were not sent again yet')
    .option('--since <time>', 'only events from then on: 15m, 2h, 7d, today, YYYY-MM-DD')
    .option('-p, --project <name>', 'only this project')
    .option('--json', 'as JSON')
    .action((id: string | undefined, options: Selection) => replayDeliveries(context, id, options));
}
