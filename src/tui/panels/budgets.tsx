import type { BudgetView } from '../../reading/schemas.ts';
import type { Look } from '../../terminal/look.ts';
import { pasteable } from '../../terminal/pasteable.ts';
import { heading, textLine } from '../../terminal/styled-lines.ts';
import { topFor } from '../state/selection.ts';
import { BUDGET_LABELS, budgetLines, type Shape, WIDE_BUDGET_FROM } from './budget-lines.ts';
import { Lines } from './lines.tsx';

export interface BudgetsProps {
  /** Most urgent first. */
  budgets: readonly BudgetView[];
  pausedProjects: readonly string[];
  /** The name of the selected budget. */
  selected: string | null;
  focused: boolean;
  now: number;
  width: number;
  height: number;
  look: Look;
}

/** The budgets: what is spent, what is left, and how long that will last. */
export function Budgets(props: BudgetsProps) {
  const { budgets, selected, width, height, look, focused } = props;
  const shape = shapeFor(props);
  const rows = Math.max(1, Math.floor((height - 1) / (shape === 'pair' ? 2 : 1)));
  const at = budgets.findIndex(({ id }) => id === selected);
  const top = topFor(at, rows, budgets.length);
  const title = budgets.length > rows ? `BUDGETS (${budgets.length})` : 'BUDGETS';
  const labels = shape === 'wide' ? BUDGET_LABELS.padStart(width) : '';
  const lines = budgets.slice(top, top + rows).flatMap((budget) => budgetLines(budget, { ...props, shape }));
  const none = textLine(
    pasteable('   none: spending is not limited. To cap it: gw budget set 5', look.gw),
    width,
    look,
  );
  return (
    <Lines
      lines={[heading({ title, labels, focused }, width, look), ...(lines.length > 0 ? lines : [none])]}
      width={width}
      height={height}
    />
  );
}

/** In a narrow column a budget gets two lines if all budgets fit that way. */
function shapeFor({ budgets, width, height }: BudgetsProps): Shape {
  if (width >= WIDE_BUDGET_FROM) return 'wide';
  return height - 1 >= budgets.length * 2 ? 'pair' : 'narrow';
}
