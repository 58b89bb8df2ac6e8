import { Option } from 'commander';
import { formatUsd } from '../../money.ts';
import type { SessionView } from '../../operations/schemas/usage.ts';
import { timeText } from '../../operations/times.ts';
import { USAGE_SOURCES } from '../../store/reports/query.ts';
import { count, tokens } from '../../terminal/numbers.ts';
import { type Column, right } from '../../terminal/table.ts';
import { createTimeFormat, timeColumn } from '../../terminal/time.ts';
import { AS_JSON, ONLY_PROJECT, type SetUp } from '../command.ts';
import { note, say, sayJson } from '../context.ts';
import { parseTime, readCount } from '../input/values.ts';
import { listText } from '../print-list.ts';
import { requestTable, type TableLook, tableLook } from '../requests/view.ts';
import { withGateway } from '../with-gateway.ts';

/** The requests that are shown of one session. */
const REQUESTS_SHOWN = 20;

export const sessions: SetUp = (command, context) => {
  list(command, context);
  command
    .command('resume')
    .argument('<id>', 'session that a budget stops as a runaway')
    .description('let a session that is taken for a runaway go on')
    .option(...ONLY_PROJECT)
    .option(...AS_JSON)
    .action(async (id, { project, json }) => {
      const resumed = await withGateway(context, (reader) =>
        reader.resumeSession({ id, project_id: project }),
      );
      if (json) sayJson(context, resumed);
      else note(context, `Session ${id} goes on with its next request, and may do the same twice as often.`);
    });
};

const list: SetUp = (command, context) =>
  command
    .argument('[id]', 'session to show with its requests')
    .option('--since <time>', 'only sessions with a request since then: 1h, 7d, today, YYYY-MM-DD')
    .option('-a, --agent <name>', 'only sessions of this agent: claude, codex, ...')
    .option(...ONLY_PROJECT)
    .addOption(
      new Option('--source <source>', 'through gw, imported (gw import), or both')
        .choices(USAGE_SOURCES)
        .default('all'),
    )
    .option('-n, --limit <count>', 'maximum number, the last active first', '50')
    .option(...AS_JSON)
    .action(async (id, { project, agent, since, source, json, ...options }) => {
      const limit = readCount(options.limit, '--limit', { min: 1, max: 1_000 });
      await withGateway(context, async (reader) => {
        const calendar = await reader.calendar();
        const from = parseTime(since, '--since', calendar, context.clock.now());
        const query = { project_id: project, agent, since: timeText(from), source, limit };
        const found = await (id === undefined ? reader.sessions(query) : reader.session({ id, ...query }));
        if (json) return sayJson(context, found);
        if (found.length === 0)
          return note(context, 'No sessions: no request named one. Agents that do: gw connect');
        const look = tableLook(context, calendar.timezone);
        say(context, sessionTable(found, look));
        if (id === undefined) return;
        const requests = await reader.requests({
          session: id,
          project_id: project,
          agent,
          limit: REQUESTS_SHOWN,
        });
        if (requests.length > 0) say(context, `\n${requestTable(requests, look)}`);
      });
    });

function sessionTable(sessions: SessionView[], { timezone, now, terminal }: TableLook): string {
  const timeText = timeColumn(
    sessions.map(({ last_at }) => Date.parse(last_at)),
    createTimeFormat(timezone),
    now,
  );
  const manyProjects = new Set(sessions.map(({ project_id }) => project_id)).size > 1;
  const isImported = sessions.some(({ source }) => source === 'imported');
  const columns: Column<SessionView>[] = [
    { header: 'session', value: ({ id }) => id, shrinks: true },
    { header: 'agent', value: ({ agent }) => agent ?? '-' },
    ...(isImported ? [{ header: 'source', value: ({ source }: SessionView) => source }] : []),
    ...(manyProjects
      ? [{ header: 'project', value: (row: SessionView) => row.project_id, shrinks: true }]
      : []),
    { header: 'last', value: ({ last_at }) => timeText(Date.parse(last_at)) },
    right('requests', (row) => count(row.requests)),
    {
      ...right('blocked', (row: SessionView) =>
        row.blocked_requests === 0 ? '-' : count(row.blocked_requests),
      ),
      optional: true,
    },
    ...(sessions.some(({ runaway }) => runaway !== null)
      ? [{ header: 'runaway', value: (row: SessionView) => row.runaway?.message ?? '-', shrinks: true }]
      : []),
    {
      ...right('in>out', (row: SessionView) => `${tokens(row.input_tokens)}>${tokens(row.output_tokens)}`),
      optional: true,
    },
    { header: 'cost', value: (row) => formatUsd(row.cost_nano_usd), align: 'right', style: 'bold' },
  ];
  return listText(sessions, columns, terminal, { title: `Sessions (${timezone})` });
}
