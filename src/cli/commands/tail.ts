import { setTimeout as sleep } from 'node:timers/promises';
import { parseRequestId } from '../../ids.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import { feedCells, feedColumns } from '../../terminal/feed-line.ts';
import { feedFieldsOf } from '../../terminal/request-words.ts';
import { lineOf } from '../../terminal/styled-lines.ts';
import { safeJson } from '../../terminal/text.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { ONLY_PROJECT, type SetUp } from '../command.ts';
import { type Context, note, say, screenOf } from '../context.ts';
import { readCount } from '../input/values.ts';
import { daemonState } from '../remote/connection.ts';
import { checkStatus } from '../requests/conditions.ts';
import { withGateway } from '../with-gateway.ts';

const POLL_MS = 500;

export const tail: SetUp = (command, context) =>
  command
    .option(...ONLY_PROJECT)
    .option(
      '-s, --status <status>',
      'only this outcome: an HTTP status, or ok, blocked, failed, client_gone, ...',
    )
    .option('-n, --lines <count>', 'number of earlier requests to print first', '10')
    .option('--json', 'print one JSON object per line')
    .option('--ascii', 'no block characters')
    .action(async (options) => {
      const limit = readCount(options.lines, '--lines', { max: 10_000 });
      const filter = { status: checkStatus(options.status), project_id: options.project };
      await withGateway(context, async (reader) => {
        const print = printerOf(context, options, (await reader.calendar()).timezone);
        const follower = await reader.followRequests(filter);
        const earlier = await reader.requests({ ...filter, limit });
        earlier.reverse().forEach(print);
        // Requests recorded after the follower started are in both lists.
        const printed = new Set(earlier.map(({ id }) => id));
        if (options.json !== true) await sayWaiting(context);
        for (;;) {
          await sleep(POLL_MS);
          const requests = await follower.next();
          requests.filter(({ id }) => !printed.has(id)).forEach(print);
        }
      });
    });

async function sayWaiting(context: Context): Promise<void> {
  const { kind } = await daemonState(context);
  if (kind !== 'running') note(context, 'gw is not running, so no requests come yet. Run: gw start');
  note(context, 'Waiting for requests. To stop: Ctrl-C');
}

function printerOf(
  context: Context,
  options: { json?: boolean; ascii?: boolean },
  timezone: string,
): (request: RequestView) => void {
  if (options.json) return (request) => say(context, safeJson(request));
  const { columns, palette, symbols } = screenOf(context, options);
  const look = { palette, symbols, timezone, times: createTimeFormat(timezone), gw: context.gw };
  const layout = feedColumns(columns);
  return (request) => say(context, lineOf(feedCells(rowOf(request), layout, look), look).trimEnd());
}

const rowOf = (request: RequestView) => ({ id: parseRequestId(request.id) ?? 0, ...feedFieldsOf(request) });
