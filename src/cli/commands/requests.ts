import type { Command } from 'commander';
import { parseRequestId } from '../../ids.ts';
import type { RequestBodiesView } from '../../operations/schemas/bodies.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import { timeText } from '../../operations/times.ts';
import { factsOf } from '../../terminal/request-facts.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean, pad, widthOf, wrap } from '../../terminal/text.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { AS_JSON, type OptionsOf, type SetUp } from '../command.ts';
import { type Context, note, say, sayJson, screenOf } from '../context.ts';
import { usageError } from '../exit.ts';
import { parseTime, readCount } from '../input/values.ts';
import { addConditions, conditionsFrom } from '../requests/conditions.ts';
import { requestTable, tableLook } from '../requests/view.ts';
import { withGateway } from '../with-gateway.ts';

export const requests: SetUp = (command, context) =>
  addOptions(command)
    .argument('[id]', 'request to show in full')
    .action((id, options) => (id === undefined ? list(context, options) : show(context, id, options)));

type Options = OptionsOf<typeof addOptions>;

function addOptions(command: Command) {
  return addConditions(command)
    .option('--since <time>', 'only requests since then: 15m, 1h, 7d, "yesterday 17:00", YYYY-MM-DD')
    .option('--until <time>', 'only requests before then')
    .option('-n, --limit <count>', 'maximum number, newest first', '20')
    .option('--diff', 'show what the optimizer changed in the request (needs requests.keep_bodies)')
    .option(...AS_JSON);
}

async function list(context: Context, options: Options): Promise<void> {
  if (options.diff)
    throw usageError('--diff shows one request: gw requests ID --diff. For the ids: gw requests');
  const conditions = conditionsFrom(options);
  const limit = readCount(options.limit, '--limit', { min: 1, max: 10_000 });
  await withGateway(context, async (reader) => {
    const calendar = await reader.calendar();
    const now = context.clock.now();
    const since = parseTime(options.since, '--since', calendar, now);
    const until = parseTime(options.until, '--until', calendar, now);
    if (since !== undefined && until !== undefined && since >= until)
      throw usageError(`--since ${options.since} is not before --until ${options.until}`);
    const matches = await reader.requests({
      ...conditions,
      since: timeText(since),
      until: timeText(until),
      limit,
    });
    if (options.json) sayJson(context, matches);
    else if (matches.length === 0) note(context, 'No requests match.');
    else say(context, requestTable(matches, tableLook(context, calendar.timezone)));
  });
}

async function show(context: Context, id: string, { diff, json }: Options): Promise<void> {
  if (parseRequestId(id) === undefined)
    throw usageError(`"${id}" is not a request id, such as req_0abc1def2gh. See: gw requests`);
  await withGateway(context, async (reader) => {
    if (diff) return showDiff(context, await reader.requestBodies({ id }), json);
    const request = await reader.request({ id });
    const { timezone } = await reader.calendar();
    if (json) sayJson(context, request);
    else {
      say(context, requestDetails(request, timezone, screenOf(context)));
      if (request.saved_tokens > 0)
        note(context, `\nWhat the optimizer changed: gw requests ${request.id} --diff`);
    }
  });
}

async function showDiff(context: Context, bodies: RequestBodiesView, json = false): Promise<void> {
  const { compareBodies } = await import('../requests/compare-bodies.ts');
  const { diffJson, diffText } = await import('../requests/compare-bodies.ts');
  const changes = compareBodies(bodies);
  if (json) sayJson(context, diffJson(bodies, changes));
  else say(context, diffText(bodies, changes, screenOf(context)));
}

const GAP = 2;

/** The details of a request, as in the dashboard. */
function requestDetails(request: RequestView, timezone: string, { palette, columns }: Terminal): string {
  const facts = factsOf(request, createTimeFormat(timezone));
  const width = Math.max(...facts.map(([name]) => widthOf(clean(name)))) + GAP;
  const lines = facts.flatMap(([name, text]) =>
    wrap(text, columns - width).map(
      (part, i) => `${palette.dim(pad(i === 0 ? clean(name) : '', width))}${part}`,
    ),
  );
  return [palette.bold(`Request (${timezone})`), '', ...lines].join('\n');
}
