import { formatUsd } from '../../money.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import { budgetLabel } from '../../store/ledger/terms.ts';
import { gauge } from '../../terminal/bars.ts';
import { capText, forecastText, forecastWords, mark, shareOf } from '../../terminal/budget-words.ts';
import { styleOf } from '../../terminal/look.ts';
import { percent, usdText } from '../../terminal/numbers.ts';
import { type Column, right } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { listText } from '../print-list.ts';

const GAUGE_CELLS = 12;

interface ViewOptions {
  terminal: Terminal;
  timezone: string;
  now: number;
}

/** A table of budgets, fullest first: spent, left and forecast. */
export function budgetTable(budgets: BudgetView[], { terminal, timezone, now }: ViewOptions): string {
  const { palette, symbols } = terminal;
  const times = createTimeFormat(timezone);
  const urgent = [...budgets].sort((a, b) => shareOf(b) - shareOf(a));
  const style = (text: string, row: BudgetView) => styleOf(mark(row), terminal)(text);
  const columns: Column<BudgetView>[] = [
    { header: ' ', value: mark, style },
    { header: 'budget', value: ({ id }) => budgetLabel(id), shrinks: true },
    {
      header: '',
      value: (row, width) => gauge(shareOf(row), width, symbols),
      fills: GAUGE_CELLS,
      style: (text, row) => (mark(row) === ' ' ? palette.accent(text) : style(text, row)),
    },
    right('', (row) => percent(shareOf(row))),
    right('spent', (row) => formatUsd(row.spent_nano_usd)),
    right('cap', capText),
    ...(urgent.some(({ held_nano_usd }) => held_nano_usd > 0) ? [heldColumn] : []),
    right('left', (row) => formatUsd(row.left_nano_usd)),
    ...(urgent.some(({ team }) => team) ? [grantedColumn] : []),
    ...(urgent.some(({ on_limit }) => on_limit !== 'block') ? [onLimitColumn] : []),
    { header: 'forecast', value: (row) => forecastWords(row, times, now), style },
  ];
  const notable = urgent.filter((row) => mark(row) !== ' ' || row.reached_at !== null);
  const sentences = notable.map((row) => `  ${budgetLabel(row.id)}: ${forecastText(row, times, now)}`);
  return listText(urgent, columns, terminal, { title: `Budgets (${timezone})`, below: sentences });
}

/** Amount of a team's budget that is granted to this gateway. */
const grantedColumn: Column<BudgetView> = {
  header: 'granted',
  value: ({ granted_usd: granted }) => (granted === undefined ? '-' : usdText(granted)),
  align: 'right',
  optional: true,
};

const onLimitColumn: Column<BudgetView> = {
  header: 'on limit',
  value: ({ on_limit, fallback }) => fallback?.[0] ?? on_limit,
  optional: true,
};

const heldColumn: Column<BudgetView> = {
  header: 'held',
  value: (row) => (row.held_nano_usd > 0 ? formatUsd(row.held_nano_usd) : '-'),
  align: 'right',
  optional: true,
};
