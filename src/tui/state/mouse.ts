import { budgetHeight, type MouseEvent, type PanelBox } from './layout.ts';
import { moveTo, topFor } from './selection.ts';
import { budgetsOf, feedOf, layoutFor, type State, shownData } from './state.ts';

const WHEEL_ROWS = 3;
const SGR_EVENT = /\[<(\d{1,3});(\d{1,5});(\d{1,5})([Mm])/g;
const KINDS: Readonly<Record<string, MouseEvent['kind']>> = {
  '0M': 'click',
  '64M': 'wheelup',
  '65M': 'wheeldown',
};

/**
 * The events of the mouse in a chunk of input; undefined if it is typed text.
 * https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (SGR 1006)
 */
export function mouseEventsIn(input: string): MouseEvent[] | undefined {
  const events = [...input.matchAll(SGR_EVENT)];
  if (events.length === 0) return undefined;
  return events.flatMap(([, button = '', x, y, end = '']) => {
    const kind = KINDS[button + end];
    return kind ? [{ kind, x: Number(x) - 1, y: Number(y) - 1 }] : [];
  });
}

/** The state with the panel under the mouse focused, and a row selected. */
export function pointTo(state: State, { kind, x, y }: MouseEvent): State {
  const layout = layoutFor(state);
  const box =
    layout.kind === 'panels' ? layout.columns.flat().find((each) => contains(each, x, y)) : undefined;
  if (!box) return state;
  const focused = { ...state, focus: box.panel };
  if (kind !== 'click') return moveTo(focused, kind === 'wheelup' ? -WHEEL_ROWS : WHEEL_ROWS);
  return selectLine(focused, box, y - box.y);
}

function contains({ x, y, width, height }: PanelBox, column: number, row: number): boolean {
  return column >= x && column < x + width && row >= y && row < y + height;
}

/** Selects the row at a line of a panel, where the title is line 0. */
function selectLine(state: State, { panel, width, height }: PanelBox, line: number): State {
  const { selected } = state;
  switch (panel) {
    case 'budgets': {
      const rows = budgetsOf(state);
      const each = budgetHeight(rows.length, { width, height });
      const row = rowAt(rows, ({ id }) => id === selected.budget, (line - 1) / each, (height - 1) / each);
      return row ? { ...state, selected: { ...selected, budget: row.id } } : state;
    }
    case 'requests': {
      // A line of labels follows the title.
      const entries = feedOf(state);
      const entry = rowAt(entries, ({ row }) => row.id === selected.request, line - 2, height - 2);
      return entry
        ? { ...state, heldFeed: entries, selected: { ...selected, request: entry.row.id } }
        : state;
    }
    case 'webhooks': {
      const row = rowAt(
        shownData(state)?.webhooks ?? [],
        ({ id }) => id === selected.webhook,
        line - 1,
        height - 1,
      );
      return row ? { ...state, selected: { ...selected, webhook: row.id } } : state;
    }
    default:
      return state;
  }
}

/** The row at a place in a list that is scrolled so that its selected row is visible. */
function rowAt<T>(
  rows: readonly T[],
  isSelected: (row: T) => boolean,
  place: number,
  visible: number,
): T | undefined {
  return place < 0
    ? undefined
    : rows[topFor(rows.findIndex(isSelected), Math.floor(visible), rows.length) + Math.floor(place)];
}
