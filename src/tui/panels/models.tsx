import { bar } from '../../cli/output/bars.ts';
import { tokens } from '../../cli/output/numbers.ts';
import { servedBy } from '../../cli/requests/view.ts';
import { formatUsd } from '../../money.ts';
import type { ModelSpend } from '../../store/dashboard/window-usage.ts';
import { heading, lineOf } from '../lines.ts';
import type { Look } from '../look.ts';
import { Lines } from './lines.tsx';

export interface ModelsProps {
  /** Dearest first. */
  models: readonly ModelSpend[];
  width: number;
  height: number;
  look: Look;
}

const WIDTHS = { requests: 7, cost: 10 };

/** Where the money went, as bars. */
export function Models({ models, width, height, look }: ModelsProps) {
  const most = models[0]?.costNanoUsd ?? 0;
  const room = width - WIDTHS.requests - WIDTHS.cost - 5;
  const bars = Math.max(4, Math.min(20, Math.floor((room - 14) / 2)));
  const name = room - bars;
  const lines = models.slice(0, height - 1).map(({ provider, model, requests, costNanoUsd }) =>
    lineOf(
      [
        { text: '', width: 1 },
        {
          text: provider === '' ? model : servedBy({ provider, model }),
          width: name,
        },
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
  return (
    <Lines
      lines={[heading({ title: 'TOP MODELS', labels }, width, look), ...lines]}
      width={width}
      height={height}
    />
  );
}
