import { formatUsd } from '../../money.ts';
import { budgetLabel, type Standing } from '../../store/budgets/budgets.ts';
import { forecastOf, leftOf } from '../../store/budgets/forecast.ts';
import { gauge } from '../../terminal/bars.ts';
import { capText, forecastText, forecastWords, mark, shareOf } from '../../terminal/budget-words.ts';
import { styleOf } from '../../terminal/look.ts';
import { percent } from '../../terminal/numbers.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';

const GAUGE_CELLS = 12;

interface ViewOptions {
  terminal: Terminal;
  timezone: string;
  now: number;
}

/** A table of budgets, fullest first: spent, left and forecast. */
export function budgetTable(standings: Standing[], { terminal, timezone, now }: ViewOptions): string {
  const { palette, symbols } = terminal;
  const times = createTimeFormat(timezone);
  const urgent = [...standings].sort((a, b) => shareOf(b) - shareOf(a));
  const style = (text: string, row: Standing) => styleOf(mark(row), terminal)(text);
  const columns: Column<Standing>[] = [
    { header: ' ', value: mark, style },
    { header: 'budget', value: ({ budget }) => budgetLabel(budget), shrinks: true },
    {
      header: '',
      value: (row, width) => gauge(shareOf(row), width, symbols),
      fills: GAUGE_CELLS,
      style: (text, row) => (mark(row) === ' ' ? palette.accent(text) : style(text, row)),
    },
    { header: '', value: (row) => percent(shareOf(row)), align: 'right' },
    { header: 'spent', value: (row) => formatUsd(row.posted), align: 'right' },
    { header: 'cap', value: ({ budget }) => capText(budget), align: 'right' },
    ...(urgent.some(({ pending }) => pending > 0) ? [heldColumn] : []),
    { header: 'left', value: (row) => formatUsd(leftOf(row)), align: 'right' },
    { header: 'forecast', value: (row) => forecastWords(row, times, now), style },
  ];
  const lines = table(urgent, columns, { terminal });
  const notable = urgent.filter((row) => mark(row) !== ' ' || forecastOf(row, now).kind !== 'lasts');
  const sentences = notable.map((row) => `  ${budgetLabel(row.budget)}: ${forecastText(row, times, now)}`);
  return [
    palette.bold(`Budgets (${timezone})`),
    '',
    ...lines,
    ...(sentences.length > 0 ? ['', ...sentences.map(palette.dim)] : []),
  ].join('\n');
}

const heldColumn: Column<Standing> = {
  header: 'held',
  value: (row) => (row.pending > 0 ? formatUsd(row.pending) : '-'),
  align: 'right',
};
