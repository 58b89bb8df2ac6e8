import { formatUsd } from '../../money.ts';
import type { DashboardReading } from '../../operations/reader.ts';
import { columnChart, fitPoints, peakOf, sparkline } from '../../terminal/bars.ts';
import type { Look } from '../../terminal/look.ts';
import { count, percent, tokens } from '../../terminal/numbers.ts';
import { isTroubled } from '../../terminal/request-words.ts';
import { heading, textLine } from '../../terminal/styled-lines.ts';
import { pad, widthOf } from '../../terminal/text.ts';
import { tookText } from '../../terminal/time.ts';
import { type Area, Lines } from './lines.tsx';

interface TodayProps extends Area {
  data: DashboardReading;
}

const TITLES = { hour: 'THIS HOUR', day: 'TODAY', month: 'THIS MONTH' } as const;
const UNITS = { hour: '$/min', day: '$/h', month: '$/day' } as const;
/** Minimum height of a chart with several lines. */
const CHART_FROM = 5;

/** Totals of the window and a chart of its spend. */
export function Today({ data, width, height, look }: TodayProps) {
  const providers = height > CHART_FROM ? providerLines(data, width, look) : [];
  const lines = [titleOf(data, width, look), totalsLine(data, width, look), ...providers];
  const chart =
    height >= CHART_FROM
      ? tallChart(data, width, height - lines.length, look)
      : [flatChart(data, width, look)];
  return <Lines lines={[...lines, ...chart]} width={width} height={height} />;
}

function titleOf({ window, span, now }: DashboardReading, width: number, look: Look): string {
  const { times, timezone } = look;
  const bounds =
    window === 'hour'
      ? `since ${times.time(span.start).slice(0, 5)}`
      : `resets ${window === 'day' ? times.time(span.end).slice(0, 5) : times.moment(span.end, now)}`;
  return heading({ title: `${TITLES[window]} (${timezone}, ${bounds})` }, width, look);
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

/** Health of the providers on one line. The header shows the worst one in full. */
function providerLines({ providers }: DashboardReading, width: number, look: Look): string[] {
  if (providers.length === 0) return [];
  const parts = providers.map((each) => {
    const { provider, attempts, failedAttempts, firstByteMs } = each;
    const speed = firstByteMs === null ? '' : ` ${tookText(firstByteMs)}`;
    const failed = failedAttempts > 0 ? ` ${percent(failedAttempts / attempts)} failed` : '';
    return `${isTroubled(each) ? '! ' : ''}${provider}${failed || ' ok'}${speed}`;
  });
  const style = providers.some(isTroubled) ? look.palette.warn : look.palette.dim;
  return [textLine(` providers ${parts.join('   ')}`, width, look, style)];
}

function flatChart({ series, window }: DashboardReading, width: number, look: Look): string {
  const unit = ` ${UNITS[window]} `;
  const peak = ` peak ${formatUsd(peakOf(series))}`;
  const room = width - unit.length - peak.length;
  if (room < 12) return textLine(`${unit}${peak.trim()}`, width, look);
  const chart = sparkline(fitPoints(series, room), look.symbols);
  return `${look.palette.dim(unit)}${look.palette.accent(chart)}${look.palette.dim(peak)}`;
}

/** A column chart with its highest value on the left and times below. */
function tallChart(
  { series, window, span, now }: DashboardReading,
  width: number,
  height: number,
  look: Look,
): string[] {
  const { dim, accent } = look.palette;
  const top = formatUsd(peakOf(series));
  const margin = Math.max(widthOf(top), UNITS[window].length) + 1;
  const points = fitPoints(series, width - margin - 2);
  const rows = columnChart(points, height - 1, look.symbols);
  const chart = rows.map((row, i) => {
    const label = i === 0 ? top : i === rows.length - 1 ? '$0' : '';
    return `${dim(pad(label, margin, 'right'))} ${accent(row)}`;
  });
  const axis = axisLabels(window, span, points.length, look, now);
  return [...chart, `${dim(pad(UNITS[window], margin, 'right'))} ${dim(axis)}`];
}

function axisLabels(
  window: DashboardReading['window'],
  span: DashboardReading['span'],
  cells: number,
  { times }: Look,
  now: number,
): string {
  const labels = [0, 0.25, 0.5, 0.75].map((share) => {
    const time = span.start + (span.end - span.start) * share;
    return window === 'month' ? times.dateTime(time + 43_200_000).slice(5, 10) : times.time(time).slice(0, 5);
  });
  const each = Math.floor(cells / labels.length);
  return each < 6 ? times.moment(now, now) : labels.map((label) => pad(label, each)).join('');
}
