import type { ProviderHealth } from '../../store/dashboard/provider-health.ts';
import type { ProviderTrend } from '../../store/dashboard/provider-trends.ts';
import { sparkline } from '../../terminal/bars.ts';
import { type Look, MARKS, styleOf } from '../../terminal/look.ts';
import { percent, tokens } from '../../terminal/numbers.ts';
import { isTroubled } from '../../terminal/request-words.ts';
import { lineOf } from '../../terminal/styled-lines.ts';
import { pad } from '../../terminal/text.ts';
import { tookText } from '../../terminal/time.ts';
import { type Area, section } from './lines.ts';

interface ProvidersProps extends Area {
  providers: readonly ProviderHealth[];
  trends: readonly ProviderTrend[];
  focused: boolean;
}

const VALUE_CELLS = 5;
const WIDTHS = { first: 7, calls: 6 };

/** The providers that were called within the last hour. */
export function drawProviders({ providers, trends, focused, ...area }: ProvidersProps): string[] {
  const { width, height, look } = area;
  const room = width - WIDTHS.first - WIDTHS.calls - 6;
  const name = Math.min(16, Math.floor(room / 2));
  const trendOf = new Map(trends.map((trend) => [trend.provider, trend]));
  const second = providers.filter(({ provider }) => trendOf.has(provider)).length;
  const hasTrends = height - 1 >= providers.length + second;
  const lines = providers.slice(0, height - 1).flatMap((health) => {
    const mark = isTroubled(health) ? MARKS.warn : MARKS.none;
    const { provider, attempts, firstByteMs } = health;
    const line = lineOf(
      [
        { text: ` ${mark}`, width: 2, style: styleOf(mark, look) },
        { text: provider, width: name },
        { text: stateText(health, look), width: room - name, style: styleOf(mark, look) },
        { text: firstByteMs === null ? '' : tookText(firstByteMs), width: WIDTHS.first, align: 'right' },
        { text: String(attempts), width: WIDTHS.calls, align: 'right', style: look.palette.dim },
      ],
      look,
    );
    const trend = hasTrends ? trendOf.get(provider) : undefined;
    return trend ? [line, trendLine(trend, area)] : [line];
  });
  const labels = `${'first'.padStart(WIDTHS.first)} ${'calls'.padStart(WIDTHS.calls)}`.padStart(width);
  return section({ ...area, title: 'PROVIDERS (last hour)', labels, focused, lines });
}

/** The last hour in charts: the time to the first byte, output tokens a second, the share read from the cache. */
function trendLine(trend: ProviderTrend, { width, look }: Area): string {
  const charts: [string, readonly (number | null)[], (value: number) => string][] = [
    ['first', trend.firstByteMs, tookText],
    ['tok/s', trend.tokensPerSecond, (value) => tokens(Math.round(value))],
    ['cache', trend.cachedShare, percent],
  ];
  const { dim, accent } = look.palette;
  let line = '   ';
  let left = width - 3;
  for (const [name, values, textOf] of charts) {
    const points = values.map((value) => value ?? undefined);
    const last = points.findLast((value) => value !== undefined);
    const text = last === undefined ? '-' : textOf(last);
    const size = name.length + points.length + VALUE_CELLS + 4;
    if (size > left) break;
    line += `${dim(name)} ${accent(sparkline(points, look.symbols))} ${pad(text, VALUE_CELLS)}  `;
    left -= size;
  }
  return line.trimEnd();
}

function stateText({ attempts, failedAttempts, blocks }: ProviderHealth, { times }: Look): string {
  const [block] = blocks;
  if (block) return `off until ${times.time(block.until).slice(0, 5)}`;
  if (attempts === 0) return '';
  return failedAttempts > 0 ? `${percent(failedAttempts / attempts)} failed` : 'ok';
}
