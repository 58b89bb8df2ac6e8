import { parseRequestId } from '../../ids.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { readCount } from '../input/count.ts';
import { parseSince } from '../input/dates.ts';
import { checkStatus } from '../requests/check-status.ts';
import { requestDetails } from '../requests/details.ts';
import { requestTable } from '../requests/view.ts';
import { withReader } from '../with-gateway.ts';

interface Options {
  project?: string;
  status?: string;
  since?: string;
  limit: string;
  json?: boolean;
}

export const requests: SetUp = (command, context) => {
  command
    .argument('[id]', 'request to show in full')
    .option('-p, --project <name>', 'only this project')
    .option(
      '-s, --status <status>',
      'only this outcome: an HTTP status, or ok, blocked, failed, client_gone, ...',
    )
    .option('--since <time>', 'only requests since then: 15m, 1h, 7d, today, YYYY-MM-DD')
    .option('-n, --limit <count>', 'maximum number, newest first', '20')
    .option('--json', 'print JSON')
    .action((id: string | undefined, options: Options) =>
      id === undefined ? list(context, options) : show(context, id, options),
    );
};

async function list(context: Context, options: Options): Promise<void> {
  const { project, since } = options;
  const status = checkStatus(options.status);
  const limit = readCount(options.limit, '--limit', { min: 1, max: 10_000 });
  await withReader(context, async (reader) => {
    const calendar = await reader.calendar();
    const from = since === undefined ? undefined : parseSince(since, calendar, context.clock.now());
    const matches = await reader.requests({ project, status, since: from, limit });
    if (options.json) sayJson(context, matches);
    else if (matches.length === 0) note(context, 'No requests match.');
    else say(context, requestTable(matches, calendar.timezone, terminalOf(context.stdout, context.env)));
  });
}

async function show(context: Context, id: string, { json }: Options): Promise<void> {
  if (parseRequestId(id) === undefined)
    throw usageError(`"${id}" is not a request id, such as req_0abc1def2gh. See: gw requests`);
  await withReader(context, async (reader) => {
    const request = await reader.request(id);
    const { timezone } = await reader.calendar();
    if (json) sayJson(context, request);
    else say(context, requestDetails(request, timezone, terminalOf(context.stdout, context.env)));
  });
}
