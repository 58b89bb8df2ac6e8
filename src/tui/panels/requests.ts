import type { RequestId } from '../../ids.ts';
import { budgetLabel } from '../../store/budgets/budgets.ts';
import type { FeedFilter } from '../../store/dashboard/feed.ts';
import { feedCells, feedColumns, feedHeader } from '../../terminal/feed-line.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { lineOf, textLine } from '../../terminal/styled-lines.ts';
import { topFor } from '../state/selection.ts';
import type { Sort } from '../state/sorting.ts';
import type { FeedEntry } from '../state/state.ts';
import { type Area, section } from './lines.ts';

interface RequestsProps extends Area {
  entries: readonly FeedEntry[];
  selected: RequestId | null;
  filter: FeedFilter;
  sort: Sort;
  /** Number of requests since the feed was held; undefined while it follows. */
  newer: number | undefined;
  focused: boolean;
  /** How many there are. */
  projects: number;
  /** URL for clients; shown while there are no requests. */
  baseUrl: string;
}

/** The newest requests, one per line. */
export function drawRequests(props: RequestsProps): string[] {
  const { entries, selected, projects, width, height, look, focused } = props;
  const columns = feedColumns(width, projects);
  const visible = Math.max(0, height - 2);
  const top = topFor(
    entries.findIndex(({ row }) => row.id === selected),
    visible,
    entries.length,
  );
  const rows = entries.slice(top, top + visible).map((entry) =>
    lineOf(
      feedCells(entry.row, columns, look, {
        selected: entry.row.id === selected,
        note: blockNote(entry, look),
      }),
      look,
    ),
  );
  const header = textLine(feedHeader(columns), width, look, look.palette.dim);
  const lines = entries.length > 0 ? [header, ...rows] : emptyLines(props);
  const heading = { title: titleOf(props), labels: hintOf(props), focused };
  return section({ ...heading, width, height, look, lines });
}

function titleOf({ filter, sort }: RequestsProps): string {
  const text = filter.text === '' ? '' : ` "${filter.text}"`;
  return `REQUESTS (${filter.kind}${text}${sort === 'time' ? '' : `, by ${sort}`})`;
}

function hintOf({ newer, width }: RequestsProps): string {
  if (newer === undefined) return '';
  const hint = newer > 0 ? `held, ${count(newer)} newer: esc` : 'held: esc to follow';
  return hint.padStart(width);
}

function blockNote({ row, count: times, since }: FeedEntry, { times: clock }: Look): string | undefined {
  if (row.outcome !== 'blocked') return undefined;
  const full = `${budgetLabel(row.budget ?? 'budget')} full`;
  return times > 1 ? `x${times} ${full} since ${clock.time(since).slice(0, 5)}` : full;
}

function emptyLines({ filter, baseUrl, width, look }: RequestsProps): string[] {
  const line = (text: string) => textLine(`   ${text}`, width, look);
  const command = (text: string) => textLine(`   ${text}`, width, look, look.palette.accent);
  if (filter.kind !== 'all' || filter.text !== '')
    return [line('none of the last 20,000 requests'), line('esc shows all')];
  return [
    line('No requests yet. Point this shell, and what starts from it, at gw:'),
    '',
    command('eval "$(gw env)"'),
    '',
    line('and try the built-in model, which needs no provider:'),
    '',
    command(`curl ${baseUrl}/chat/completions -H "Authorization: Bearer $OPENAI_API_KEY" \\`),
    command(`  -H 'Content-Type: application/json' \\`),
    command(`  -d '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hello"}]}'`),
  ];
}
