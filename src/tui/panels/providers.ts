import type { ProviderHealth } from '../../store/dashboard/provider-health.ts';
import { type Look, MARKS, styleOf } from '../../terminal/look.ts';
import { percent } from '../../terminal/numbers.ts';
import { isTroubled } from '../../terminal/request-words.ts';
import { lineOf } from '../../terminal/styled-lines.ts';
import { tookText } from '../../terminal/time.ts';
import { type Area, section } from './lines.ts';

interface ProvidersProps extends Area {
  providers: readonly ProviderHealth[];
  focused: boolean;
}

const WIDTHS = { first: 7, calls: 6 };

/** The providers that were called within the last hour. */
export function drawProviders({ providers, focused, ...area }: ProvidersProps): string[] {
  const { width, height, look } = area;
  const room = width - WIDTHS.first - WIDTHS.calls - 6;
  const name = Math.min(16, Math.floor(room / 2));
  const lines = providers.slice(0, height - 1).map((each) => {
    const mark = isTroubled(each) ? MARKS.warn : MARKS.none;
    const { provider, attempts, firstByteMs } = each;
    return lineOf(
      [
        { text: ` ${mark}`, width: 2, style: styleOf(mark, look) },
        { text: provider, width: name },
        { text: stateText(each, look), width: room - name, style: styleOf(mark, look) },
        { text: firstByteMs === null ? '' : tookText(firstByteMs), width: WIDTHS.first, align: 'right' },
        { text: String(attempts), width: WIDTHS.calls, align: 'right', style: look.palette.dim },
      ],
      look,
    );
  });
  const labels = `${'first'.padStart(WIDTHS.first)} ${'calls'.padStart(WIDTHS.calls)}`.padStart(width);
  return section({ ...area, title: 'PROVIDERS (last hour)', labels, focused, lines });
}

function stateText({ attempts, failedAttempts, blocks }: ProviderHealth, { times }: Look): string {
  const [block] = blocks;
  if (block) return `off until ${times.time(block.until).slice(0, 5)}`;
  if (attempts === 0) return '';
  return failedAttempts > 0 ? `${percent(failedAttempts / attempts)} failed` : 'ok';
}
