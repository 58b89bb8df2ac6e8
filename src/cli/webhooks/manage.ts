import { terminalOf } from '../../terminal/terminal.ts';
import { clean } from '../../terminal/text.ts';
import type { EndpointView } from '../../webhooks/views.ts';
import { type Context, note, say, sayJson, tell } from '../context.ts';
import { CliError, usageError } from '../exit.ts';
import { policyInForce, withWebhooks } from './service.ts';
import { endpointTable, eventsText, testText } from './view.ts';

export interface Json {
  json?: boolean;
}

export interface AddOptions extends Json {
  project: string;
  events?: string;
  format?: string;
}

export interface ListOptions extends Json {
  project?: string;
}

/** Registers a webhook. Its secret is the data of the command, shown this once. */
export async function addWebhook(context: Context, url: string, options: AddOptions): Promise<void> {
  const { project, events, format, json } = options;
  const input = {
    url,
    project_id: project,
    ...(events === undefined ? {} : { events: listOf(events) }),
    ...(format === undefined ? {} : { format }),
  };
  const policy = await policyInForce(context);
  const made = await withWebhooks(context, ({ service, caller }) => service.register(caller, input), policy);
  if (json) sayJson(context, made);
  else say(context, made.secret);
  note(
    context,
    clean(
      `Added webhook ${made.id} (${made.format}) of project ${made.project_id}: ${made.url} gets ${eventsText(made)} events.`,
    ),
  );
  note(context, `Its secret is shown only once. To test the webhook: gw webhooks test ${made.id}`);
}

export async function listWebhooks(context: Context, { project, json }: ListOptions): Promise<void> {
  const found = await withWebhooks(context, ({ service, caller }) => service.list(caller, project));
  if (json) sayJson(context, found);
  else if (found.length === 0) note(context, 'No webhooks. To add one: gw webhooks add URL');
  else tell(context, endpointTable(found, terminalOf(context.stdout, context.env)));
}

export async function removeWebhook(context: Context, id: string, { json }: Json): Promise<void> {
  const removed = await withWebhooks(context, async ({ service, caller }) => {
    const found = await service.get(caller, id);
    await service.remove(caller, id);
    return found;
  });
  if (json) sayJson(context, { id: removed.id, deleted: true });
  else note(context, `Removed webhook ${removed.id} and its deliveries.`);
}

/** Lets a webhook get events again, or no more. */
export async function enableWebhook(
  context: Context,
  id: string,
  enabled: boolean,
  { json }: Json,
): Promise<void> {
  const changed: EndpointView = await withWebhooks(context, ({ service, caller }) =>
    service.update(caller, id, { enabled }),
  );
  if (json) sayJson(context, changed);
  else note(context, `Webhook ${changed.id} is ${changed.status}.`);
}

/** Gives a webhook a new secret, which is the data of the command, shown this once. */
export async function rotateSecret(context: Context, id: string, { json }: Json): Promise<void> {
  const rotated = await withWebhooks(context, ({ service, caller }) => service.rotate(caller, id));
  if (json) sayJson(context, rotated);
  else say(context, rotated.secret);
  note(
    context,
    `The new secret of webhook ${rotated.id} is shown only once. For 24 hours, deliveries are also signed with the old one.`,
  );
}

/** Sends a sample event now, to the only webhook where none is named. The command fails where the delivery does. */
export async function testWebhook(
  context: Context,
  named: string | undefined,
  { json }: Json,
): Promise<void> {
  const id = named ?? (await onlyWebhook(context));
  const policy = await policyInForce(context);
  const test = await withWebhooks(context, ({ service, caller }) => service.test(caller, id), policy);
  if (json) sayJson(context, test);
  else say(context, testText(test, id, terminalOf(context.stdout, context.env)));
  if (!test.delivered) throw new CliError(`webhook ${id} did not accept the test event`);
}

async function onlyWebhook(context: Context): Promise<string> {
  const found = await withWebhooks(context, ({ service, caller }) => service.list(caller));
  const [first, second] = found;
  if (!first) throw usageError('no webhook to test. To add one: gw webhooks add URL');
  if (!second) return first.id;
  const each = found.map(({ id, url }) => `\n  gw webhooks test ${id}   ${clean(url)}`);
  throw usageError(`there are ${found.length} webhooks. Choose one:${each.join('')}`);
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}
