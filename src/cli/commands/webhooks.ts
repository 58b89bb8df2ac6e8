import { type Command, Option } from 'commander';
import type { Calendar } from '../../calendar.ts';
import { timeText } from '../../operations/times.ts';
import { WEBHOOK_FORMATS } from '../../store/webhooks/endpoints.ts';
import { DEFAULT_EVENTS, EVENT_TYPES, type EventType } from '../../store/webhooks/event-types.ts';
import { plural } from '../../terminal/numbers.ts';
import { type Column, right } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean } from '../../terminal/text.ts';
import { createTimeFormat, duration, type TimeFormat, timeColumn } from '../../terminal/time.ts';
import type { TestView } from '../../webhooks/service.ts';
import type { DeliveryView, EndpointView } from '../../webhooks/views.ts';
import { AS_JSON, ONLY_PROJECT, type SetUp, UNASKED } from '../command.ts';
import { type Context, note, say, sayJson, screenOf, tell } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { CliError, usageError } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { parseSince, readCount } from '../input/values.ts';
import { listText } from '../print-list.ts';
import { remoteOf } from '../remote/connection.ts';
import { type TableLook, tableLook } from '../requests/view.ts';
import { listenToEvents } from '../webhooks/listen.ts';
import { withGateway } from '../with-gateway.ts';

export const webhooks: SetUp = (command, context) => {
  addWebhook(command, context);
  command
    .command('list')
    .description('list the webhooks, and why some get no events')
    .option(...ONLY_PROJECT)
    .option(...AS_JSON)
    .action(async ({ project, json }) => {
      const webhooks = await withGateway(context, (reader) => reader.webhooks({ project_id: project }));
      if (json) sayJson(context, webhooks);
      else if (webhooks.length === 0) note(context, 'No webhooks. To add one: gw webhooks add URL');
      else tell(context, endpointTable(webhooks, screenOf(context)));
    });
  addCommandsWithId(command, context);
  addDeliveryCommands(command, context);
  command
    .command('listen')
    .description('print events as they happen, until Ctrl-C')
    .option('--forward-to <url>', 'also send them to this URL, signed with a secret for this session')
    .option(...ONLY_PROJECT)
    .option('--json', 'print one JSON object per line')
    .action((options) => listenToEvents(context, options));
};

function addCommandsWithId(command: Command, context: Context): void {
  const withId = (name: string, about: string) =>
    command
      .command(name)
      .argument('<id>')
      .description(about)
      .option(...AS_JSON);
  withId('remove', 'remove a webhook and its deliveries')
    .option(...UNASKED)
    .action(async (id, { json, yes }) => {
      const webhook = await withGateway(context, async (admin) => {
        const webhook = await admin.webhook({ id });
        const loss = `This removes webhook ${webhook.id} (${webhook.url}), its secret and its deliveries.`;
        await confirmLoss(context, clean(loss), { yes, scripted: true });
        await admin.removeWebhook({ id });
        return webhook;
      });
      if (json) sayJson(context, { id: webhook.id, deleted: true });
      else note(context, `Removed webhook ${webhook.id} and its deliveries.`);
    });
  command
    .command('test [id]')
    .description('send a sample event now and show the response')
    .option(...AS_JSON)
    .action(async (webhook, { json }) => {
      const id = webhook ?? (await onlyWebhook(context));
      const test = await withGateway(context, (admin) => admin.testWebhook({ id }));
      if (json) sayJson(context, test);
      else say(context, testText(test, id, screenOf(context)));
      if (!test.delivered) throw new CliError(`webhook ${id} did not accept the test event`);
    });
  withId('rotate', 'create a new secret and print it; it is shown only once').action(async (id, { json }) => {
    const webhook = await withGateway(context, (admin) => admin.rotateWebhook({ id }));
    if (json) sayJson(context, webhook);
    else say(context, webhook.secret);
    note(
      context,
      `The new secret of webhook ${webhook.id} is shown only once. For 24 hours, deliveries are also signed with the old one.`,
    );
  });
  const setEnabled = (name: string, about: string, enabled: boolean) =>
    withId(name, about).action(async (id, { json }) => {
      const webhook = await withGateway(context, (admin) => admin.changeWebhook({ id, enabled }));
      if (json) sayJson(context, webhook);
      else note(context, `Webhook ${webhook.id} is ${webhook.status}.`);
    });
  setEnabled('enable', 'resume deliveries to a disabled webhook', true);
  setEnabled('disable', 'stop deliveries to a webhook', false);
}

function addDeliveryCommands(command: Command, context: Context): void {
  listDeliveries(command, context);
  command
    .command('replay [id]')
    .description('resend a delivery, or all that failed')
    .option('--failed', 'all that failed and were not resent yet')
    .option('--since <time>', 'only events from then on: 15m, 2h, 7d, today, YYYY-MM-DD')
    .option(...ONLY_PROJECT)
    .option(...AS_JSON)
    .action(async (id, options) => {
      if (id !== undefined && options.failed) throw usageError('give a delivery id or --failed, not both');
      if (id !== undefined) await replayOne(context, id, options);
      else if (options.failed) await replayAllFailed(context, options);
      else
        throw usageError(
          'missing delivery id. For example: gw webhooks replay dlv_7   or: gw webhooks replay --failed --since 2h',
        );
    });
}

/** Registers a webhook. Prints its secret to stdout, only this once. */
const addWebhook: SetUp = (command, context) =>
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
    .option(...AS_JSON)
    .action(async (url, { project, events, format, json }) => {
      const input = {
        url,
        project_id: project,
        events: events
          ?.split(',')
          .map((part) => part.trim())
          .filter(Boolean) as EventType[] | undefined,
        format,
      };
      const webhook = await withGateway(context, (admin) => admin.addWebhook(input));
      if (json) sayJson(context, webhook);
      else say(context, webhook.secret);
      note(
        context,
        clean(
          `Added webhook ${webhook.id} (${webhook.format}) of project ${webhook.project_id}: ${webhook.url} gets ${eventsText(webhook)} events.`,
        ),
      );
      note(context, `Its secret is shown only once. To test the webhook: gw webhooks test ${webhook.id}`);
    });

async function onlyWebhook(context: Context): Promise<string> {
  const webhooks = await withGateway(context, (reader) => reader.webhooks({}));
  const [first, second] = webhooks;
  if (!first) throw usageError('no webhook to test. To add one: gw webhooks add URL');
  if (!second) return first.id;
  const commands = webhooks.map(({ id, url }) => `\n  gw webhooks test ${id}   ${clean(url)}`);
  throw usageError(`there are ${webhooks.length} webhooks. Choose one:${commands.join('')}`);
}

interface Selection {
  project?: string;
  failed?: boolean;
  since?: string;
  json?: boolean;
}

const MAX_LISTED = 1_000;

const listDeliveries: SetUp = (command, context) =>
  command
    .command('deliveries [id]')
    .description('list the deliveries to one webhook or to all, with their results')
    .option('--failed', 'only failed deliveries')
    .option('--since <time>', 'only events from then on: 15m, 2h, 7d, today, YYYY-MM-DD')
    .option(...ONLY_PROJECT)
    .option('-n, --limit <count>', 'maximum number, newest first', '20')
    .option(...AS_JSON)
    .action(async (webhook, options) => {
      const limit = readCount(options.limit, '--limit', { min: 1, max: MAX_LISTED });
      await withGateway(context, async (reader) => {
        const calendar = await reader.calendar();
        const deliveries = await reader.deliveries({
          ...queryOf(options, calendar, context.clock.now()),
          webhook_id: webhook,
          status: options.failed ? 'failed' : undefined,
          limit,
        });
        if (options.json) sayJson(context, deliveries);
        else if (deliveries.length === 0) note(context, 'No deliveries match.');
        else say(context, deliveryTable(deliveries, tableLook(context, calendar.timezone)));
      });
    });

async function replayOne(context: Context, id: string, { since, project, json }: Selection): Promise<void> {
  if (since !== undefined || project !== undefined) {
    throw usageError(
      '--since and --project select failed deliveries. Use them with --failed, and without an id',
    );
  }
  const delivery = await withGateway(context, (admin) => admin.replayDelivery({ id }));
  if (json) sayJson(context, delivery);
  else note(context, `Delivery ${delivery.id} resends ${delivery.event_id} to ${delivery.webhook_id}.`);
  await sayIfStopped(context);
}

async function replayAllFailed(context: Context, options: Selection): Promise<void> {
  const { replayed } = await withGateway(context, async (gateway) =>
    gateway.replayFailed(queryOf(options, await gateway.calendar(), context.clock.now())),
  );
  if (options.json) sayJson(context, { replayed });
  else if (replayed === 0) note(context, 'No failed deliveries to resend.');
  else note(context, `${plural(replayed, 'failed event')} will be resent.`);
  if (replayed > 0) await sayIfStopped(context);
}

function queryOf({ project, since }: Selection, calendar: Calendar, now: number) {
  return {
    project_id: project,
    since: timeText(since === undefined ? undefined : parseSince(since, calendar, now)),
  };
}

async function sayIfStopped(context: Context): Promise<void> {
  if (!remoteOf(context) && (await findDaemon(context)).kind === 'stopped')
    note(context, 'gw is not running; deliveries wait until it is. Run: gw start');
}

/** A table of webhooks, and below it why some of them get no events. */
function endpointTable(endpoints: EndpointView[], terminal: Terminal): string {
  const columns: Column<EndpointView>[] = [
    { header: ' ', value: ({ status }) => (status === 'enabled' ? ' ' : '!'), style: 'warn' },
    { header: 'id', value: ({ id }) => id },
    { header: 'project', value: ({ project_id }) => project_id, shrinks: true },
    { header: 'format', value: ({ format }) => format },
    { header: 'status', value: ({ status }) => status },
    { header: 'events', value: eventsText, shrinks: true },
    { header: 'url', value: ({ url }) => url, shrinks: true },
  ];
  const idle = endpoints
    .filter(({ status }) => status !== 'enabled')
    .map((endpoint) =>
      clean(`  ${endpoint.id} is ${endpoint.status}: ${endpoint.status_reason}${remedyOf(endpoint)}`),
    );
  return listText(endpoints, columns, terminal, { title: 'Webhooks', below: idle });
}

/** The events of a webhook: `all` that it gets if it names none, or their names. */
function eventsText({ events }: EndpointView): string {
  if (events.length === EVENT_TYPES.length) return 'all and approvals';
  return events.join() === DEFAULT_EVENTS.join() ? 'all' : events.join(',');
}

/** Only for disabled webhooks: the reason of a paused one already names a command. */
function remedyOf({ id, status }: EndpointView): string {
  return status === 'disabled' ? `. To enable it: gw webhooks enable ${id}` : '';
}

function deliveryTable(deliveries: DeliveryView[], { timezone, now, terminal }: TableLook): string {
  const times = createTimeFormat(timezone);
  const manyWebhooks = new Set(deliveries.map(({ webhook_id }) => webhook_id)).size > 1;
  const timeText = timeColumn(
    deliveries.map(({ created_at }) => Date.parse(created_at)),
    times,
    now,
  );
  const columns: Column<DeliveryView>[] = [
    { header: ' ', value: ({ status }) => (status === 'failed' ? '!' : ' '), style: 'warn' },
    { header: 'id', value: ({ id }) => id },
    { header: 'time', value: ({ created_at }) => timeText(Date.parse(created_at)) },
    ...(manyWebhooks ? [{ header: 'to', value: ({ webhook_id }: DeliveryView) => webhook_id }] : []),
    { header: 'event', value: eventText, shrinks: true },
    { header: 'status', value: ({ status }) => status },
    right('tries', ({ attempts }) => String(attempts)),
    { header: 'response', value: (delivery) => answerText(delivery, times), shrinks: true },
  ];
  return listText(deliveries, columns, terminal, { title: `Deliveries (${timezone})` });
}

function eventText({ event_type, event_count }: DeliveryView): string {
  return event_count === 1 ? event_type : `${event_type} x${event_count}`;
}

function answerText(delivery: DeliveryView, times: TimeFormat): string {
  const { error, response_status, next_attempt_at, replayed_at } = delivery;
  const answer = error ?? (response_status === null ? '' : `HTTP ${response_status}`);
  const next = next_attempt_at === null ? '' : `next at ${times.time(Date.parse(next_attempt_at))}`;
  return [answer, next, replayed_at === null ? '' : 'replayed'].filter(Boolean).join(', ');
}

/** The result of a test in one line, and the response body below it. */
function testText(test: TestView, id: string, { palette }: Terminal): string {
  const answer = test.error ?? `HTTP ${test.response_status}`;
  const head = `${test.event_type} to ${id}: ${answer}, after ${duration(test.duration_ms)}`;
  return clean(head) + (test.response_body ? `\n${palette.dim(clean(test.response_body))}` : '');
}
