import { formatUsd } from '../../money.ts';
import type { AskView } from '../../reading/ask-schema.ts';
import { budgetLabel } from '../../store/budgets/budgets.ts';
import { type Look, MARKS, styleOf } from '../../terminal/look.ts';
import { heading, lineOf } from '../../terminal/styled-lines.ts';
import { Lines } from './lines.tsx';

export interface AsksProps {
  /** The oldest first. */
  asks: readonly AskView[];
  readonly: boolean;
  width: number;
  height: number;
  look: Look;
}

/** Requests that wait for an answer, with the time at which they are refused. */
export function Asks({ asks, readonly, width, height, look }: AsksProps) {
  const name = Math.min(24, Math.floor(width * 0.3));
  const lines = asks.slice(0, height - 1).map(({ budget_id, needed_nano_usd, expires_at, agent, model }) =>
    lineOf(
      [
        { text: ` ${MARKS.warn}`, width: 2, style: styleOf(MARKS.warn, look) },
        { text: budgetLabel(budget_id), width: name },
        { text: formatUsd(needed_nano_usd), width: 8, align: 'right' },
        {
          text: `until ${look.times.time(Date.parse(expires_at))}  ${agent === null ? '' : `${agent} `}${model}`,
          width: width - name - 13,
        },
      ],
      look,
    ),
  );
  const title = `WAITING FOR AN ANSWER (${asks.length})${readonly ? '' : ', press a'}`;
  return <Lines lines={[heading({ title }, width, look), ...lines]} width={width} height={height} />;
}
