import { formatUsd } from '../../money.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import type { UsageViewRow } from '../../operations/schemas/usage.ts';
import type { Look } from '../../terminal/look.ts';
import { plural, tokens } from '../../terminal/numbers.ts';
import { costOf } from '../../terminal/request-words.ts';
import { textLine } from '../../terminal/styled-lines.ts';
import { clean, pad } from '../../terminal/text.ts';
import {
  chosenRequest,
  chosenSession,
  type Drill,
  levelOf,
  shownRequests,
  shownSessions,
} from '../state/drill.ts';
import { topFor } from '../state/selection.ts';
import { drawDetail } from './detail.ts';
import { type Area, section } from './lines.ts';

interface DrilledProps extends Area {
  drill: Drill;
}

const DEFAULT_ORDERS = { sessions: 'cost', requests: 'time' };

/** The sessions that spent a budget, the requests of a session, or a request. */
export function drawDrilled({ drill, ...area }: DrilledProps): string[] {
  const { width, height, look } = area;
  const { budget, problem } = drill;
  const selected = chosenRequest(drill);
  if (drill.detailOpen && selected) return drawDetail({ request: selected, ...area });
  const session = chosenSession(drill);
  const level = levelOf(drill);
  const text = drill.text[level] === '' ? '' : ` "${clean(drill.text[level])}"`;
  const order = drill.sort[level];
  const how = order === DEFAULT_ORDERS[level] ? text : `${text} by ${order}`;
  const title =
    session === undefined
      ? `SESSIONS${how} of ${budget.id}: ${formatUsd(budget.spent_nano_usd)} spent${budget.team ? ' by the team, here by' : ''}`
      : `REQUESTS${how} of session ${clean(session)}`;
  const room = { width, height: height - 2, look };
  const rows =
    session === undefined
      ? rowsOf(shownSessions(drill), sessionText, drill.session, problem, room)
      : rowsOf(shownRequests(drill), requestText, drill.request, problem, room);
  const hint = textLine(
    ' j/k move   enter opens   / search   o sort   y copy id   esc back',
    width,
    look,
    look.palette.dim,
  );
  return section({ ...area, title, lines: [hint, ...rows] });
}

function rowsOf<T>(
  all: readonly T[] | null | undefined,
  textOf: (row: T, look: Look) => string,
  at: number,
  problem: string | null,
  { width, height, look }: Area,
): string[] {
  if (problem !== null) return [textLine(` ${problem}`, width, look, look.palette.bad)];
  if (!all) return [textLine(' reading ...', width, look)];
  if (all.length === 0) return [textLine(' nothing in this period', width, look)];
  const top = topFor(at, height, all.length);
  return all.slice(top, top + height).map((row, i) => {
    const text = textOf(row, look);
    return top + i === at
      ? textLine(`>${text}`, width, look, look.palette.accent)
      : textLine(` ${text}`, width, look);
  });
}

const COST_CELLS = 12;

function sessionText({ session = '', requests, cost_nano_usd }: UsageViewRow): string {
  const name = session === 'unknown' ? 'without a session' : clean(session);
  return `${pad(formatUsd(cost_nano_usd), COST_CELLS)}${pad(plural(requests, 'request'), 15)}${name}`;
}

function requestText(request: RequestView, look: Look): string {
  const { created_at, model, asked_model, status, input_tokens, output_tokens, cost_nano_usd, flags } =
    request;
  const cost = costOf({ costNanoUsd: cost_nano_usd, flags });
  const amount = `${tokens(input_tokens)}>${tokens(output_tokens)}`;
  return `${look.times.time(Date.parse(created_at))} ${pad(cost, COST_CELLS)}${pad(amount, 14)}${pad(String(status || '-'), 5)}${clean(model || asked_model)}`;
}
