import { isObject } from '../../json/object.ts';
import { WINDOWS } from '../../store/dashboard/reader.ts';
import { STACKS } from '../../store/dashboard/spend.ts';
import { isPanel } from './layout.ts';
import { BUDGET_SORTS, SORTS } from './sorting.ts';
import type { State, View } from './state.ts';

export function viewOf({ focus, zoomed, by, window, sort, budgetSort }: State): View {
  return { focus, zoomed, by, window, sort, budgetSort };
}

/** A remembered view; what it does not have, or is none of this version's, is left out. */
export function parseView(value: unknown): Partial<View> {
  if (!isObject(value)) return {};
  const { focus, zoomed, by, window, sort, budgetSort } = value;
  const of = <T>(name: keyof View, choices: readonly T[], given: unknown) =>
    choices.includes(given as T) ? { [name]: given } : {};
  return {
    ...(isPanel(focus) ? { focus } : {}),
    ...of('zoomed', [true, false], zoomed),
    ...of('by', STACKS, by),
    ...of('window', WINDOWS, window),
    ...of('sort', SORTS, sort),
    ...of('budgetSort', BUDGET_SORTS, budgetSort),
  };
}
