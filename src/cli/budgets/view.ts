import { formatUsd } from '../../money.ts';
import { budgetLabel, type Standing, thresholdOf } from '../../store/budgets/budgets.ts';
import { forecastOf, isOver, leftOf } from '../../store/budgets/forecast.ts';
import { gauge } from '../../terminal/bars.ts';
import { percent } from '../../terminal/numbers.ts';
import type { Palette } from '../../terminal/palette.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createTimeFormat, duration, type TimeFormat } from '../../terminal/time.ts';

const GAUGE_CELLS = 12;

interface ViewOptions {
  terminal: Terminal;
  timezone: string;
  now: number;
}

/** The budgets as a table: what is spent of each, what is left, and until when it will last. */
export function budgetTable(standings: Standing[], { terminal, timezone, now }: ViewOptions): string {
  const { palette, symbols } = terminal;
  const times = createTimeFormat(timezone);
  const urgent = [...standings].sort((a, b) => shareOf(b) - shareOf(a));
  const columns: Column<Standing>[] = [
    {
      header: ' ',
      value: mark,
      style: (text, row) => styleFor(row, palette)(text),
    },
    { header: 'budget', value: ({ budget }) => budgetLabel(budget), shrinks: true },
    {
      header: '',
      value: (row, width) => gauge(shareOf(row), width, symbols),
      fills: GAUGE_CELLS,
      style: (text, row) => (mark(row) === ' ' ? palette.accent(text) : styleFor(row, palette)(text)),
    },
    { header: '', value: (row) => percent(shareOf(row)), align: 'right' },
    { header: 'spent', value: (row) => formatUsd(row.posted), align: 'right' },
    { header: 'cap', value: ({ budget }) => capText(budget), align: 'right' },
    ...(urgent.some(({ pending }) => pending > 0) ? [held] : []),
    { header: 'left', value: (row) => formatUsd(leftOf(row)), align: 'right' },
    {
      header: 'forecast',
      value: (row) => forecastWords(row, times, now),
      style: (text, row) => styleFor(row, palette)(text),
    },
  ];
  const lines = table(urgent, columns, { terminal });
  const told = urgent.filter((row) => mark(row) !== ' ' || forecastOf(row, now).kind !== 'lasts');
  const sentences = told.map((row) => `  ${budgetLabel(row.budget)}: ${forecastText(row, times, now)}`);
  return [
    palette.bold(`Budgets (${timezone})`),
    '',
    ...lines,
    ...(sentences.length > 0 ? ['', ...sentences.map(palette.dim)] : []),
  ].join('\n');
}

const held: Column<Standing> = {
  header: 'held',
  value: (row) => (row.pending > 0 ? formatUsd(row.pending) : '-'),
  align: 'right',
};

function styleFor(row: Standing, palette: Palette): (text: string) => string {
  const sign = mark(row);
  return sign === 'X' ? palette.bad : sign === '!' ? palette.warn : (text) => text;
}

/** What to expect of a budget in two words, such as `out ~15:40`. */
export function forecastWords(standing: Standing, times: TimeFormat, now: number): string {
  const { budget, resetsAt } = standing;
  if (isAsGoodAsFull(standing)) return 'almost out';
  const forecast = forecastOf(standing, now);
  switch (forecast.kind) {
    case 'full':
      return budget.capNanoUsd === 0 ? 'blocked' : `until ${times.moment(resetsAt, now)}`;
    case 'runs_out':
      return `out ~${times.moment(forecast.at, now)}`;
    case 'lasts':
      return budget.period === 'rolling' ? 'ok' : `ok to ${times.moment(resetsAt, now)}`;
  }
}

/** What is left is less than most requests are held for: a forecast of when it is spent would promise them room. */
const SLIVER = 0.005;

function isAsGoodAsFull(standing: Standing): boolean {
  return !isOver(standing) && shareOf(standing) > 1 - SLIVER;
}

/** The spent share of the cap; a cap of $0 is full from the start. */
export function shareOf({ budget, posted }: Standing): number {
  return budget.capNanoUsd === 0 ? 1 : posted / budget.capNanoUsd;
}

/** `X` for a full budget, `!` from its alert on. */
export function mark(standing: Standing): string {
  if (isOver(standing)) return 'X';
  return standing.posted >= thresholdOf(standing.budget) ? '!' : ' ';
}

/** A cap, and the time that it is for where that is a sliding one: `$2.00 in 1h`. */
export function capText({ capNanoUsd, windowMs }: Standing['budget']): string {
  return `${formatUsd(capNanoUsd)}${windowMs === null ? '' : ` in ${duration(windowMs)}`}`;
}

/** What to expect of a budget, such as "at this pace the cap is reached at 15:40". */
export function forecastText(
  standing: Standing,
  times: ReturnType<typeof createTimeFormat>,
  now: number,
): string {
  const resets = times.moment(standing.resetsAt, now);
  if (isAsGoodAsFull(standing))
    return `as good as full: ${formatUsd(standing.budget.capNanoUsd - standing.posted)} left; resets ${resets}`;
  const forecast = forecastOf(standing, now);
  switch (forecast.kind) {
    case 'full':
      return standing.budget.capNanoUsd === 0
        ? 'no request that costs is let through'
        : `full: requests are refused until ${resets}`;
    case 'runs_out':
      return `at this pace the cap is reached at ${times.moment(forecast.at, now)}; resets ${resets}`;
    case 'lasts':
      return standing.budget.period === 'rolling' ? 'lasts at this pace' : `lasts until it resets, ${resets}`;
  }
}
