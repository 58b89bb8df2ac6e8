import { forecastOf } from '../../cli/budgets/forecast.ts';
import { mark, shareOf } from '../../cli/budgets/view.ts';
import { gauge } from '../../cli/output/bars.ts';
import { percent } from '../../cli/output/numbers.ts';
import { duration } from '../../cli/output/time.ts';
import { formatUsd } from '../../money.ts';
import { budgetName, type Standing } from '../../store/budgets.ts';
import { type Cell, heading, lineOf, textLine } from '../lines.ts';
import { type Look, MARKS, styleOf } from '../look.ts';
import { topFor } from '../selection.ts';
import { Lines } from './lines.tsx';

export interface BudgetsProps {
  /** Most urgent first. */
  standings: readonly Standing[];
  pausedProjects: readonly string[];
  /** The name of the selected one. */
  selected: string | null;
  focused: boolean;
  now: number;
  width: number;
  height: number;
  look: Look;
}

/** Where there is height for it, a budget in a narrow column gets two lines. */
const LINES_OF_TWO = 2;
const WIDE_FROM = 76;
const NARROW_FORECAST = 11;
const LEFT_NAMED_FROM = 44;

/** The budgets with what is spent and left of them, and for how long that will do. */
export function Budgets(props: BudgetsProps) {
  const { standings, selected, width, height, look, focused } = props;
  const wide = width >= WIDE_FROM;
  const each = wide || height - 1 < standings.length * LINES_OF_TWO ? 1 : 2;
  const shown = Math.max(1, Math.floor((height - 1) / each));
  const at = standings.findIndex(({ budget }) => budgetName(budget) === selected);
  const top = topFor(at, shown, standings.length);
  const rows = standings.slice(top, top + shown);
  const below = standings.length - top - rows.length;
  const title = below > 0 || top > 0 ? `BUDGETS (${standings.length})` : 'BUDGETS';
  const labels = wide ? ' '.repeat(width - LABELS.length) + LABELS : '';
  const lines =
    standings.length === 0
      ? [textLine('   none: spending is not limited. To cap it: gw budget set 5', width, look)]
      : rows.flatMap((standing) => linesOf(standing, each, props));
  return (
    <Lines
      lines={[heading({ title, labels, focused }, width, look), ...lines]}
      width={width}
      height={height}
    />
  );
}

const WIDTHS = { spent: 18, left: 9, forecast: 14 };
const LABELS = [
  'spent/cap'.padStart(WIDTHS.spent),
  'left'.padStart(WIDTHS.left),
  ' forecast'.padEnd(WIDTHS.forecast),
].join(' ');

function linesOf(standing: Standing, each: number, props: BudgetsProps): string[] {
  const { width, look } = props;
  const cells = cellsOf(standing, props);
  if (width < WIDE_FROM && each === 1) {
    const { mark, name, percent, left, forecast } = cells;
    const used = mark.width + percent.width + left.width + 4;
    const wanted = Math.min(name.width, width - used - NARROW_FORECAST);
    return [
      lineOf(
        [
          mark,
          { ...name, width: wanted },
          percent,
          left,
          { ...forecast, text: forecast.text.trim(), width: width - used - wanted },
        ],
        look,
      ),
    ];
  }
  const { mark, name, bar, percent, spent, left, forecast } = cells;
  if (each === 2) {
    const rest = width - mark.width - bar.width - percent.width - 3;
    const leftText = left.text === 'BLOCK' || width < LEFT_NAMED_FROM ? left.text : `${left.text} left`;
    const amounts = `${spent.text}  ${leftText} ${forecast.text}`;
    return [
      lineOf([mark, { ...name, width: rest }, bar, percent], look),
      lineOf(
        [
          { text: '', width: mark.width },
          { ...forecast, text: amounts, width: width - mark.width - 1 },
        ],
        look,
      ),
    ];
  }
  const fixed = mark.width + percent.width + spent.width + left.width + forecast.width + 6;
  const bars = Math.max(8, Math.min(24, Math.floor((width - fixed) / 2)));
  const gaugeCell = { ...bar, text: gauge(shareOf(standing), bars, look.symbols), width: bars };
  return [
    lineOf([mark, { ...name, width: width - fixed - bars }, gaugeCell, percent, spent, left, forecast], look),
  ];
}

type Part = 'mark' | 'name' | 'bar' | 'percent' | 'spent' | 'left' | 'forecast';

const BAR_CELLS = 16;

function cellsOf(standing: Standing, props: BudgetsProps): Record<Part, Cell> {
  const { look, selected } = props;
  const { budget, posted, pending } = standing;
  const name = budgetName(budget);
  const sign = mark(standing);
  const style = styleOf(sign, look);
  const isFull = sign === MARKS.bad;
  const period =
    budget.windowMs === null ? '' : `/${duration(budget.windowMs).replace(/(?<=[hm])00[ms]$/, '')}`;
  return {
    mark: { text: `${name === selected ? '>' : ' '}${sign}`, width: 2, style },
    name: { text: name, width: 20, style: name === selected ? look.palette.bold : style },
    bar: {
      text: gauge(shareOf(standing), BAR_CELLS, look.symbols),
      width: BAR_CELLS,
      style: isFull ? style : sign === MARKS.warn ? look.palette.warn : look.palette.accent,
    },
    percent: { text: percent(shareOf(standing)), width: 4, align: 'right' },
    spent: {
      text: `${formatUsd(posted)}/${formatUsd(budget.capNanoUsd)}${period}`,
      width: WIDTHS.spent,
      align: 'right',
    },
    left: {
      text: isFull ? 'BLOCK' : formatUsd(Math.max(0, budget.capNanoUsd - posted - pending)),
      width: WIDTHS.left,
      align: 'right',
      style,
    },
    forecast: { text: ` ${forecastWords(standing, props)}`, width: WIDTHS.forecast, style },
  };
}

function forecastWords(standing: Standing, { now, look, pausedProjects }: BudgetsProps): string {
  const { times } = look;
  if (pausedProjects.includes(standing.budget.projectName)) return 'paused';
  const forecast = forecastOf(standing, now);
  switch (forecast.kind) {
    case 'full':
      return `until ${times.moment(standing.resetsAt, now)}`;
    case 'runs_out':
      return `out ~${times.moment(forecast.at, now)}`;
    case 'lasts':
      return standing.budget.period === 'rolling' ? 'ok' : `ok to ${times.moment(standing.resetsAt, now)}`;
  }
}
