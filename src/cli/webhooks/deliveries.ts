import type { Calendar } from '../../calendar.ts';
import { plural } from '../../terminal/numbers.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { usageError } from '../exit.ts';
import { readCount } from '../input/count.ts';
import { parseSince } from '../input/dates.ts';
import { remoteOf } from '../remote/connection.ts';
import { tableLook } from '../requests/view.ts';
import { withAdmin, withReader } from '../with-gateway.ts';
import { deliveryTable } from './view.ts';

/** Options that select deliveries. */
export interface Selection {
  project?: string;
  failed?: boolean;
  since?: string;
  json?: boolean;
}

export interface DeliveriesOptions extends Selection {
  limit: string;
}

const MAX_LISTED = 1_000;

/** Lists the deliveries of one webhook or of all. */
export async function listDeliveries(
  context: Context,
  webhook: string | undefined,
  options: DeliveriesOptions,
): Promise<void> {
  const limit = readCount(options.limit, '--limit', { min: 1, max: MAX_LISTED });
  await withReader(context, async (reader) => {
    const calendar = await reader.calendar();
    const deliveries = await reader.deliveries({
      ...queryOf(options, calendar, context.clock.now()),
      ...(webhook === undefined ? {} : { webhook }),
      ...(options.failed ? { status: 'failed' as const } : {}),
      limit,
    });
    if (options.json) sayJson(context, deliveries);
    else if (deliveries.length === 0) note(context, 'No deliveries match.');
    else say(context, deliveryTable(deliveries, tableLook(context, calendar.timezone)));
  });
}

/** Resends one finished delivery, or with `--failed` all failed ones that were not resent yet. */
export async function replayDeliveries(
  context: Context,
  id: string | undefined,
  options: Selection,
): Promise<void> {
  if (id !== undefined && options.failed) throw usageError('give a delivery id or --failed, not both');
  if (id !== undefined) await replayOne(context, id, options);
  else if (options.failed) await replayAllFailed(context, options);
  else
    throw usageError(
      'missing delivery id. For example: gw webhooks replay dlv_7   or: gw webhooks replay --failed --since 2h',
    );
}

async function replayOne(context: Context, id: string, { since, project, json }: Selection): Promise<void> {
  if (since !== undefined || project !== undefined) {
    throw usageError(
      '--since and --project select failed deliveries. Use them with --failed, and without an id',
    );
  }
  const delivery = await withAdmin(context, ({ webhooks }) => webhooks.replay(id));
  if (json) sayJson(context, delivery);
  else note(context, `Delivery ${delivery.id} resends ${delivery.event_id} to ${delivery.webhook_id}.`);
  await sayIfStopped(context);
}

async function replayAllFailed(context: Context, options: Selection): Promise<void> {
  const count = await withAdmin(context, async ({ webhooks }, reader) =>
    webhooks.replayFailed(queryOf(options, await reader.calendar(), context.clock.now())),
  );
  if (options.json) sayJson(context, { replayed: count });
  else if (count === 0) note(context, 'No failed deliveries to resend.');
  else note(context, `${plural(count, 'failed event')} will be resent.`);
  if (count > 0) await sayIfStopped(context);
}

function queryOf({ project, since }: Selection, calendar: Calendar, now: number) {
  return {
    ...(project === undefined ? {} : { project }),
    ...(since === undefined ? {} : { since: parseSince(since, calendar, now) }),
  };
}

async function sayIfStopped(context: Context): Promise<void> {
  if (!remoteOf(context) && (await findDaemon(context)).kind === 'stopped')
    note(context, 'gw is not running; deliveries wait until it is. Run: gw start');
}
