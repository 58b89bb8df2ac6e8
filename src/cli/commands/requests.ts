import { parseRequestId } from '../../ids.ts';
import { getRequest } from '../../store/requests/request-log.ts';
import { requestResponse } from '../../store/requests/request-response.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { readCount } from '../input/count.ts';
import { parseSince } from '../input/dates.ts';
import { requestDetails } from '../requests/details.ts';
import { findRequests, readStatus } from '../requests/find.ts';
import { requestTable } from '../requests/view.ts';
import { settingsAndCalendar } from '../settings.ts';
import { projectFilter, withStore } from '../with-store.ts';

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
  const { calendar } = settingsAndCalendar(context);
  const filter = {
    ...readStatus(options.status),
    ...(options.since === undefined
      ? {}
      : { since: parseSince(options.since, calendar, context.clock.now()) }),
    limit: readCount(options.limit, '--limit', { min: 1, max: 10_000 }),
  };
  const matches = await withStore(context, (db) =>
    findRequests(db, { ...filter, ...projectFilter(db, options.project) }),
  );
  if (options.json)
    sayJson(
      context,
      matches.map((request) => requestResponse(request, { nano: true })),
    );
  else if (matches.length === 0) note(context, 'No requests match.');
  else say(context, requestTable(matches, calendar.timezone, terminalOf(context.stdout, context.env)));
}

async function show(context: Context, text: string, { json }: Options): Promise<void> {
  const { calendar } = settingsAndCalendar(context);
  const id = parseRequestId(text);
  if (id === undefined)
    throw usageError(`"${text}" is not a request id, such as req_0abc1def2gh. See: gw requests`);
  const request = await withStore(context, (db) => getRequest(db, id));
  if (!request) throw new CliError(`no request ${text}. See: gw requests`, EXIT.notFound);
  if (json) sayJson(context, requestResponse(request, { nano: true }));
  else say(context, requestDetails(request, calendar.timezone, terminalOf(context.stdout, context.env)));
}
