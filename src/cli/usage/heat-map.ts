import { addDays } from '../../calendar.ts';
import { formatUsd, type NanoUsd } from '../../money.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { pad, shorten } from '../../terminal/text.ts';

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
const LABEL = 6;
/** Cells of a day: its date, a shade, and the amount if there is room. */
const WITH_AMOUNT = 10;
const WITHOUT = 5;

interface HeatMap {
  /** Inclusive days, YYYY-MM-DD. */
  from: string;
  to: string;
  costs: ReadonlyMap<string, NanoUsd>;
}

/** A calendar, a week a line, in which each day is the darker the more it cost. */
export function heatMap({ from, to, costs }: HeatMap, terminal: Terminal): string[] {
  const { palette, columns } = terminal;
  const most = Math.max(0, ...costs.values());
  const width = columns >= LABEL + 7 * WITH_AMOUNT ? WITH_AMOUNT : WITHOUT;
  const lines = [
    palette.dim(`${' '.repeat(LABEL)}${WEEKDAYS.map((name) => pad(` ${name}`, width)).join('')}`.trimEnd()),
  ];
  for (let week = mondayOf(from); week <= to; week = addDays(week, 7)) {
    const days = WEEKDAYS.map((_, i) => addDays(week, i));
    const cells = days.map((day) =>
      day < from || day > to
        ? ' '.repeat(width)
        : dayCell(day, { cost: costs.get(day) ?? 0, most, width }, terminal),
    );
    lines.push(`${palette.dim(pad(monthOf(week, from, to), LABEL))}${cells.join('')}`.trimEnd());
  }
  return lines;
}

/** The name of the month that begins in a week, or of the first week's. */
function monthOf(week: string, from: string, to: string): string {
  const first = week < from ? from : week;
  const last = addDays(week, 6) > to ? to : addDays(week, 6);
  if (week >= from && first.slice(0, 7) === last.slice(0, 7) && !first.endsWith('-01')) return '';
  return new Date(`${last}T00:00Z`).toLocaleString('en-US', { month: 'short', timeZone: 'UTC' });
}

function dayCell(
  day: string,
  { cost, most, width }: { cost: NanoUsd; most: NanoUsd; width: number },
  { palette, symbols }: Terminal,
): string {
  const level = most > 0 ? Math.ceil((cost / most) * symbols.shades.length) : 0;
  // The darkest shade is the first.
  const shade = level > 0 ? (symbols.shades[symbols.shades.length - level] ?? '') : ' ';
  const room = width - 4;
  const amount = width === WITH_AMOUNT && cost > 0 ? shorten(shortUsd(cost), room, '') : '';
  return ` ${palette.dim(day.slice(8))}${palette.accent(shade)}${pad(amount, room, 'right')}`;
}

/** Cents matter below $100. */
function shortUsd(cost: NanoUsd): string {
  return cost >= 100e9
    ? `$${Math.round(cost / 1e9)}`
    : cost < 5e6
      ? '<$0.01'
      : formatUsd(Math.round(cost / 1e7) * 1e7);
}

function mondayOf(day: string): string {
  return addDays(day, -((new Date(`${day}T00:00Z`).getUTCDay() + 6) % 7));
}
