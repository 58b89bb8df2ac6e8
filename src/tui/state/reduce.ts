import { formatRequestId } from '../../ids.ts';
import { FEED_KINDS } from '../../store/dashboard/feed.ts';
import { WINDOWS } from '../../store/dashboard/reader.ts';
import { STACKS } from '../../store/dashboard/spend.ts';
import { teamBudgetOf, teamBudgetText } from '../../store/ledger/terms.ts';
import { clean } from '../../terminal/text.ts';
import { commandDialog, completed } from './command-line.ts';
import {
  askAmount,
  askForAnswer,
  askForKey,
  askForPause,
  askForReplay,
  askForRevocation,
  askToStopAll,
  confirmAmount,
  type Dialog,
} from './dialog.ts';
import {
  type Drill,
  drillInto,
  enterDrill,
  filterDrill,
  idInDrill,
  leaveDrill,
  levelOf,
  type Move,
  moveInDrill,
  sortDrill,
} from './drill.ts';
import type { MouseEvent } from './layout.ts';
import { pointTo } from './mouse.ts';
import { moveTo, selectedBudget, selectedWebhook } from './selection.ts';
import { BUDGET_SORTS, SORTS } from './sorting.ts';
import { type Action, detailId, focusOf, PANELS, receive, type State, shownPanels } from './state.ts';

/** The state after an action. Pure: effects are fields of the state, which hooks carry out. */
export function reduce(state: State, action: Action): State {
  if (action.type === 'press') return press(state, action.key);
  if (action.type === 'paste') return paste(state, action.text);
  if (action.type === 'mouse') return point(state, action.event);
  return receive(state, action);
}

const MAX_TYPED = 200;
const INTERRUPTED = 130;

const MOVES: Readonly<Record<string, Move>> = {
  j: 1,
  down: 1,
  k: -1,
  up: -1,
  pagedown: 10,
  pageup: -10,
  g: 'first',
  home: 'first',
  G: 'last',
  end: 'last',
};

/** The state after a key press. A dialog, the search, the help and the views take keys before the panels do. */
function press(previous: State, key: string): State {
  const state = previous.notice === null ? previous : { ...previous, notice: null };
  if (key === 'ctrl-c') return { ...state, quit: INTERRUPTED };
  if (state.dialog) return pressInDialog(state, state.dialog, key);
  if (state.prompt) return pressInPrompt(state, state.prompt, key);
  if (key === 'q') return { ...state, quit: 0 };
  if (state.help) return { ...state, help: false };
  if (key === '?') return { ...state, help: true };
  if (state.drill) return pressInDrill(state, state.drill, key);
  if (state.team.isOpen) return pressInTeam(state, key);
  return pressInPanels(state, key);
}

function pressInDrill(state: State, drill: Drill, key: string): State {
  const move = MOVES[key];
  if (move !== undefined) return { ...state, drill: moveInDrill(drill, move) };
  switch (key) {
    case 'enter':
    case 'd':
      return { ...state, drill: enterDrill(drill) };
    case '/':
      return { ...state, prompt: { kind: 'search', text: drill.text[levelOf(drill)] } };
    case 'o':
      return { ...state, drill: sortDrill(drill) };
    case 'c':
    case 'y':
      return copyText(state, idInDrill(drill));
    case 'escape':
    case 'backspace':
      return { ...state, drill: leaveDrill(drill) };
    default:
      return state;
  }
}

function pressInTeam(state: State, key: string): State {
  const isLeft = ['t', 'escape', 'backspace'].includes(key);
  return isLeft ? { ...state, team: { ...state.team, isOpen: false } } : state;
}

/** Pasted text is written where text is; its keys mean nothing. */
function paste(state: State, text: string): State {
  if (!state.prompt && state.dialog?.kind !== 'amount')
    return { ...state, notice: 'pasted text is no command: type the keys' };
  return [...clean(text)].reduce(press, state);
}

type Prompt = NonNullable<State['prompt']>;

function pressInPrompt(state: State, { kind, text }: Prompt, key: string): State {
  if (key === 'escape') return { ...state, prompt: null };
  if (key === 'enter') return enterPrompt({ ...state, prompt: null }, { kind, text: text.trim() });
  if (key === 'tab' && kind === 'command') return { ...state, prompt: { kind, text: completed(text) } };
  const typed = key === 'backspace' ? text.slice(0, -1) : (text + clean(key)).slice(0, MAX_TYPED);
  return [...key].length > 1 && key !== 'backspace' ? state : { ...state, prompt: { kind, text: typed } };
}

function enterPrompt(state: State, { kind, text }: Prompt): State {
  if (kind === 'command') return text === '' ? state : { ...state, dialog: commandDialog(text) };
  if (state.drill) return { ...state, drill: filterDrill(state.drill, text) };
  return followFeed({ ...state, filter: { ...state.filter, text } });
}

/** A click selects; one on the selected row opens it, as enter does. */
function point(state: State, event: MouseEvent): State {
  const steps = event.kind === 'wheelup' ? ['up', 'up', 'up'] : ['down', 'down', 'down'];
  if (state.prompt || state.help || state.team.isOpen) return state;
  if (state.dialog || state.drill)
    return event.kind === 'click' ? state : steps.reduce((before, key) => press(before, key), state);
  const next = pointTo(state, event);
  const hitsRow = event.kind === 'click' && next.selected !== state.selected;
  return hitsRow && next.focus === state.focus && isSame(next.selected, state.selected) ? enter(next) : next;
}

const isSame = (a: State['selected'], b: State['selected']) =>
  a.budget === b.budget && a.request === b.request && a.webhook === b.webhook;

function pressInPanels(state: State, key: string): State {
  const move = MOVES[key];
  if (move !== undefined) return moveTo(state, move);
  const panel = PANELS[Number(key) - 1];
  // A panel that the screen has no room for gets all of it.
  if (panel) return { ...state, focus: panel, zoomed: !shownPanels(state).includes(panel) };
  switch (key) {
    case 'escape':
      return goBack(state);
    case 'tab':
      return { ...state, focus: nextOf(shownPanels(state), focusOf(state)) };
    case 'shift-tab':
      return { ...state, focus: nextOf(shownPanels(state), focusOf(state), -1) };
    case 'z':
      return { ...state, zoomed: !state.zoomed };
    case 'm':
      return { ...state, by: nextOf(STACKS, state.by) };
    case 'enter':
      return enter(state);
    case 'd':
      return openBudget(state);
    case 'f':
      return followFeed({
        ...state,
        filter: { ...state.filter, kind: nextOf(FEED_KINDS, state.filter.kind) },
      });
    case 'o':
      return focusOf(state) === 'budgets'
        ? { ...state, budgetSort: nextOf(BUDGET_SORTS, state.budgetSort) }
        : followFeed({ ...state, sort: nextOf(SORTS, state.sort) });
    case '/':
      return { ...state, prompt: { kind: 'search', text: state.filter.text } };
    case ':':
      return state.readonly
        ? notice(state, 'read-only: no commands')
        : { ...state, prompt: { kind: 'command', text: '' } };
    case 'w':
      return { ...state, window: nextOf(WINDOWS, state.window) };
    case 't':
      return state.team.team
        ? { ...state, team: { ...state.team, isOpen: true } }
        : notice(state, 'this gateway belongs to no team. To join one: gw team join URL');
    case 'p':
      return { ...state, paused: !state.paused };
    case 'c':
    case 'y':
      return copyId(state);
    default:
      return state.readonly ? state : pressAction(state, key);
  }
}

/** Handles the keys that change something. Each opens a confirmation dialog. */
function pressAction(state: State, key: string): State {
  const { data } = state;
  if (!data) return state;
  switch (key) {
    case 'b': {
      const budget = selectedBudget(state);
      const ofTeam = budget?.team ? teamBudgetOf(budget.id) : undefined;
      if (ofTeam) return notice(state, teamBudgetText(ofTeam));
      return budget ? { ...state, dialog: askAmount(budget) } : noBudget(state);
    }
    case 'a':
      return data.asks.length > 0
        ? { ...state, dialog: askForAnswer(data) }
        : notice(state, 'no request waits for an answer');
    case 'n':
      return { ...state, dialog: askForKey(data) };
    case 'x':
      return { ...state, dialog: askForRevocation(data) };
    case 's':
      return { ...state, dialog: askForPause(data) };
    case 'S':
      return { ...state, dialog: askToStopAll(data) };
    case 'r': {
      const webhook = selectedWebhook(state);
      return webhook
        ? { ...state, dialog: askForReplay(webhook) }
        : notice(state, 'no webhooks yet. To add one: gw webhooks add URL');
    }
    default:
      return state;
  }
}

function openBudget(state: State): State {
  const budget = selectedBudget(state);
  return budget ? { ...state, drill: drillInto(budget) } : noBudget(state);
}

const noBudget = (state: State) =>
  state.filter.text === ''
    ? notice(state, 'no budgets yet. To set one: gw budget set 5')
    : notice(state, `no budget has "${state.filter.text}" in its name. esc shows all`);

function enter(state: State): State {
  switch (focusOf(state)) {
    case 'requests':
      return {
        ...(state.selected.request === null ? moveTo(state, 'first') : state),
        detailOpen: !state.detailOpen,
      };
    case 'budgets':
      return openBudget(state);
    case 'webhooks':
      return state.readonly ? state : pressAction(state, 'r');
    default:
      return { ...state, zoomed: !state.zoomed };
  }
}

/** Escape closes the detail, else clears the selection, else the filter. */
function goBack(state: State): State {
  if (state.detailOpen) return { ...state, detailOpen: false };
  if (state.zoomed) return { ...state, zoomed: false };
  if (state.heldFeed) return followFeed(state);
  return { ...state, filter: { kind: 'all', text: '' } };
}

/** Clears the selection, so that the feed follows new requests again. */
function followFeed(state: State): State {
  return { ...state, heldFeed: null, detailOpen: false, selected: { ...state.selected, request: null } };
}

const copyId = (state: State): State => copyText(state, idOf(state));

function copyText(state: State, text: string | undefined): State {
  return text === undefined ? state : { ...state, copy: { text }, notice: `copied ${text}` };
}

function idOf(state: State): string | undefined {
  const focus = focusOf(state);
  if (focus === 'budgets') return selectedBudget(state)?.id;
  if (focus === 'webhooks') {
    const webhook = selectedWebhook(state);
    return webhook && `wh_${webhook.id}`;
  }
  const id = detailId(state);
  return id === null ? undefined : formatRequestId(id);
}

const notice = (state: State, text: string): State => ({ ...state, notice: text });

function nextOf<T>(all: readonly T[], current: T, step = 1): T {
  return all[(all.indexOf(current) + step + all.length) % all.length] ?? current;
}

const AMOUNT = /^[\d.,$]$/;

/** Handles a key while a dialog is open. Escape closes the dialog unless its command is already running. */
function pressInDialog(state: State, dialog: Dialog, key: string): State {
  if (dialog.kind === 'working') return state;
  if (key === 'escape') return { ...state, dialog: null };
  const next = nextDialog(dialog, key);
  if (next !== undefined) return { ...state, dialog: next };
  const secret = dialog.kind === 'done' ? dialog.result.secret : undefined;
  return key === 'c' && secret !== undefined
    ? { ...state, copy: { text: secret }, notice: 'copied the key' }
    : state;
}

/** The dialog after a key press: null if the key closes it, undefined if the key has no effect. */
function nextDialog(dialog: Exclude<Dialog, { kind: 'working' }>, key: string): Dialog | null | undefined {
  switch (dialog.kind) {
    case 'choose':
      return pressInChoice(dialog, key);
    case 'amount':
      if (key === 'enter') return confirmAmount(dialog);
      if (key === 'backspace') return { ...dialog, text: dialog.text.slice(0, -1) };
      return AMOUNT.test(key) ? { ...dialog, text: (dialog.text + key).slice(0, 20) } : undefined;
    case 'confirm':
      if (key === 'y') return { kind: 'working', command: dialog.command };
      return key === 'n' || key === 'q' ? null : undefined;
    case 'done': {
      const move = MOVES[key];
      if (dialog.result.output && typeof move === 'number')
        return { ...dialog, top: Math.max(0, Math.min(dialog.result.output.length - 1, dialog.top + move)) };
      // A secret is shown only once: a stray key press must not close the dialog.
      return key === 'enter' || (key === 'q' && dialog.result.secret === undefined) ? null : undefined;
    }
    case 'failed':
      return null;
  }
}

function pressInChoice(dialog: Extract<Dialog, { kind: 'choose' }>, key: string): Dialog | null | undefined {
  const { options, index } = dialog;
  const to = (next: number) => ({ ...dialog, index: Math.max(0, Math.min(options.length - 1, next)) });
  if (key === 'j' || key === 'down') return to(index + 1);
  if (key === 'k' || key === 'up') return to(index - 1);
  if (key === 'enter') return options[index]?.next;
  return key === 'q' ? null : undefined;
}
