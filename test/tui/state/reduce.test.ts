import { describe, expect, test } from 'vitest';
import { formatRequestId } from '../../../src/ids.ts';
import { reduce } from '../../../src/tui/state/reduce.ts';
import { type Action, feedOf, newerThanHeld, type State } from '../../../src/tui/state/state.ts';
import { ASK, NOW, rowAt, sampleData, sampleState } from '../support/sample.ts';

const pressing = (state: State, ...keys: string[]) =>
  keys.reduce((current, key) => reduce(current, { type: 'press', key }), state);
const start = () => sampleState(80, 24);

describe('the feed', () => {
  test('follows new requests until a row is selected, then holds and counts them', () => {
    const running = start();
    const held = pressing(running, 'j', 'j');
    const rows = feedOf(held);
    expect(held.selected.request).toBe(rows[1]?.row.id);

    const data = sampleData();
    const later = reduce(held, {
      type: 'data',
      data: { ...data, requests: [rowAt(-1), rowAt(0), ...data.requests] },
    });
    expect(feedOf(later)).toBe(rows);
    expect(newerThanHeld(later)).toBe(2);
    expect(later.selected.request).toBe(held.selected.request);

    const followed = pressing(later, 'escape');
    expect(feedOf(followed)[0]?.row.timeMs).toBe(NOW + 1_000);
    expect(followed.selected.request).toBeNull();
  });

  test('stops at its ends', () => {
    const rows = feedOf(start());
    expect(pressing(start(), 'G', 'j').selected.request).toBe(rows.at(-1)?.row.id);
    expect(pressing(start(), 'G', 'g', 'k').selected.request).toBe(rows[0]?.row.id);
    expect(pressing(start(), 'pagedown').selected.request).toBe(rows.at(-1)?.row.id);
  });

  test('follows again when the filter changes', () => {
    const state = pressing(start(), 'j', 'f');
    expect(state.filter.kind).toBe('blocked');
    expect(state.heldFeed).toBeNull();
    expect(pressing(state, 'f', 'f', 'f').filter.kind).toBe('all');
  });

  test('is searched for the typed text when enter is pressed', () => {
    const typing = pressing(start(), '/', ...'q?clauude'.split(''), 'up', 'backspace', 'backspace');
    expect(typing.prompt?.text).toBe('q?clauu');
    expect(typing.filter.text).toBe('');
    expect(typing.quit).toBeNull();
    expect(pressing(typing, 'enter').filter.text).toBe('q?clauu');
    expect(pressing(typing, 'escape').prompt).toBeNull();
  });
});

describe('keys', () => {
  test('go to the chosen panel', () => {
    const state = pressing(start(), '1', 'j', 'j', '3', 'G', 'tab');
    expect(state.selected).toEqual({ budget: 'agents/daily', request: null, webhook: 2 });
    expect(state.focus).toBe('budgets');
    expect(pressing(state, 'shift-tab').focus).toBe('requests');
    expect(pressing(sampleState(200, 50), 'shift-tab').focus).toBe('refused');
  });

  test('go to the budgets if the terminal shows nothing else', () => {
    const small = sampleState(50, 12);
    expect(pressing(small, 'j').selected).toEqual({ budget: 'ci/monthly', request: null, webhook: null });
    expect(pressing(small, 'j', 'j', 'b').dialog).toMatchObject({ kind: 'amount', text: '10' });
    expect(pressing(small, 'j', 'j', 'enter').drill?.budget.id).toBe('agents/daily');
  });

  test('zoom into a panel and back, and into one that the screen has no room for', () => {
    expect(pressing(start(), '1', 'z')).toMatchObject({ focus: 'budgets', zoomed: true });
    expect(pressing(start(), '1', 'z', 'escape').zoomed).toBe(false);
    expect(pressing(start(), '3')).toMatchObject({ focus: 'webhooks', zoomed: true });
    expect(pressing(sampleState(200, 50), '3')).toMatchObject({ focus: 'webhooks', zoomed: false });
  });

  test('change the window, pause the display, open the help and the detail', () => {
    expect(pressing(start(), 'w').window).toBe('month');
    expect(pressing(start(), 'w', 'w').window).toBe('hour');
    expect(pressing(start(), 'p').paused).toBe(true);
    expect(pressing(start(), 'p', 'p').paused).toBe(false);
    expect(pressing(start(), '?').help).toBe(true);
    expect(pressing(start(), '?', 'x')).toMatchObject({ help: false, dialog: null });
    expect(pressing(start(), 'enter')).toMatchObject({ detailOpen: true });
    expect(pressing(start(), 'enter', 'escape').detailOpen).toBe(false);
  });

  test('copy the id of the selected row', () => {
    const state = pressing(start(), 'j', 'c');
    expect(state.copy?.text).toBe(formatRequestId(feedOf(state)[0]?.row.id ?? 0));
    expect(state.notice).toContain('copied req_');
    expect(pressing(state, 'j').notice).toBeNull();
    expect(pressing(start(), '1', 'c').copy?.text).toBe('ci/monthly');
    expect(pressing(start(), '3', 'c').copy?.text).toBe('wh_1');
  });

  test('quit with 0, and with 130 on Ctrl-C everywhere', () => {
    expect(pressing(start(), 'q').quit).toBe(0);
    for (const keys of [[], ['/'], ['?'], ['b'], ['n'], ['b', 'enter', 'y']]) {
      expect(pressing(start(), ...keys, 'ctrl-c').quit).toBe(130);
    }
  });

  test('without a meaning do nothing', () => {
    for (const key of ['u', '9', '0', ' ', '\u001b', 'é']) expect(pressing(start(), key)).toEqual(start());
  });
});

describe('changes', () => {
  test('raise a budget once a higher amount is confirmed', () => {
    const open = pressing(start(), '1', 'j', 'j', 'b');
    expect(open.dialog).toMatchObject({ kind: 'amount', text: '10' });
    const cleared = pressing(open, 'backspace', 'backspace', 'x');
    expect(pressing(cleared, 'enter').dialog).toMatchObject({
      problem: expect.stringContaining('an amount'),
    });
    expect(pressing(cleared, '4', 'enter').dialog).toMatchObject({ problem: 'enter more than $5.00' });
    const confirm = pressing(cleared, '1', '2', '.', '5', 'enter');
    expect(confirm.dialog).toMatchObject({
      kind: 'confirm',
      question: 'Raise agents/daily from $5.00 to $12.50?',
    });
    expect(pressing(confirm, 'n').dialog).toBeNull();
    expect(pressing(confirm, 'enter').dialog).toBe(confirm.dialog);
    expect(pressing(confirm, 'y').dialog).toEqual({
      kind: 'working',
      command: {
        kind: 'raise_budget',
        project: 'agents',
        period: 'daily',
        capNanoUsd: 12_500_000_000,
      },
    });
  });

  const command = (...keys: string[]) => {
    const { dialog } = pressing(start(), ...keys);
    return dialog?.kind === 'working' ? dialog.command : dialog;
  };

  test('make and revoke keys, pause and resume projects, replay webhooks', () => {
    expect(command('n', 'j', 'enter', 'y')).toEqual({ kind: 'create_key', project: 'ci' });
    expect(command('x', 'j', 'k', 'enter', 'y')).toEqual({ kind: 'revoke_key', id: 1 });
    expect(command('s', 'enter', 'y')).toEqual({ kind: 'pause_project', project: 'agents' });
    expect(command('s', 'j', 'j', 'enter', 'y')).toEqual({ kind: 'resume_project', project: 'lab' });
    expect(command('r', 'y')).toEqual({ kind: 'replay_webhook', id: 1 });
    expect(command('3', 'G', 'enter')).toMatchObject({
      kind: 'failed',
      message: 'No failed deliveries to wh_2 (ci.example.com).',
    });
  });

  test('stop everything with one key and its confirmation, and resume with the same', () => {
    expect(pressing(start(), 'S').dialog).toMatchObject({
      kind: 'confirm',
      question: 'STOP EVERYTHING: pause all projects and cut their running requests?',
    });
    expect(command('S', 'y')).toEqual({ kind: 'stop_all' });
    const projects = sampleData().projects.map((project) => ({ ...project, paused: true }));
    const stopped = pressing({ ...start(), data: { ...sampleData(), projects } }, 'S', 'y').dialog;
    expect(stopped).toEqual({ kind: 'working', command: { kind: 'resume_all' } });
  });

  test('answer a request that waits once that is confirmed', () => {
    expect(pressing(start(), 'a').notice).toBe('no request waits for an answer');
    const waiting = reduce(start(), { type: 'data', data: { ...sampleData(), asks: [ASK] } });
    const open = pressing(waiting, 'a');
    expect(open.dialog).toMatchObject({
      kind: 'choose',
      title: expect.stringContaining('needs up to $0.42'),
      options: [{ label: 'approve this request alone' }, { label: 'raise the budget' }, { label: 'deny it' }],
    });
    expect(pressing(open, 'enter', 'enter').dialog).toMatchObject({ kind: 'confirm' });
    expect(pressing(open, 'enter', 'y').dialog).toEqual({
      kind: 'working',
      command: { kind: 'approve_ask', id: ASK.id },
    });
    expect(pressing(open, 'j', 'enter').dialog).toMatchObject({
      kind: 'amount',
      budget: { id: 'agents/daily' },
    });
    expect(pressing(open, 'j', 'j', 'enter', 'y').dialog).toMatchObject({
      command: { kind: 'deny_ask', id: ASK.id },
    });
    const two = { ...sampleData(), asks: [ASK, { ...ASK, id: 'ask_03nmh2t0001' }] };
    const second = pressing(reduce(start(), { type: 'data', data: two }), 'a', 'j', 'enter', 'enter', 'y');
    expect(second.dialog).toMatchObject({ command: { id: 'ask_03nmh2t0001' } });
  });

  test('are cancelled by escape until they are confirmed', () => {
    for (const keys of [['b'], ['b', 'enter'], ['n'], ['x', 'enter'], ['s'], ['S'], ['r']]) {
      expect(pressing(start(), ...keys, 'escape').dialog).toBeNull();
    }
    const working = pressing(start(), 'r', 'y');
    expect(pressing(working, 'escape', 'q', 'y').dialog).toBe(working.dialog);
  });

  test('are not available when read-only', () => {
    const state = { ...start(), readonly: true };
    for (const key of ['a', 'b', 'n', 'x', 's', 'r']) expect(pressing(state, key)).toBe(state);
    expect(pressing(state, '1', 'enter').dialog).toBeNull();
    expect(pressing(state, '3', 'enter').dialog).toBeNull();
  });

  test('show a secret until it is closed on purpose, and can copy it', () => {
    const done: Action = { type: 'done', result: { message: 'Created key 3:', secret: 'sk-gw-x' } };
    const state = reduce(start(), done);
    expect(pressing(state, 'q', 'j').dialog).toBe(state.dialog);
    expect(pressing(state, 'c').copy).toEqual({ text: 'sk-gw-x' });
    expect(JSON.stringify(pressing(state, 'enter'))).not.toContain('sk-gw-x');
    expect(JSON.stringify(pressing(state, 'c', 'escape').dialog)).not.toContain('sk-gw-x');
  });
});

describe('the daemon', () => {
  test('causes no frame while unchanged; when it goes, the time is kept', () => {
    const state = start();
    const same = { ...state.daemon };
    expect(reduce(state, { type: 'daemon', daemon: same, now: NOW + 5_000 })).toBe(state);
    const gone = reduce(state, { type: 'daemon', daemon: { kind: 'stopped' }, now: NOW + 9_000 });
    expect(gone.seenAt).toBe(NOW + 9_000);
  });

  test('an unreadable database is reported once, until it is readable again', () => {
    const problem: Action = { type: 'problem', message: 'disk I/O error' };
    const state = reduce(start(), problem);
    expect(reduce(state, problem)).toBe(state);
    expect(reduce(state, { type: 'data', data: sampleData() }).problem).toBeNull();
  });
});
