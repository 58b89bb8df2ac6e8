import { terminalOf } from '../../terminal/terminal.ts';
import { clean } from '../../terminal/text.ts';
import type { EndpointView } from '../../webhooks/views.ts';
import { type Context, note, say, sayJson, tell } from '../context.ts';
import { CliError, usageError } from '../exit.ts';
import { confirmLoss, type Unasked } from '../input/confirm.ts';
import { withAdmin, withReader } from '../with-gateway.ts';
import { endpointTable, eventsText, testText } from './view.ts';

export interface Json {
  json?: boolean;
}

export interface AddOptions extends Json {
  project?: string;
  events?: string;
  format?: string;
}

export interface ListOptions extends Json {
  project?: string;
}

/** Registers a webhook. Prints its secret to stdout, only this once. */
export async function addWebhook(context: Context, url: string, options: AddOptions): Promise<void> {
  const { project, events, format, json } = options;
  const input = {
    url,
    ...(project === undefined ? {} : { project_id: project }),
    ...(events === undefined ? {} : { events: listOf(events) }),
    ...(format === undefined ? {} : { format }),
  };
  const webhook = await withAdmin(context, ({ webhooks }) => webhooks.register(input));
  if (json) sayJson(context, webhook);
  else say(context, webhook.secret);
  note(
    context,
    clean(
      `Added webhook ${webhook.id} (${webhook.format}) of project ${webhook.project_id}: ${webhook.url} gets ${eventsText(webhook)} events.`,
    ),
  );
  note(context, `Its secret is shown only once. To test the webhook: gw webhooks test ${webhook.id}`);
}

export async function listWebhooks(context: Context, { project, json }: ListOptions): Promise<void> {
  const webhooks = await withReader(context, (reader) => reader.webhooks({ project }));
  if (json) sayJson(context, webhooks);
  else if (webhooks.length === 0) note(context, 'No webhooks. To add one: gw webhooks add URL');
  else tell(context, endpointTable(webhooks, terminalOf(context.stdout, context.env)));
}

export async function removeWebhook(
  context: Context,
  id: string,
  { json, yes }: Json & Unasked,
): Promise<void> {
  const webhook = await withAdmin(context, async ({ webhooks }) => {
    const webhook = await webhooks.get(id);
    const loss = clean(`This removes webhook ${webhook.id} (${webhook.url}), its secret and its deliveries.`);
    await confirmLoss(context, loss, { yes, scripted: true });
    await webhooks.remove(id);
    return webhook;
  });
  if (json) sayJson(context, { id: webhook.id, deleted: true });
  else note(context, `Removed webhook ${webhook.id} and its deliveries.`);
}

/** Enables or disables a webhook. */
export async function enableWebhook(
  context: Context,
  id: string,
  enabled: boolean,
  { json }: Json,
): Promise<void> {
  const webhook: EndpointView = await withAdmin(context, ({ webhooks }) => webhooks.update(id, { enabled }));
  if (json) sayJson(context, webhook);
  else note(context, `Webhook ${webhook.id} is ${webhook.status}.`);
}

/** Gives a webhook a new secret. Prints it to stdout, only this once. */
export async function rotateSecret(context: Context, id: string, { json }: Json): Promise<void> {
  const webhook = await withAdmin(context, ({ webhooks }) => webhooks.rotate(id));
  if (json) sayJson(context, webhook);
  else say(context, webhook.secret);
  note(
    context,
    `The new secret of webhook ${webhook.id} is shown only once. For 24 hours, deliveries are also signed with the old one.`,
  );
}

/** Sends a sample event now; without an id, to the only webhook. Fails if the delivery fails. */
export async function testWebhook(
  context: Context,
  webhook: string | undefined,
  { json }: Json,
): Promise<void> {
  const id = webhook ?? (await onlyWebhook(context));
  const test = await withAdmin(context, ({ webhooks }) => webhooks.test(id));
  if (json) sayJson(context, test);
  else say(context, testText(test, id, terminalOf(context.stdout, context.env)));
  if (!test.delivered) throw new CliError(`webhook ${id} did not accept the test event`);
}

async function onlyWebhook(context: Context): Promise<string> {
  const webhooks = await withReader(context, (reader) => reader.webhooks({}));
  const [first, second] = webhooks;
  if (!first) throw usageError('no webhook to test. To add one: gw webhooks add URL');
  if (!second) return first.id;
  const commands = webhooks.map(({ id, url }) => `\n  gw webhooks test ${id}   ${clean(url)}`);
  throw usageError(`there are ${webhooks.length} webhooks. Choose one:${commands.join('')}`);
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}
