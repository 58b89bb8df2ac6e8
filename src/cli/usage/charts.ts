import { addDays, mondayOf } from '../../calendar.ts';
import { remembered } from '../../json/grouped.ts';
import { formatUsd, type NanoUsd } from '../../money.ts';
import type { UsageView } from '../../operations/schemas/usage.ts';
import { areaChart } from '../../terminal/area-chart.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean, pad, shorten, widthOf } from '../../terminal/text.ts';

const CHART_HEIGHT = 12;
const MAX_CELLS = 120;
const MOST_PARTS = 6;
const NAME_CELLS = 28;

/** The days of a report as a calendar. */
export function usageHeat({ data, from, to, total, timezone }: UsageView, terminal: Terminal): string {
  const costs = new Map(data.map(({ day = '', cost_nano_usd }) => [day, cost_nano_usd] as const));
  const [dearest] = [...costs].sort((a, b) => b[1] - a[1]);
  const most = dearest ? `, most on ${dearest[0]}: ${formatUsd(dearest[1])}` : '';
  const title = terminal.palette.bold(
    `${formatUsd(total.cost_nano_usd)}, ${from} to ${to} (${timezone})${most}`,
  );
  return [title, '', ...heatMap({ from, to, costs }, terminal)].join('\n');
}

/** The cost of each day as an area, stacked by the second key of the report, the dearest at the bottom. */
export function usageChart(
  { data, from, to, total, timezone }: UsageView,
  keyOf: (row: UsageView['data'][number]) => string,
  terminal: Terminal,
): string {
  const { palette, columns } = terminal;
  const days: string[] = [];
  for (let day = from; day <= to; day = addDays(day, 1)) days.push(day);
  const parts = partsOf(data, keyOf, days);
  const top = Math.max(1, ...days.map((_, i) => parts.reduce((sum, { costs }) => sum + (costs[i] ?? 0), 0)));
  const margin = widthOf(formatUsd(top)) + 1;
  const room = Math.min(MAX_CELLS, columns - margin);
  const times = Math.max(1, Math.floor(room / days.length));
  // A day has several cells, or a cell the dearest of several days.
  const each = Math.max(1, Math.ceil(days.length / room));
  const asCells = (costs: readonly NanoUsd[]) =>
    each === 1
      ? costs.flatMap((cost) => Array.from({ length: times }, () => cost))
      : Array.from({ length: Math.ceil(costs.length / each) }, (_, i) =>
          Math.max(...costs.slice(i * each, (i + 1) * each)),
        );
  const values = parts.map(({ costs }) => asCells(costs));
  const cells = values[0]?.length ?? 0;
  const rows = areaChart({ parts: values, cells, height: CHART_HEIGHT, top }, terminal);
  const labels = rows.map((_, i) => (i === 0 ? formatUsd(top) : i === rows.length - 1 ? '$0' : ''));
  return [
    palette.bold(`${formatUsd(total.cost_nano_usd)}, ${from} to ${to} (${timezone})`),
    '',
    ...rows.map((row, i) => `${palette.dim(pad(labels[i] ?? '', margin - 1, 'right'))} ${row}`.trimEnd()),
    palette.dim(`${' '.repeat(margin)}${pad(from.slice(5), Math.max(6, cells - 5))}${to.slice(5)}`),
    '',
    ...legendOf(parts, terminal),
  ].join('\n');
}

interface Part {
  name: string;
  costs: NanoUsd[];
}

function partsOf(
  data: UsageView['data'],
  keyOf: (row: UsageView['data'][number]) => string,
  days: readonly string[],
): Part[] {
  const at = new Map(days.map((day, i) => [day, i]));
  const byName = new Map<string, Part>();
  for (const row of data) {
    const name = keyOf(row);
    const part = remembered(byName, name, () => ({ name, costs: days.map(() => 0) }));
    part.costs[at.get(row.day ?? '') ?? 0] = row.cost_nano_usd;
  }
  const sorted = [...byName.values()].filter((part) => sumOf(part) > 0).sort((a, b) => sumOf(b) - sumOf(a));
  if (sorted.length <= MOST_PARTS) return sorted;
  const rest = sorted.slice(MOST_PARTS - 1);
  const costs = days.map((_, i) => rest.reduce((sum, part) => sum + (part.costs[i] ?? 0), 0));
  return [...sorted.slice(0, MOST_PARTS - 1), { name: `${rest.length} others`, costs }];
}

const sumOf = ({ costs }: Part) => costs.reduce((sum, cost) => sum + cost, 0);

/** A line for each part, in the order in which they are stacked. */
function legendOf(parts: readonly Part[], { palette, symbols }: Terminal): string[] {
  return parts
    .map((part, i) => {
      const shade = symbols.shades[palette.part ? 0 : Math.min(i, symbols.shades.length - 1)] ?? '';
      const mark = palette.part?.(shade, i) ?? shade;
      const name = pad(shorten(clean(part.name || '-'), NAME_CELLS, symbols.ellipsis), NAME_CELLS);
      return `${mark} ${name} ${pad(formatUsd(sumOf(part)), 10, 'right')}`;
    })
    .reverse();
}

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
function heatMap({ from, to, costs }: HeatMap, terminal: Terminal): string[] {
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
