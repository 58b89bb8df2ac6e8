import { budgetName, type Standing } from '../../store/budgets/budgets.ts';
import type { WebhookHealth } from '../../store/dashboard/webhook-health.ts';
import { budgetsOf, feedOf, focusOf, type State } from './state.ts';

/** By so many rows, or to an end. */
export type Move = number | 'first' | 'last';

/** Moves the selection in the panel that has the keys. */
export function moveTo(state: State, move: Move): State {
  switch (focusOf(state)) {
    case 'budgets': {
      const budget = moved(budgetsOf(state).map(nameOf), state.selected.budget, move);
      return { ...state, selected: { ...state.selected, budget } };
    }
    case 'webhooks': {
      const ids = (state.data?.webhooks ?? []).map(({ id }) => id);
      return { ...state, selected: { ...state.selected, webhook: moved(ids, state.selected.webhook, move) } };
    }
    case 'requests':
      return moveInFeed(state, move);
  }
}

/** The first selection holds the feed: what is looked at must not run away. */
function moveInFeed(state: State, move: Move): State {
  const held = feedOf(state);
  const request = moved(
    held.map(({ row }) => row.id),
    state.selected.request,
    move,
  );
  return request === null ? state : { ...state, held, selected: { ...state.selected, request } };
}

/** The selected budget, else the most urgent one. */
export function selectedBudget(state: State): Standing | undefined {
  const all = budgetsOf(state);
  return all.find((standing) => nameOf(standing) === state.selected.budget) ?? all[0];
}

/** The selected webhook, else the first that failed. */
export function selectedWebhook({ data, selected }: State): WebhookHealth | undefined {
  const all = data?.webhooks ?? [];
  return all.find(({ id }) => id === selected.webhook) ?? all.find(({ failed }) => failed > 0) ?? all[0];
}

/** The first of `count` rows to show of `length`, so that the selected one is among them and nothing jumps. */
export function topFor(selected: number, count: number, length: number): number {
  if (selected < 0) return 0;
  // Half a screen above it: where it stood last is not remembered.
  const centred = selected - Math.floor(count / 2);
  return Math.max(0, Math.min(centred, length - count));
}

function moved<T>(all: readonly T[], current: T | null, move: Move): T | null {
  if (all.length === 0) return null;
  const at = current === null ? -1 : all.indexOf(current);
  const to = move === 'first' ? 0 : move === 'last' ? all.length - 1 : at < 0 && move < 0 ? 0 : at + move;
  return all[Math.max(0, Math.min(all.length - 1, to))] ?? null;
}

const nameOf = ({ budget }: Standing) => budgetName(budget);
