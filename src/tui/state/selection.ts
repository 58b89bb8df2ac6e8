import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { WebhookHealth } from '../../store/dashboard/webhook-health.ts';
import type { Move } from './drill.ts';
import { budgetsOf, feedOf, focusOf, type State, shownData } from './state.ts';

/** Moves the selection in the focused panel. */
export function moveTo(state: State, move: Move): State {
  switch (focusOf(state)) {
    case 'budgets': {
      const budget = moveFrom(
        budgetsOf(state).map(({ id }) => id),
        state.selected.budget,
        move,
      );
      return { ...state, selected: { ...state.selected, budget } };
    }
    case 'webhooks': {
      const ids = (shownData(state)?.webhooks ?? []).map(({ id }) => id);
      return {
        ...state,
        selected: { ...state.selected, webhook: moveFrom(ids, state.selected.webhook, move) },
      };
    }
    case 'requests':
      return moveInFeed(state, move);
    default:
      return state;
  }
}

/** Selecting a request holds the feed, so that the row doesn't scroll away. */
function moveInFeed(state: State, move: Move): State {
  const heldFeed = feedOf(state);
  const request = moveFrom(
    heldFeed.map(({ row }) => row.id),
    state.selected.request,
    move,
  );
  return request === null ? state : { ...state, heldFeed, selected: { ...state.selected, request } };
}

/** The selected budget, else the most urgent one. */
export function selectedBudget(state: State): BudgetView | undefined {
  const all = budgetsOf(state);
  return all.find(({ id }) => id === state.selected.budget) ?? all[0];
}

/** The selected webhook, else the first with failed deliveries. */
export function selectedWebhook(state: State): WebhookHealth | undefined {
  const all = shownData(state)?.webhooks ?? [];
  return (
    all.find(({ id }) => id === state.selected.webhook) ?? all.find(({ failed }) => failed > 0) ?? all[0]
  );
}

/** Scroll position: the index of the first of `count` visible rows that keeps the selected row visible. */
export function topFor(selected: number, count: number, length: number): number {
  if (selected < 0) return 0;
  // The selected row is centred, because the previous scroll position isn't kept.
  const centred = selected - Math.floor(count / 2);
  return Math.max(0, Math.min(centred, length - count));
}

function moveFrom<T>(all: readonly T[], current: T | null, move: Move): T | null {
  if (all.length === 0) return null;
  const at = current === null ? -1 : all.indexOf(current);
  const to = move === 'first' ? 0 : move === 'last' ? all.length - 1 : at < 0 && move < 0 ? 0 : at + move;
  return all[Math.max(0, Math.min(all.length - 1, to))] ?? null;
}
