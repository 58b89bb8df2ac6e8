import type { CacheView } from '../../operations/schemas/cache.ts';
import { timeText } from '../../operations/times.ts';
import { plural, tokens, usdText } from '../../terminal/numbers.ts';
import { missCause, missPlace } from '../../terminal/request-words.ts';
import { type Column, right } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { AS_JSON, ONLY_PROJECT, type SetUp } from '../command.ts';
import { note, say, sayJson, screenOf } from '../context.ts';
import { parseSince, readCount } from '../input/values.ts';
import { listText } from '../print-list.ts';
import { withGateway } from '../with-gateway.ts';

const SINCE_START =
  "Prompts are compared in memory: a session's first request after gw starts shows no miss.";

export const cache: SetUp = (command, context) =>
  command
    .option('--session <id>', 'only this session: gw sessions')
    .option('--since <time>', 'only requests since then: 1h, 30d, today, YYYY-MM-DD', '7d')
    .option(...ONLY_PROJECT)
    .option('-n, --limit <count>', 'maximum number, the newest first; the total is of all', '200')
    .option(...AS_JSON)
    .action(async ({ session, since, project, limit, json }) => {
      const most = readCount(limit, '--limit', { min: 1, max: 1_000 });
      await withGateway(context, async (reader) => {
        const from = parseSince(since, await reader.calendar(), context.clock.now());
        const report = await reader.cache({
          session,
          project_id: project,
          since: timeText(from),
          limit: most,
        });
        if (json) return sayJson(context, report);
        if (report.total.requests === 0)
          return note(context, `No cache misses in that time. What caches served: gw usage. ${SINCE_START}`);
        say(context, cacheTable(report, screenOf(context)));
      });
    });

type Miss = CacheView['data'][number];

/** A session of an agent, and what it missed for one reason. */
interface Group extends Pick<Miss, 'session_id' | 'agent' | 'cause' | 'missed_tokens' | 'missed_usd'> {
  requests: number;
  /** The newest one. */
  example: Miss;
}

/** Misses by session and cause, the dearest first. */
function cacheTable({ data, total }: CacheView, terminal: Terminal): string {
  const columns: Column<Group>[] = [
    { header: 'session', value: ({ session_id }) => session_id ?? '-', shrinks: true },
    ...(data.some(({ agent }) => agent !== null)
      ? [{ header: 'agent', value: ({ agent }: Group) => agent ?? '-' }]
      : []),
    right('misses', ({ requests }) => String(requests)),
    { header: 'why', value: ({ cause }) => missCause(cause) },
    { header: 'where', value: ({ example }) => missPlace(example) || '-', shrinks: true },
    right('tokens', (group) => tokens(group.missed_tokens)),
    { header: 'paid extra', value: (group) => usdText(group.missed_usd), align: 'right', style: 'bold' },
    { header: 'request', value: ({ example }) => example.request_id },
  ];
  const groups = groupsOf(data);
  const hidden = total.requests - data.length;
  return listText(groups, columns, terminal, {
    title: `Cache misses: ${plural(total.missed_tokens, 'token')} could have been read, ${usdText(total.missed_usd)} paid extra`,
    below: [
      ...(hidden > 0 ? [`${plural(hidden, 'older one')} not listed: -n ${total.requests}`] : []),
      `details: gw requests ${groups[0]?.example.request_id ?? 'ID'}`,
      SINCE_START,
    ],
  });
}

function groupsOf(misses: readonly Miss[]): Group[] {
  const groups = new Map<string, Group>();
  for (const miss of misses) {
    const { session_id, agent, cause, missed_tokens, missed_usd } = miss;
    const key = JSON.stringify([session_id, agent, cause]);
    const group = groups.get(key);
    if (!group) {
      groups.set(key, { session_id, agent, cause, missed_tokens, missed_usd, requests: 1, example: miss });
      continue;
    }
    group.requests++;
    group.missed_tokens += missed_tokens;
    group.missed_usd += missed_usd;
  }
  return [...groups.values()].sort(
    (a, b) => b.missed_usd - a.missed_usd || b.missed_tokens - a.missed_tokens,
  );
}
