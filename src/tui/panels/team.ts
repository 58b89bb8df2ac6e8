import type { TeamView } from '../../operations/schemas/team.ts';
import type { TeamUsageView } from '../../operations/schemas/usage.ts';
import type { Look } from '../../terminal/look.ts';
import { usdText } from '../../terminal/numbers.ts';
import { heading, lineOf, textLine } from '../../terminal/styled-lines.ts';
import type { Block } from '../frame.ts';
import type { TeamState } from '../state/state.ts';
import type { Area } from './lines.ts';
import { drawSpenders, type Spender } from './spenders.ts';

interface TeamProps extends TeamState, Area {
  now: number;
  /** The row of its first line. */
  top: number;
}

/** Minimum width for gateways and models side by side. */
const TWO_COLUMNS_FROM = 100;
const GAP = 2;
const AMOUNT_CELLS = 9;

/** The team: reachability of its database, its budgets, and today's spend. */
export function drawTeam({ team, usage, failure, now, top, width, height, look }: TeamProps): Block[] {
  if (!team) return [];
  const title = `TEAM ${team.name}: gateway ${team.gateway_id}, ${team.gateway}`;
  const hint = textLine(' t or esc back', width, look, look.palette.dim);
  const budgets = budgetLines(team, width, look);
  const lines = [
    heading({ title }, width, look),
    ...stateLines({ team, usage, failure, now }, width, look),
    ...budgets.slice(0, Math.max(2, Math.floor(height / 3))),
  ].slice(0, height - 1);
  const room = height - lines.length - 1;
  const isWide = width >= TWO_COLUMNS_FROM;
  const column = isWide ? Math.floor((width - GAP) / 2) : width;
  const rows = isWide ? room : Math.ceil(room / 2);
  const own = usage?.gateways.scope === 'own' ? ', OWN ONES' : '';
  const y = top + lines.length;
  const side = isWide ? { x: column + GAP, y } : { x: 0, y: y + rows };
  return [
    { x: 0, y: top, lines },
    {
      ...{ x: 0, y },
      lines: drawSpenders({
        ...{ title: `GATEWAYS TODAY${own}`, width: column, height: rows, look },
        spenders: spendersOf(usage?.gateways, 'gateway'),
      }),
    },
    {
      ...side,
      lines: drawSpenders({
        ...{ title: 'MODELS TODAY', width: column, height: isWide ? rows : room - rows, look },
        spenders: spendersOf(usage?.models, 'model'),
      }),
    },
    { x: 0, y: top + height - 1, lines: [hint] },
  ];
}

function spendersOf(usage: TeamUsageView | undefined, name: 'gateway' | 'model'): Spender[] {
  return (usage?.data ?? []).map((row) => ({
    name: `${row[name] ?? ''}${row.member === undefined ? '' : ` (${row.member})`}`,
    requests: row.requests,
    costNanoUsd: row.cost_nano_usd,
  }));
}

type Shown = Pick<TeamProps, 'usage' | 'failure' | 'now'> & { team: TeamView };

function stateLines({ team, usage, failure, now }: Shown, width: number, look: Look): string[] {
  const { palette, times } = look;
  const since = Math.min(
    team.unreachable_since === null ? Number.POSITIVE_INFINITY : Date.parse(team.unreachable_since),
    failure?.since ?? Number.POSITIVE_INFINITY,
  );
  const asOf = usage ? `, usage as of ${times.time(usage.at)}` : '';
  if (Number.isFinite(since)) {
    const why = failure?.message ?? team.failure ?? 'no answer';
    return [
      textLine(
        ` X PostgreSQL not reachable since ${times.moment(since, now)}${asOf}`,
        width,
        look,
        palette.bad,
      ),
      textLine(`   ${why}`, width, look, palette.dim),
    ];
  }
  const synced =
    team.synced_at === null ? 'not synced yet' : `synced at ${times.time(Date.parse(team.synced_at))}`;
  const frozen = team.frozen ? ', frozen after a failover: gw team recover' : '';
  const line = ` ${synced}${frozen}${usage ? asOf : ', reading usage ...'}`;
  return [textLine(line, width, look, team.frozen ? palette.warn : undefined)];
}

function budgetLines({ budgets }: TeamView, width: number, look: Look): string[] {
  if (budgets.length === 0) return [textLine(' no budgets: gw team budgets set 50', width, look)];
  const cells = (name: string, amounts: readonly string[]) =>
    lineOf(
      [
        { text: '', width: 0 },
        { text: name, width: Math.max(8, width - amounts.length * (AMOUNT_CELLS + 1) - 1) },
        ...amounts.map((text) => ({ text, width: AMOUNT_CELLS, align: 'right' as const })),
      ],
      look,
    );
  const usd = (amount: number | undefined) => usdText(amount ?? 0);
  return [
    look.palette.dim(cells('budget', ['spent', 'cap', 'left', 'granted'])),
    ...budgets.map(({ id, spent_usd, cap_usd, team_left_usd, granted_usd }) =>
      cells(id, [spent_usd, cap_usd, team_left_usd, granted_usd].map(usd)),
    ),
  ];
}
