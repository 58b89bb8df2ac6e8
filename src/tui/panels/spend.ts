import { formatUsd } from '../../money.ts';
import type { DashboardReading } from '../../operations/reader.ts';
import { areaChart, type ChartLine, sumsBy } from '../../terminal/area-chart.ts';
import { fitPoints, peakOf, sparkline } from '../../terminal/bars.ts';
import type { Look } from '../../terminal/look.ts';
import { count, tokens } from '../../terminal/numbers.ts';
import type { Paint } from '../../terminal/palette.ts';
import { textLine } from '../../terminal/styled-lines.ts';
import { clean, pad, shorten, widthOf } from '../../terminal/text.ts';
import { tookText } from '../../terminal/time.ts';
import { type Area, section } from './lines.ts';

interface SpendProps extends Area {
  data: DashboardReading;
  by: 'model' | 'agent';
  focused: boolean;
}

const TITLES = { hour: 'THIS HOUR', day: 'TODAY', month: 'THIS MONTH' } as const;
const UNITS = { hour: '$/min', day: '$/h', month: '$/day' } as const;
/** Minimum height of a chart with several lines. */
const CHART_FROM = 7;

/** Totals of the window, and its spend as an area that rises to them. */
export function drawSpend({ data, by, focused, ...area }: SpendProps): string[] {
  const { width, height, look } = area;
  const chart =
    height >= CHART_FROM
      ? tallChart(data, { ...area, height: height - 2 }, by)
      : [flatChart(data, width, look)];
  return section({
    ...area,
    title: titleOf(data, look),
    labels: height >= CHART_FROM ? `by ${by}`.padStart(width) : '',
    focused,
    lines: [totalsLine(data, width, look), ...chart],
  });
}

function titleOf({ window, span, now }: DashboardReading, { times, timezone }: Look): string {
  const bounds =
    window === 'hour'
      ? `since ${times.time(span.start).slice(0, 5)}`
      : `resets ${window === 'day' ? times.time(span.end).slice(0, 5) : times.moment(span.end, now)}`;
  return `${TITLES[window]} (${timezone}, ${bounds})`;
}

function totalsLine({ totals, p95Ms }: DashboardReading, width: number, look: Look): string {
  const { bold, warn, bad } = look.palette;
  const parts: [string, string, (text: string) => string][] = [
    ['spend', formatUsd(totals.costNanoUsd), bold],
  ];
  if (totals.savedTokens > 0) parts.push(['saved', formatUsd(totals.savedNanoUsd), bold]);
  parts.push(['req', width < 60 ? tokens(totals.requests) : count(totals.requests), bold]);
  parts.push(['err', count(totals.failedRequests), totals.failedRequests > 0 ? warn : bold]);
  parts.push(['blocked', count(totals.blockedRequests), totals.blockedRequests > 0 ? bad : bold]);
  if (totals.unpricedRequests > 0) parts.push(['unpriced', count(totals.unpricedRequests), warn]);
  if (p95Ms !== null) parts.push(['p95', tookText(p95Ms), bold]);
  let line = '';
  let used = 0;
  for (const [name, value, style] of parts) {
    const size = 3 + widthOf(name) + 1 + widthOf(value);
    if (used + size > width + 2) break;
    line += `${used === 0 ? ' ' : '   '}${name} ${style(value)}`;
    used += size;
  }
  return line;
}

function flatChart({ series, window }: DashboardReading, width: number, look: Look): string {
  const unit = ` ${UNITS[window]} `;
  const peak = ` peak ${formatUsd(peakOf(series))}`;
  const room = width - unit.length - peak.length;
  if (room < 12) return textLine(`${unit}${peak.trim()}`, width, look);
  const chart = sparkline(fitPoints(series, room), look.symbols);
  return `${look.palette.dim(unit)}${look.palette.accent(chart)}${look.palette.dim(peak)}`;
}

/** How far above the spend a cap or the forecast may stand, so that the spend remains visible. */
const MOST_HEADROOM = 3;

/** The stacked area with its scale on the left, times and a legend below. */
function tallChart(data: DashboardReading, { width, height, look }: Area, by: SpendProps['by']): string[] {
  const { totals, span, now, series } = data;
  const { dim } = look.palette;
  const until = (now - span.start) / (span.end - span.start);
  const total = series.reduce((sum: number, cost) => sum + (cost ?? 0), 0);
  const forecast = until > 0 ? total / Math.min(1, until) : total;
  const cap = capOf(data, total, Math.min(forecast, total * MOST_HEADROOM));
  const top = Math.max(total, Math.min(forecast, total * MOST_HEADROOM), cap?.level ?? 0) * 1.02;
  const margin = Math.max(widthOf(formatUsd(Math.round(top))), 5) + 1;
  const cells = width - margin - 1;
  const rows = areaChart(
    {
      parts: data.parts.map((part) => sumsBy(part.series, cells, until)),
      lines: linesOf({ total, forecast, cap: cap?.level, until, cells }, look),
      cells,
      height: height - 2,
      top,
    },
    look,
  );
  const labels = scaleLabels(top, rows.length);
  const legend = legendOf(data, { forecast, cap: cap?.name, by }, width - 1, look);
  return [
    ...rows.map((row, i) => `${dim(pad(labels[i] ?? '', margin, 'right'))} ${row}`),
    `${' '.repeat(margin + 1)}${dim(axisLabels(data, cells, look))}`,
    totals.costNanoUsd > 0 || legend !== '' ? ` ${legend}` : '',
  ];
}

/** A scale value for the upper line, the middle and the bottom. */
function scaleLabels(top: number, rows: number): string[] {
  return Array.from({ length: rows }, (_, i) => {
    if (i === 0) return formatUsd(roundUsd(top));
    if (i === rows - 1) return '$0';
    return rows >= 7 && i === Math.floor(rows / 2) ? formatUsd(roundUsd((top * (rows - i)) / rows)) : '';
  });
}

/** Three digits: a scale needs no more. */
function roundUsd(nanoUsd: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, nanoUsd))) - 2);
  return Math.round(nanoUsd / unit) * unit;
}

/** The budget of the window that runs out first, and the total at which it would, if all spend counted to it. */
function capOf({ budgets, window }: DashboardReading, total: number, forecast: number) {
  const period = { hour: '', day: 'daily', month: 'monthly' }[window];
  const [first] = budgets
    .filter((each) => each.period === period && each.scope === null && !each.exceeded)
    .sort((a, b) => a.left_nano_usd - b.left_nano_usd);
  const level = total + (first?.left_nano_usd ?? 0);
  if (!first || level > MOST_HEADROOM * Math.max(total, forecast)) return undefined;
  return { level, name: `${first.id} ends` };
}

interface LineValues {
  total: number;
  forecast: number;
  cap: number | undefined;
  until: number;
  cells: number;
}

function linesOf({ total, forecast, cap, until, cells }: LineValues, { palette }: Look): ChartLine[] {
  const at = Array.from({ length: cells }, (_, x) => (x + 1) / cells);
  const ahead = at.map((share) =>
    share > until && until < 1 ? total + ((share - until) / (1 - until)) * (forecast - total) : undefined,
  );
  const level = { values: at.map(() => cap), kind: 'level' as const, style: palette.warn };
  return [{ values: ahead, kind: 'dots', style: palette.dim }, ...(cap === undefined ? [] : [level])];
}

type LegendEntry = [mark: string, text: string, style: Paint];

/** As many parts as fit, with their cost; then what the lines are. */
function legendOf(
  { parts, now, span }: DashboardReading,
  { forecast, cap, by }: { forecast: number; cap: string | undefined; by: string },
  width: number,
  { palette, symbols }: Look,
): string {
  const lines: LegendEntry[] = [];
  if (cap !== undefined) lines.push([symbols.rule, cap, palette.warn]);
  if (now < span.end)
    lines.push([symbols.dots.at(-1) ?? '', `forecast ${formatUsd(roundUsd(forecast))}`, palette.dim]);
  const shown: string[] = [];
  let used = 0;
  const add = ([mark, text, style]: LegendEntry) => {
    const size = widthOf(text) + 2 + (used > 0 ? 2 : 0);
    if (used + size > width) return;
    used += size;
    shown.push(`${style(mark)} ${text}`);
  };
  const [first, ...rest] = parts.map(({ name, series }, i): LegendEntry => {
    const label =
      name === null ? 'others' : name === '' ? `no ${by}` : shorten(clean(name), 22, symbols.ellipsis);
    const cost = series.reduce((sum: number, each) => sum + (each ?? 0), 0);
    const paint = (text: string) => palette.part?.(text, i) ?? text;
    const mark = palette.part
      ? (symbols.shades[0] ?? '')
      : (symbols.shades[Math.min(i, symbols.shades.length - 1)] ?? '');
    return [mark, `${label} ${formatUsd(cost)}`, paint];
  });
  for (const each of [...(first ? [first] : []), ...lines, ...rest]) add(each);
  return shown.join('  ');
}

function axisLabels({ window, span, now }: DashboardReading, cells: number, { times }: Look): string {
  const labels = [0, 0.25, 0.5, 0.75].map((share) => {
    const time = span.start + (span.end - span.start) * share;
    return window === 'month' ? times.dateTime(time + 43_200_000).slice(5, 10) : times.time(time).slice(0, 5);
  });
  const each = Math.floor(cells / labels.length);
  return each < 6 ? times.moment(now, now) : labels.map((label) => pad(label, each)).join('');
}
