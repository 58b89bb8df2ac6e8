import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedRow } from '../../store/dashboard/feed.ts';
import { createRequestFollower } from '../../store/dashboard/follow-requests.ts';
import { type Db, openDatabase } from '../../store/database/open.ts';
import type { LoggedRequest } from '../../store/requests/request-log.ts';
import { requestResponse } from '../../store/requests/request-response.ts';
import { feedCells, feedColumns } from '../../terminal/feed-line.ts';
import { lineOf } from '../../terminal/styled-lines.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { readCount } from '../input/count.ts';
import { findRequests, type RequestQuery, readStatus } from '../requests/find.ts';
import { settingsAndCalendar } from '../settings.ts';
import { projectFilter, withStore } from '../with-store.ts';

interface Options {
  project?: string;
  status?: string;
  lines: string;
  json?: boolean;
  ascii?: boolean;
}

const POLL_MS = 500;

export const tail: SetUp = (command, context) => {
  command
    .option('-p, --project <name>', 'only this project')
    .option(
      '-s, --status <status>',
      'only this outcome: an HTTP status, or ok, blocked, failed, client_gone, ...',
    )
    .option('-n, --lines <count>', 'number of earlier requests to print first', '10')
    .option('--json', 'print one JSON object per line')
    .option('--ascii', 'no block characters')
    .action((options: Options) => run(context, options));
};

async function run(context: Context, options: Options): Promise<void> {
  const limit = readCount(options.lines, '--lines', { max: 10_000 });
  const { calendar } = settingsAndCalendar(context);
  const print = printerOf(context, options, calendar.timezone);
  const project = await withStore(context, async (db) => projectFilter(db, options.project));
  const query = { ...readStatus(options.status), ...project };
  const db = await openDatabase(context.paths.database, { readonly: true });
  const follower = createRequestFollower(db, context.clock.now());
  const earlier = await earlierRequests(db, { ...query, limit });
  earlier.reverse().forEach(print);
  // Requests recorded after the follower started are in both lists.
  const printed = new Set(earlier.map(({ id }) => id));
  if (options.json !== true) await sayWaiting(context);
  for (;;) {
    await sleep(POLL_MS);
    const requests = await follower.next(context.clock.now());
    requests
      .filter((request) => !printed.has(request.id) && matches(request, query, options.project))
      .forEach(print);
  }
}

async function sayWaiting(context: Context): Promise<void> {
  const { kind } = await findDaemon(context);
  if (kind !== 'running') note(context, 'gw is not running, so no requests come yet. Run: gw start');
  note(context, 'Waiting for requests. To stop: Ctrl-C');
}

function earlierRequests(db: Db, query: RequestQuery): Promise<LoggedRequest[]> {
  return query.limit === 0 ? Promise.resolve([]) : findRequests(db, query);
}

function matches(
  { outcome, status, project }: LoggedRequest,
  query: Pick<RequestQuery, 'outcomes' | 'status'>,
  only: string | undefined,
): boolean {
  if (only !== undefined && project !== only) return false;
  if (query.status !== undefined && status !== query.status) return false;
  return query.outcomes === undefined || query.outcomes.includes(outcome);
}

function printerOf(context: Context, options: Options, timezone: string): (request: LoggedRequest) => void {
  if (options.json)
    return (request) => say(context, JSON.stringify(requestResponse(request, { nano: true })));
  const { columns, palette, symbols } = terminalOf(context.stdout, context.env, options);
  const look = { palette, symbols, timezone, times: createTimeFormat(timezone), gw: context.gw };
  const layout = feedColumns(columns);
  return (request) => say(context, lineOf(feedCells(rowOf(request), layout, look), look).trimEnd());
}

function rowOf(request: LoggedRequest): FeedRow {
  const { error } = request.detail;
  return { ...request, error: typeof error === 'string' ? error : null };
}
