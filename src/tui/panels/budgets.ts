import { formatUsd } from '../../money.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import { budgetLabel } from '../../store/ledger/terms.ts';
import { budgetBar } from '../../terminal/bars.ts';
import { forecastWords, mark, shareOf, sharesOf } from '../../terminal/budget-words.ts';
import { pasteable } from '../../terminal/command-names.ts';
import { MARKS, styleOf } from '../../terminal/look.ts';
import { percent, usdText } from '../../terminal/numbers.ts';
import { type Cell, lineOf, textLine } from '../../terminal/styled-lines.ts';
import { clean, widthOf } from '../../terminal/text.ts';
import { duration } from '../../terminal/time.ts';
import { budgetHeight, WIDE_BUDGET_FROM } from '../state/layout.ts';
import { topFor } from '../state/selection.ts';
import { type Area, section } from './lines.ts';

interface BudgetsProps extends Area {
  /** Most urgent first. */
  budgets: readonly BudgetView[];
  pausedProjects: readonly string[];
  /** The name of the selected budget. */
  selected: string | null;
  focused: boolean;
  now: number;
  sort: string;
  /** The searched text; '' if none. */
  search: string;
}

/** The budgets: spent and remaining amounts, and a forecast. */
export function drawBudgets(props: BudgetsProps): string[] {
  const { budgets, selected, width, height, look, focused, sort, search } = props;
  const shape = shapeFor(props);
  const rows = Math.max(1, Math.floor((height - 1) / (shape === 'pair' ? 2 : 1)));
  const at = budgets.findIndex(({ id }) => id === selected);
  const top = topFor(at, rows, budgets.length);
  const notes = [
    ...(budgets.length > rows ? [String(budgets.length)] : []),
    ...(search === '' ? [] : [`"${clean(search)}"`]),
    ...(sort === 'urgency' ? [] : [`by ${sort}`]),
  ];
  const title = notes.length > 0 ? `BUDGETS (${notes.join(', ')})` : 'BUDGETS';
  const labels = shape === 'wide' ? BUDGET_LABELS.padStart(width) : '';
  const shown = budgets.slice(top, top + rows);
  const names = shown.map((budget) => widthOf(nameText(budget, width)));
  const lines = shown.flatMap((budget) => budgetLines(budget, { ...props, shape, name: Math.max(...names) }));
  const none =
    search === ''
      ? pasteable('   none: spending is not limited. To cap it: gw budget set 5', look.gw)
      : '   none with this text: esc shows all';
  return section({
    title,
    labels,
    focused,
    width,
    height,
    look,
    lines: lines.length > 0 ? lines : [textLine(none, width, look)],
  });
}

function shapeFor({ budgets, width, height }: BudgetsProps): Shape {
  if (width >= WIDE_BUDGET_FROM) return 'wide';
  return budgetHeight(budgets.length, { width, height }) === 2 ? 'pair' : 'narrow';
}

/**
 * Layout of a budget. wide: everything on one line. narrow: the essentials on one line. pair: everything on two lines.
 */
type Shape = 'wide' | 'narrow' | 'pair';

interface BudgetLineOptions extends BudgetsProps {
  shape: Shape;
  /** Cells of the longest name. */
  name: number;
}

const WIDTHS = { mark: 2, percent: 4, spent: 18, left: 9, forecast: 16, shortForecast: 11 };
const MIN_NAME = 8;
const MIN_BAR = 8;
const NAME_CELLS = 20;
const LABEL_LEFT_FROM = 44;

/** Column labels of the wide shape. */
const BUDGET_LABELS = [
  'spent/cap'.padStart(WIDTHS.spent),
  'left'.padStart(WIDTHS.left),
  ' forecast'.padEnd(WIDTHS.forecast),
].join(' ');

/** Renders a budget as lines that are exactly `width` wide. */
function budgetLines(budget: BudgetView, options: BudgetLineOptions): string[] {
  const { shape, width, look } = options;
  switch (shape) {
    case 'wide':
      return [lineOf(wideCells(budget, options), look)];
    case 'narrow':
      return [lineOf(narrowCells(budget, options), look)];
    case 'pair': {
      const { mark, percent, style } = partsOf(budget, options);
      const room = width - WIDTHS.mark - WIDTHS.percent - 3;
      const name = nameCells(options, room);
      const amounts = { text: amountsText(budget, options), width: width - WIDTHS.mark - 1, style };
      return [
        lineOf([mark, nameCell(budget, options, name), barCell(budget, options, room - name), percent], look),
        lineOf([{ text: '', width: WIDTHS.mark }, amounts], look),
      ];
    }
  }
}

/** Bars begin after the longest name, and have all that is left. */
function nameCells({ name }: BudgetLineOptions, room: number): number {
  return Math.max(MIN_NAME, Math.min(name, room - MIN_BAR));
}

function wideCells(budget: BudgetView, options: BudgetLineOptions): Cell[] {
  const { mark, percent, left, style } = partsOf(budget, options);
  const fixed = WIDTHS.mark + WIDTHS.percent + WIDTHS.spent + WIDTHS.left + WIDTHS.forecast + 6;
  const room = options.width - fixed;
  const name = nameCells(options, room);
  return [
    mark,
    nameCell(budget, options, name),
    barCell(budget, options, room - name),
    percent,
    { text: spentText(budget), width: WIDTHS.spent, align: 'right' },
    left,
    { text: ` ${forecastOrPause(budget, options)}`, width: WIDTHS.forecast, style },
  ];
}

function narrowCells(budget: BudgetView, options: BudgetLineOptions): Cell[] {
  const { mark, percent, left, style } = partsOf(budget, options);
  const room = options.width - WIDTHS.mark - WIDTHS.percent - WIDTHS.left - 4;
  const name = Math.min(NAME_CELLS, room - WIDTHS.shortForecast);
  const forecast = { text: forecastOrPause(budget, options), width: room - name, style };
  return [mark, nameCell(budget, options, name), percent, left, forecast];
}

/** Cells that several shapes share, and the style of the budget's state. */
function partsOf(budget: BudgetView, { selected, look }: BudgetLineOptions) {
  const sign = mark(budget);
  const style = styleOf(sign, look);
  const pointer = budget.id === selected ? '>' : ' ';
  return {
    style,
    mark: { text: `${pointer}${sign}`, width: WIDTHS.mark, style } satisfies Cell,
    percent: { text: percent(shareOf(budget)), width: WIDTHS.percent, align: 'right' } satisfies Cell,
    left: { text: leftText(budget), width: WIDTHS.left, align: 'right', style } satisfies Cell,
  };
}

function nameCell(budget: BudgetView, { selected, look }: BudgetLineOptions, width: number): Cell {
  const text = nameText(budget, width);
  return budget.id === selected ? { text, width, style: look.palette.bold } : { text, width };
}

/** The name. For a team's budget also the amount granted here, if there is room. */
function nameText({ id, team, granted_usd: granted = 0 }: BudgetView, width: number): string {
  const name = budgetLabel(id);
  const here = `${name} (${usdText(granted)} here)`;
  return team && widthOf(here) <= width ? here : name;
}

/** What is spent, held and forecast, in three shades. */
function barCell(budget: BudgetView, { now, look }: BudgetLineOptions, width: number): Cell {
  const sign = mark(budget);
  const { palette, symbols } = look;
  const spent = sign === MARKS.none ? palette.accent : styleOf(sign, look);
  const styles = [spent, palette.held, palette.dim, palette.dim];
  const parts = budgetBar(sharesOf(budget, now), width, symbols);
  const text = parts.join('');
  return { text, width, style: () => parts.map((part, i) => styles[i]?.(part) ?? part).join('') };
}

function amountsText(budget: BudgetView, options: BudgetLineOptions): string {
  const left = leftText(budget);
  const labelled = left === BLOCKED || options.width < LABEL_LEFT_FROM ? left : `${left} left`;
  return `${spentText(budget)}  ${labelled}  ${forecastOrPause(budget, options)}`;
}

function spentText({ spent_nano_usd, cap_nano_usd, window_seconds }: BudgetView): string {
  const window = window_seconds === null ? '' : `/${shortDuration(window_seconds * 1_000)}`;
  return `${formatUsd(spent_nano_usd)}/${formatUsd(cap_nano_usd)}${window}`;
}

/** Like `duration`, but `1h` for `1h00m`. */
const shortDuration = (ms: number): string => duration(ms).replace(/(?<=[hm])00[ms]$/, '');

const BLOCKED = 'BLOCK';

function leftText(budget: BudgetView): string {
  if (mark(budget) === MARKS.bad) return BLOCKED;
  return formatUsd(budget.left_nano_usd);
}

function forecastOrPause(budget: BudgetView, { now, look, pausedProjects }: BudgetLineOptions): string {
  if (pausedProjects.includes(budget.project_id)) return 'paused';
  return forecastWords(budget, look.times, now);
}
