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
    .argument('[id]', 'one request, with all that is known of it')
    .option('-p, --project <name>', 'only this project')
    .option('-s, --status <status>', 'an HTTP status, or ok, blocked, failed, client_gone, ...')
    .option('--since <time>', 'not before: 15m, 1h, 7d, today, YYYY-MM-DD')
    .option('-n, --limit <count>', 'at most so many, the newest', '20')
    .option('--json', 'as JSON')
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
  const found = await withStore(context, (db) =>
    findRequests(db, { ...filter, ...projectFilter(db, options.project) }),
  );
  if (options.json)
    sayJson(
      context,
      found.map((request) => requestResponse(request, { nano: true })),
    );
  else if (found.length === 0) note(context, 'No such requests.');
  else say(context, requestTable(found, calendar.timezone, terminalOf(context.stdout, context.env)));
}

async function show(context: Context, text: string, { json }: Options): Promise<void> {
  const { calendar } = settingsAndCalendar(context);
  const id = parseRequestId(text);
  if (id === undefined)
    throw usageError(`"${text}" is no request id, such as req_0abc1def2gh. See: gw requests`);
  const found = await withStore(context, (db) => getRequest(db, id));
  if (!found) throw new CliError(`no request ${text}. See: gw requests`, EXIT.notFound);
  if (json) sayJson(context, requestResponse(found, { nano: true }));
  else say(context, requestDetails(found, calendar.timezone, terminalOf(context.stdout, context.env)));
}
