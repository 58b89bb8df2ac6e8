import { formatUsd } from '../../money.ts';
import { budgetLabel, budgetName, type Standing } from '../../store/budgets/budgets.ts';
import { gauge } from '../../terminal/bars.ts';
import { forecastWords, mark, shareOf } from '../../terminal/budget-words.ts';
import { type Look, MARKS, styleOf } from '../../terminal/look.ts';
import { percent } from '../../terminal/numbers.ts';
import { type Cell, lineOf } from '../../terminal/styled-lines.ts';
import { duration } from '../../terminal/time.ts';

/** The layout of a budget: everything on one line, the essentials on one line, or everything on two lines. */
export type Shape = 'wide' | 'narrow' | 'pair';

export interface BudgetLineOptions {
  shape: Shape;
  pausedProjects: readonly string[];
  /** The name of the selected budget. */
  selected: string | null;
  now: number;
  width: number;
  look: Look;
}

/** The least width at which one line holds everything. */
export const WIDE_BUDGET_FROM = 76;
const WIDTHS = { mark: 2, percent: 4, spent: 18, left: 9, forecast: 14, shortForecast: 11 };
const NAME_CELLS = 20;
const PAIR_GAUGE_CELLS = 16;
const LABEL_LEFT_FROM = 44;

/** The column labels of the wide shape. */
export const BUDGET_LABELS = [
  'spent/cap'.padStart(WIDTHS.spent),
  'left'.padStart(WIDTHS.left),
  ' forecast'.padEnd(WIDTHS.forecast),
].join(' ');

/** Renders a budget as lines of exactly the width. */
export function budgetLines(standing: Standing, options: BudgetLineOptions): string[] {
  const { shape, width, look } = options;
  switch (shape) {
    case 'wide':
      return [lineOf(wideCells(standing, options), look)];
    case 'narrow':
      return [lineOf(narrowCells(standing, options), look)];
    case 'pair': {
      const { mark, percent, style } = partsOf(standing, options);
      const name = width - WIDTHS.mark - PAIR_GAUGE_CELLS - WIDTHS.percent - 3;
      const amounts = { text: amountsText(standing, options), width: width - WIDTHS.mark - 1, style };
      return [
        lineOf(
          [mark, nameCell(standing, options, name), gaugeCell(standing, look, PAIR_GAUGE_CELLS), percent],
          look,
        ),
        lineOf([{ text: '', width: WIDTHS.mark }, amounts], look),
      ];
    }
  }
}

function wideCells(standing: Standing, options: BudgetLineOptions): Cell[] {
  const { mark, percent, left, style } = partsOf(standing, options);
  const { width, look } = options;
  const fixed = WIDTHS.mark + WIDTHS.percent + WIDTHS.spent + WIDTHS.left + WIDTHS.forecast + 6;
  const cells = Math.max(8, Math.min(24, Math.floor((width - fixed) / 2)));
  return [
    mark,
    nameCell(standing, options, width - fixed - cells),
    gaugeCell(standing, look, cells),
    percent,
    { text: spentText(standing), width: WIDTHS.spent, align: 'right' },
    left,
    { text: ` ${forecastOrPause(standing, options)}`, width: WIDTHS.forecast, style },
  ];
}

function narrowCells(standing: Standing, options: BudgetLineOptions): Cell[] {
  const { mark, percent, left, style } = partsOf(standing, options);
  const room = options.width - WIDTHS.mark - WIDTHS.percent - WIDTHS.left - 4;
  const name = Math.min(NAME_CELLS, room - WIDTHS.shortForecast);
  const forecast = { text: forecastOrPause(standing, options), width: room - name, style };
  return [mark, nameCell(standing, options, name), percent, left, forecast];
}

/** The cells that all shapes share, and the style that shows the state. */
function partsOf(standing: Standing, { selected, look }: BudgetLineOptions) {
  const sign = mark(standing);
  const style = styleOf(sign, look);
  const pointer = budgetName(standing.budget) === selected ? '>' : ' ';
  return {
    style,
    mark: { text: `${pointer}${sign}`, width: WIDTHS.mark, style } satisfies Cell,
    percent: { text: percent(shareOf(standing)), width: WIDTHS.percent, align: 'right' } satisfies Cell,
    left: { text: leftText(standing), width: WIDTHS.left, align: 'right', style } satisfies Cell,
  };
}

function nameCell({ budget }: Standing, { selected, look }: BudgetLineOptions, width: number): Cell {
  const text = budgetLabel(budget);
  return budgetName(budget) === selected ? { text, width, style: look.palette.bold } : { text, width };
}

function gaugeCell(standing: Standing, look: Look, width: number): Cell {
  const sign = mark(standing);
  const style = sign === MARKS.none ? look.palette.accent : styleOf(sign, look);
  return { text: gauge(shareOf(standing), width, look.symbols), width, style };
}

function amountsText(standing: Standing, options: BudgetLineOptions): string {
  const left = leftText(standing);
  const labelled = left === BLOCKED || options.width < LABEL_LEFT_FROM ? left : `${left} left`;
  return `${spentText(standing)}  ${labelled}  ${forecastOrPause(standing, options)}`;
}

function spentText({ budget, posted }: Standing): string {
  const window = budget.windowMs === null ? '' : `/${shortDuration(budget.windowMs)}`;
  return `${formatUsd(posted)}/${formatUsd(budget.capNanoUsd)}${window}`;
}

/** Like `duration`, but `1h` for `1h00m`. */
function shortDuration(ms: number): string {
  return duration(ms).replace(/(?<=[hm])00[ms]$/, '');
}

const BLOCKED = 'BLOCK';

function leftText(standing: Standing): string {
  const { budget, posted, pending } = standing;
  if (mark(standing) === MARKS.bad) return BLOCKED;
  return formatUsd(Math.max(0, budget.capNanoUsd - posted - pending));
}

function forecastOrPause(standing: Standing, { now, look, pausedProjects }: BudgetLineOptions): string {
  if (pausedProjects.includes(standing.budget.projectName)) return 'paused';
  return forecastWords(standing, look.times, now);
}
