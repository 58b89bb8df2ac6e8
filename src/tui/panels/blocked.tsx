import { budgetLabel } from '../../store/budgets/budgets.ts';
import type { BudgetBlocks } from '../../store/dashboard/blocks.ts';
import { type Look, MARKS, styleOf } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { heading, lineOf, textLine } from '../../terminal/styled-lines.ts';
import { Lines } from './lines.tsx';

export interface BlockedProps {
  /** Most refusals first. */
  blocked: readonly BudgetBlocks[];
  width: number;
  height: number;
  look: Look;
}

/** Refused requests, by the budget that refused them. */
export function Blocked({ blocked, width, height, look }: BlockedProps) {
  const { times } = look;
  const name = Math.min(22, Math.floor(width / 3));
  const lines = blocked.slice(0, height - 1).map(({ budget, count: refusals, lastAt, model }) =>
    lineOf(
      [
        { text: ` ${MARKS.bad}`, width: 2, style: styleOf(MARKS.bad, look) },
        { text: budgetLabel(budget), width: name },
        { text: `x${count(refusals)}`, width: 7, align: 'right', style: styleOf(MARKS.bad, look) },
        { text: `last ${times.time(lastAt).slice(0, 5)}  ${model}`, width: width - name - 12 },
      ],
      look,
    ),
  );
  const body =
    lines.length > 0 ? lines : [textLine('   no requests were refused', width, look, look.palette.dim)];
  return (
    <Lines lines={[heading({ title: 'BLOCKED' }, width, look), ...body]} width={width} height={height} />
  );
}
