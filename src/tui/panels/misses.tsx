import { formatUsd } from '../../money.ts';
import type { DashboardReading } from '../../reading/reader.ts';
import type { Look } from '../../terminal/look.ts';
import { tokens } from '../../terminal/numbers.ts';
import { missCause } from '../../terminal/request-words.ts';
import { heading, lineOf } from '../../terminal/styled-lines.ts';
import { Lines } from './lines.tsx';

export interface MissesProps {
  /** The dearest cause first. */
  misses: DashboardReading['misses'];
  width: number;
  height: number;
  look: Look;
}

const WIDTHS = { requests: 5, tokens: 6, cost: 9 };

/** What the providers' caches could have served and didn't, by cause. */
export function Misses({ misses, width, height, look }: MissesProps) {
  const lines = misses.slice(0, height - 1).map(({ cause, requests, missedTokens, missedNanoUsd }) =>
    lineOf(
      [
        { text: '', width: 1 },
        { text: missCause(cause), width: width - WIDTHS.requests - WIDTHS.tokens - WIDTHS.cost - 5 },
        { text: `x${tokens(requests)}`, width: WIDTHS.requests, align: 'right', style: look.palette.dim },
        { text: tokens(missedTokens), width: WIDTHS.tokens, align: 'right' },
        { text: formatUsd(missedNanoUsd), width: WIDTHS.cost, align: 'right' },
      ],
      look,
    ),
  );
  const labels = `${'tokens'.padStart(WIDTHS.tokens)} ${'extra'.padStart(WIDTHS.cost)}`.padStart(width);
  return (
    <Lines
      lines={[heading({ title: 'CACHE MISSES', labels }, width, look), ...lines]}
      width={width}
      height={height}
    />
  );
}
