import { describe, expect, test } from 'vitest';
import { formatRequestId } from '../../../src/ids.ts';
import { drillInto } from '../../../src/tui/state/drill.ts';
import { mouseEventsIn } from '../../../src/tui/state/mouse.ts';
import { reduce } from '../../../src/tui/state/reduce.ts';
import { budgetsOf, feedOf, layoutFor, type State, shownData } from '../../../src/tui/state/state.ts';
import { parseView, viewOf } from '../../../src/tui/state/view.ts';
import { rowAt, sampleData, sampleState } from '../support/sample.ts';

const pressing = (state: State, ...keys: string[]) =>
  keys.reduce((current, key) => reduce(current, { type: 'press', key }), state);
const typing = (state: State, text: string, ...keys: string[]) => pressing(state, ...text, ...keys);

/** Clicks a cell of a panel, counted from the panel's upper left corner. */
function clicking(state: State, panel: string, line: number, kind = 'click' as 'click' | 'wheeldown'): State {
  const layout = layoutFor(state);
  const box = layout.kind === 'panels' && layout.columns.flat().find((each) => each.panel === panel);
  if (!box) throw new Error(`no panel ${panel}`);
  return reduce(state, { type: 'mouse', event: { kind, x: box.x + 3, y: box.y + line } });
}

describe('the mouse', () => {
  test('is read from reports in one chunk, and typed text is none', () => {
    expect(mouseEventsIn('[<0;12;5M\u001b[<0;12;5m\u001b[<65;1;40M')).toEqual([
      { kind: 'click', x: 11, y: 4 },
      { kind: 'wheeldown', x: 0, y: 39 },
    ]);
    expect(mouseEventsIn('[<99;1;1M')).toEqual([]);
    expect(mouseEventsIn('q')).toBeUndefined();
  });

  test.each([
    [80, 24],
    [120, 36],
    [250, 70],
  ])('selects the row under it at %dx%d, and opens the selected one', (columns, rows) => {
    const start = sampleState(columns, rows);
    const [, second] = feedOf(start);
    const selected = clicking(start, 'requests', 3);
    expect(selected.selected.request).toBe(second?.row.id);
    expect(selected.detailOpen).toBe(false);
    expect(clicking(selected, 'requests', 3).detailOpen).toBe(true);
    const perBudget = columns === 120 ? 2 : 1;
    const budget = clicking(start, 'budgets', 1 + perBudget);
    expect(budget).toMatchObject({ focus: 'budgets', selected: { budget: budgetsOf(start)[1]?.id } });
    expect(clicking(budget, 'budgets', 0)).toMatchObject({ dialog: null, selected: budget.selected });
  });

  test('scrolls the panel under it, and outside of panels does nothing', () => {
    const start = sampleState(80, 24);
    expect(clicking(start, 'requests', 4, 'wheeldown').selected.request).toBe(feedOf(start)[2]?.row.id);
    const outside = reduce(start, { type: 'mouse', event: { kind: 'click', x: 3, y: 0 } });
    expect(outside).toBe(start);
  });
});

describe('a command line', () => {
  test('runs a gw command with quoted words, completed by tab', () => {
    const { dialog } = typing(pressing(sampleState(80, 24), ':'), 'usa', 'tab', ...'-g "model"', 'enter');
    expect(dialog).toEqual({ kind: 'working', command: { kind: 'run_gw', args: ['usage', '-g', 'model'] } });
    expect(typing(pressing(sampleState(80, 24), ':'), 'gw status', 'enter').dialog).toMatchObject({
      command: { args: ['status'] },
    });
  });

  test('refuses what is no command, what needs a terminal, and all when read-only', () => {
    const state = pressing(sampleState(80, 24), ':');
    expect(typing(state, 'bugdet list', 'enter').dialog).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/no command "bugdet": budget/),
    });
    expect(typing(state, 'tail', 'enter').dialog).toMatchObject({
      message: expect.stringContaining('quit with q'),
    });
    expect(typing(state, 'logs -f', 'enter').dialog).toMatchObject({ kind: 'failed' });
    expect(pressing({ ...sampleState(80, 24), readonly: true }, ':').prompt).toBeNull();
  });

  test('shows what the command printed, scrolled within its lines', () => {
    const output = Array.from({ length: 40 }, (_, i) => `line ${i}`);
    const shown = reduce(sampleState(80, 24), { type: 'done', result: { message: 'gw usage', output } });
    expect(pressing(shown, 'j', 'pagedown', 'k').dialog).toMatchObject({ top: 10 });
    expect(pressing(shown, 'k').dialog).toMatchObject({ top: 0 });
    expect(pressing(shown, ...Array(9).fill('pagedown')).dialog).toMatchObject({ top: 39 });
    expect(pressing(shown, 'q')).toMatchObject({ dialog: null, quit: null });
  });
});

test('the requests are in the order of any column', () => {
  const rows = [
    rowAt(1, { costNanoUsd: 5, inputTokens: 1, durationMs: 9, model: 'b', project: 'x' }),
    rowAt(2, { costNanoUsd: 9, inputTokens: 2, durationMs: 1, model: 'a', project: 'y' }),
    rowAt(3, { costNanoUsd: 7, inputTokens: 3, durationMs: 5, model: 'c', project: 'w' }),
  ];
  let state = sampleState(80, 24, { ...sampleData(), requests: rows });
  const orders: Record<string, string> = {};
  for (let i = 0; i < 6; i++) {
    orders[state.sort] = feedOf(state)
      .map(({ row }) => row.model)
      .join('');
    state = pressing(state, 'o');
  }
  expect(orders).toEqual({
    time: 'bac',
    cost: 'acb',
    tokens: 'cab',
    took: 'bca',
    model: 'abc',
    project: 'cba',
  });
});

test('budgets are in the order of any column, which is remembered', () => {
  let state = pressing(sampleState(80, 24), '1');
  const orders: Record<string, string[]> = {};
  for (let i = 0; i < 5; i++) {
    orders[state.budgetSort] = budgetsOf(state).map(({ id }) => id);
    state = pressing(state, 'o');
  }
  expect(state.budgetSort).toBe('urgency');
  expect(Object.keys(orders)).toEqual(['urgency', 'spent', 'left', 'cap', 'name']);
  expect(orders.name).toEqual([...(orders.name ?? [])].sort());
  expect(orders.spent?.[0]).toBe('ci/monthly');
});

test('a search shows the rows of all panels that have the text, and no others', () => {
  const found = typing(pressing(sampleState(250, 70), '/'), 'CI', 'enter');
  expect(budgetsOf(found).map(({ id }) => id)).toEqual(['ci/monthly']);
  const data = shownData(found);
  for (const list of [
    data?.running,
    data?.blocked,
    data?.models,
    data?.callers,
    data?.providers,
    data?.webhooks,
  ])
    for (const row of list ?? []) expect(JSON.stringify(row).toLowerCase()).toContain('ci');
  expect(clicking(found, 'budgets', 1).selected.budget).toBe('ci/monthly');
  expect(typing(pressing(found, 'escape', '/'), 'no such name', 'enter', '1', 'd').notice).toMatch(
    /no budget has/,
  );
  expect(budgetsOf(pressing(found, 'escape')).length).toBeGreaterThan(1);
});

test('enter leads from a budget to a session, a request and its detail, and esc back by the same steps', () => {
  const state = pressing(sampleState(80, 24), '1', 'enter');
  const sessions = [{ session: 'thread-1' }, { session: 'thread-2' }] as never;
  const requests = [
    { id: 'req_1', model: 'b', created_at: '2026-11-20T10:00:00Z', cost_nano_usd: 1 },
    { id: 'req_2', model: 'a', created_at: '2026-11-20T09:00:00Z', cost_nano_usd: 2 },
  ] as never;
  const listed = pressing(reduce(state, { type: 'drill', sessions }), 'G', 'enter');
  const opened = reduce(listed, { type: 'drill', requests });
  expect(pressing(opened, 'y').copy?.text).toBe('req_1');
  expect(pressing(opened, 'o', 'y').copy?.text).toBe('req_2');
  const one = pressing(opened, '/', 'a', 'enter', 'enter');
  expect(one.drill).toMatchObject({ opened: 'thread-2', detailOpen: true });
  const steps = [one];
  for (let i = 0; i < 4; i++) steps.push(pressing(steps.at(-1) ?? one, 'escape'));
  expect(
    steps.map(({ drill }) => drill && [drill.detailOpen, drill.text.requests, drill.requests?.length]),
  ).toEqual([[true, 'a', 2], [false, 'a', 2], [false, '', 2], [false, '', undefined], null]);
  expect(steps[3]?.drill?.session).toBe(1);
});

test('a search in the sessions of a budget shows those alone, and y copies theirs', () => {
  const start = sampleState(80, 24);
  const [budget] = budgetsOf(start);
  if (!budget) throw new Error('no budget');
  const sessions = ['thread-1', 'night-2', 'thread-3'].map((session) => ({ session })) as never;
  const drilled = reduce({ ...start, drill: drillInto(budget) }, { type: 'drill', sessions });
  const found = typing(pressing(drilled, '/'), 'Night', 'enter');
  expect(pressing(found, 'y').copy?.text).toBe('night-2');
  expect(pressing(found, 'G', 'y').copy?.text).toBe('night-2');
  expect(pressing(found, 'enter').drill?.requests).toBeNull();
  expect(pressing(drilled, 'G', 'y').copy?.text).toBe('thread-3');
});

test('y copies the id of a request as c does', () => {
  const state = pressing(sampleState(80, 24), 'j', 'y');
  expect(state.copy?.text).toBe(formatRequestId(feedOf(state)[0]?.row.id ?? 0));
});

test('a view is remembered, and what another version wrote is left out', () => {
  const view = viewOf(pressing(sampleState(200, 50), '1', 'z', 'm', 'w', 'o'));
  expect(view).toEqual({
    focus: 'budgets',
    zoomed: true,
    by: 'agent',
    window: 'month',
    sort: 'time',
    budgetSort: 'spent',
  });
  expect(parseView(JSON.parse(JSON.stringify(view)))).toEqual(view);
  expect(parseView({ focus: 'gone', zoomed: 'yes', by: 'model', window: 7, sort: null })).toEqual({
    by: 'model',
  });
  for (const odd of [null, [], 'x', 3]) expect(parseView(odd)).toEqual({});
});
