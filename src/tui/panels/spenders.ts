import { formatUsd, type NanoUsd } from '../../money.ts';
import { bar } from '../../terminal/bars.ts';
import { tokens } from '../../terminal/numbers.ts';
import { lineOf } from '../../terminal/styled-lines.ts';
import { widthOf } from '../../terminal/text.ts';
import { type Area, section } from './lines.ts';

/** A model or a program in a repository, with its cost. */
export interface Spender {
  name: string;
  requests: number;
  costNanoUsd: NanoUsd;
}

interface SpendersProps extends Area {
  title: string;
  /** Highest cost first. */
  spenders: readonly Spender[];
  focused?: boolean;
}

const WIDTHS = { requests: 7, cost: 10 };
const MIN_BAR = 3;

export function drawSpenders({ title, spenders, focused = false, ...area }: SpendersProps): string[] {
  const { width, height, look } = area;
  const most = spenders[0]?.costNanoUsd ?? 0;
  const room = width - WIDTHS.requests - WIDTHS.cost - 5;
  const longest = Math.max(0, ...spenders.slice(0, height - 1).map(({ name }) => widthOf(name)));
  const bars = Math.max(MIN_BAR, Math.min(20, room - longest));
  const lines = spenders.slice(0, height - 1).map(({ name, requests, costNanoUsd }) =>
    lineOf(
      [
        { text: '', width: 1 },
        { text: name, width: room - bars },
        {
          text: bar(most > 0 ? costNanoUsd / most : 0, bars, look.symbols),
          width: bars,
          style: look.palette.accent,
        },
        { text: tokens(requests), width: WIDTHS.requests, align: 'right', style: look.palette.dim },
        { text: formatUsd(costNanoUsd), width: WIDTHS.cost, align: 'right' },
      ],
      look,
    ),
  );
  const labels = `${'req'.padStart(WIDTHS.requests)} ${'cost'.padStart(WIDTHS.cost)}`.padStart(width);
  return section({ ...area, title, labels, focused, lines });
}
