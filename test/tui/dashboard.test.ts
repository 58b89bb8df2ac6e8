import { describe, expect, test } from 'vitest';
import type { Look } from '../../src/terminal/look.ts';
import { COLOURED } from '../../src/terminal/palette.ts';
import { widthOf } from '../../src/terminal/text.ts';
import { drawDashboard } from '../../src/tui/dashboard.ts';
import { textRows } from '../../src/tui/frame.ts';
import { reduce } from '../../src/tui/state/reduce.ts';
import type { State } from '../../src/tui/state/state.ts';
import {
  ASCII_LOOK,
  ASK,
  LOOK,
  NOW,
  planWindows,
  rowAt,
  sampleData,
  sampleRequest,
  sampleState,
  sampleTeam,
  sampleTeamUsage,
} from './support/sample.ts';

function draw(state: State, look: Look = LOOK): string {
  const props = { state, version: '0.1.0', baseUrl: 'http://localhost:4747/v1', look };
  return textRows(drawDashboard(props)).join('\n');
}

const pressing = (state: State, ...keys: string[]) =>
  keys.reduce((current, key) => reduce(current, { type: 'press', key }), state);

describe('the dashboard', () => {
  test.each([
    [40, 12],
    [60, 20],
    [80, 24],
    [120, 36],
    [160, 45],
    [200, 50],
    [250, 70],
  ])('at %dx%d', async (columns, rows) => {
    const frame = draw(sampleState(columns, rows));
    await expect(frame).toMatchFileSnapshot(`snapshots/${columns}x${rows}.txt`);
  });

  test.each([
    [60, 20],
    [80, 24],
    [120, 36],
    [200, 50],
  ])('the team at %dx%d, and no wider or higher without its database', async (columns, rows) => {
    const state = pressing(reduce(sampleState(columns, rows), { type: 'team', team: sampleTeam() }), 't');
    const [gateways, models] = [sampleTeamUsage('gateway'), sampleTeamUsage('model')];
    const read = reduce(state, { type: 'teamUsage', gateways, models, at: NOW });
    await expect(draw(read)).toMatchFileSnapshot(`snapshots/team-${columns}x${rows}.txt`);
    const failed = reduce(state, { type: 'teamFailure', message: 'refused '.repeat(50), at: NOW });
    for (const each of [state, read, failed]) {
      const lines = draw(each).split('\n');
      expect(lines.length).toBeLessThan(rows);
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns);
    }
    expect(draw(failed)).toContain('PostgreSQL not reachable since 14:02');
    expect(draw({ ...failed, size: { columns: 40, rows: 8 } }).split('\n')).toHaveLength(7);
  });

  test('is lower than the terminal and never wider', () => {
    for (const [columns, rows] of [40, 59, 60, 79, 80, 99, 100, 140, 211].flatMap((columns) =>
      [8, 14, 15, 24, 27, 28, 40, 61].map((rows) => [columns, rows] as const),
    )) {
      const lines = draw(sampleState(columns, rows)).split('\n');
      expect(lines.length).toBeLessThan(rows);
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns);
    }
  });

  test('warns of a provider in its first line until its last failure is a minute old, with answers since', () => {
    const [failing] = sampleData().providers;
    if (!failing) throw new Error('no provider');
    const headerOf = (change: Partial<typeof failing>) => {
      const provider = { ...failing, attempts: 8, failedAttempts: 5, ...change };
      const data = { ...sampleData(), blocked: [], providers: [provider] };
      return draw(sampleState(160, 45, data)).split('\n', 1)[0];
    };
    const warning = /! anthropic: .*63% of 8 calls failed/;
    const [lastFailureAt, since] = [NOW - 60_001, NOW - 100];
    expect(headerOf({ lastFailureAt: NOW - 59_000, lastSuccessAt: since })).toMatch(warning);
    expect(headerOf({ lastFailureAt, lastSuccessAt: NOW - 70_000 })).toMatch(warning);
    expect(headerOf({ lastFailureAt, blocks: [{ because: 'auth', until: NOW + 5_000 }] })).toMatch(warning);
    expect(headerOf({ lastFailureAt, lastSuccessAt: since })).not.toContain('anthropic');
  });

  test('shows what waits for room in a budget before what runs', () => {
    const [run] = sampleData().running;
    if (!run) throw new Error('nothing runs');
    const { heldNanoUsd: _, ...rest } = run;
    const waiting = [{ ...rest, id: 1, timeMs: NOW - 3_000, neededNanoUsd: 70_000_000 }];
    const frame = draw(sampleState(80, 24, { ...sampleData(), waiting }));
    expect(frame).toContain('RUNNING (1, hold $0.42, 58 tok/s, 1 wait for room in a budget)');
    expect(frame).toMatch(/^ ! +3\.0s +\$0\.07 .*\n {2,}41s +~\$0\.031 /m);
  });

  test('shows the requests that wait for an answer', () => {
    for (const columns of [40, 80, 140]) {
      const frame = draw(sampleState(columns, 40, { ...sampleData(), asks: [ASK] }));
      expect(frame).toContain('WAITING FOR AN ANSWER (1), press a');
      expect(frame).toMatch(/agents\/daily +\$0\.42 +until \d\d:\d\d:\d\d/);
    }
  });

  test('shows the windows of plans, and gives their room away without a login', () => {
    const before = draw(sampleState(120, 36));
    expect(before).not.toContain('PLAN WINDOWS');
    const frames = [40, 60, 120, 200].map((columns) => {
      const frame = draw(sampleState(columns, 36, { ...sampleData(), limits: planWindows() }));
      for (const line of frame.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(columns);
      return frame.split('\n').filter((line) => /PLAN|anthropic [57]|chatgpt [57]/.test(line));
    });
    expect(frames.map(([, first]) => first)).toEqual([
      ' ! anthropic 5h   ████░░  62%      3h58m',
      expect.stringMatching(/^ ! anthropic 5h +█+░+ +62% +full at 16:40 +3h58m$/),
      expect.stringMatching(/^ ! anthropic 5h +█+░+ +62% +full at 16:40 +3h58m /),
      expect.stringMatching(/^ ! anthropic 5h +█+░+ +62% +full at 16:40 +3h58m /),
    ]);
    expect(frames[1]?.[0]).toMatch(/^─ PLAN WINDOWS ─+ resets in$/);
    expect(frames[1]?.[2]).toMatch(/^ {3}anthropic 7d opus +█+░+ +31% +lasts +2d02h$/);
    expect(frames[1]?.[3]).toMatch(/^ X chatgpt 5h +█+ 100% +full +59m$/);
  });

  test('says when the terminal is too small', () => {
    expect(draw(sampleState(39, 7))).toBe('terminal too small (39x7): needs 40x8');
  });

  test('draws in plain ASCII on request', () => {
    const data = { ...sampleData(), requests: [rowAt(2)] };
    for (const [columns, rows] of [
      [80, 24],
      [140, 40],
    ] as const) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the newline is one
      expect(draw(sampleState(columns, rows, data), ASCII_LOOK)).toMatch(/^[\x0a\x20-\x7e]*$/);
    }
  });

  test('shows the same text with and without colours', () => {
    // Without colours, the parts of the chart have shades.
    const state = sampleState(140, 40, { ...sampleData(), parts: [] });
    const coloured = draw(state, { ...LOOK, palette: COLOURED });
    expect(coloured).toContain('\u001b[31m');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
    const plain = coloured.replaceAll(/\u001b\[[\d;]+m/g, '');
    expect(plain.replaceAll(/ +$/gm, '')).toBe(draw(state).replaceAll(/ +$/gm, ''));
  });

  test('keeps columns aligned around wide characters', () => {
    const lines = draw(sampleState(80, 24)).split('\n');
    const plain = lines.find((line) => line.includes('14:02:09')) ?? '';
    const wide = lines.find((line) => line.includes('深度求索')) ?? '';
    expect(widthOf(wide)).toBe(widthOf(plain));
    expect(wide).toContain('unpriced');
  });

  test('removes control characters from outside text', () => {
    const evil = 'm\u001b[2Jodel\u0007\u202e\n\u009b31m';
    const data = {
      ...sampleData(),
      requests: [rowAt(2, { model: evil, project: evil, outcome: 'refused', costNanoUsd: 0, error: evil })],
    };
    const request = sampleRequest({ model: evil, askedModel: evil, detail: { error: evil, [evil]: [evil] } });
    const frame = draw({ ...sampleState(140, 40, data), detail: request });
    expect(frame).toContain('m[2Jodel 31m');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that none is there is the point
    expect(frame).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(frame.split('\n').length).toBe(39);
  });

  test('collapses a run of equal refusals into one line', () => {
    const frame = draw(sampleState(80, 24));
    expect(frame).toContain('x24 ci/monthly full since 13:39');
    expect(frame.match(/ci\/monthly full/g)).toHaveLength(1);
  });

  test('lists the most urgent budget first, with its state in words', () => {
    const lines = draw(sampleState(80, 24)).split('\n');
    const at = lines.findIndex((line) => line.includes('BUDGETS'));
    expect(lines[at + 1]).toMatch(/^ X ci\/monthly .* 100% .* BLOCK {2}until Dec 1/);
    expect(lines[at + 2]).toMatch(/^ ! agents\/daily .* 86% .*\$0\.72 {2}out ~16:/);
    expect(lines[at + 3]).toMatch(/^ {3}team-web\/daily .* 41% .*\$11\.80 {2}ok to 00:00/);
  });

  test('says that the daemon is down, since when, and how to start it', () => {
    const state = reduce(sampleState(80, 24), { type: 'daemon', daemon: { kind: 'stopped' }, now: NOW });
    const [header] = draw(state).split('\n');
    expect(header).toContain('X STOPPED (last seen 14:02)  run: gw start');
    expect(header).not.toContain('live');
    expect(draw(state, { ...LOOK, gw: './bin/gw' })).toContain('run: ./bin/gw start');
    expect(draw(state, { ...LOOK, gw: `/srv/${'long/'.repeat(9)}gw` })).toContain('run: gw start');
  });

  test('shows commands to copy while there are no requests', () => {
    const data = { ...sampleData(), requests: [] };
    const frame = draw(sampleState(80, 24, data));
    expect(frame).toContain('eval "$(gw env)"');
    expect(frame).toContain('curl http://localhost:4747/v1/chat/completions');
  });

  test('shows everything on record about a request', () => {
    const detail = {
      attempts: [
        { provider: 'anthropic', model: 'claude-sonnet-4', outcome: '529', ms: 180, cost_usd: 0 },
        { provider: 'openai', model: 'gpt-4.1-mini', outcome: 'ok', ms: 2_600, cost_usd: 0.0012 },
      ],
    };
    const state = pressing({ ...sampleState(80, 24), detail: sampleRequest({ detail }) }, 'enter');
    expect(draw(state)).toMatchInlineSnapshot(`
      " gw 0.1.0  X REFUSED: ci/monthly has no room (x24)    paused: lab  live  14:02
      ─ REQUEST ──────────────────────────────────────────────────────────────────────
       id       req_06xkrtmd000  2026-11-20 14:02:09
       project  team-web  key ...abcd  chat/completions
       from     node agent.mjs in /home/ann/shop
       route    fast > openai/gpt-4.1-mini
       outcome  ok, HTTP 200  (stream)
       input    1,234 tokens, 1,000 from cache
       output   456 tokens, 64 of reasoning
       cost     $0.0012 of $0.01 held, $0.0088 given back
       saved    $0.000048, 120 tokens by compression
       timing   2.8s, first byte after 532ms, 200 tokens/s
       stages   reading 1ms, compressing 1ms, admitting 1ms, sending 1ms, provider
                528ms, answering 2.3s
       dollars  compressing saved $0.000048, admitting held $0.01, provider took
                $0.0012, settling gave back $0.0088
       attempts anthropic/claude-sonnet-4: 529, 180ms, $0.00
                openai/gpt-4.1-mini: ok, 2.6s, $0.0012




       1-3 panel  j/k move  enter detail  f filter  / search  z zoom  ? help  q quit"
    `);
  });

  test('lists every key in the help, but no action when read-only', () => {
    const state = pressing(sampleState(80, 24), '?');
    expect(draw(state)).toContain('raise the selected budget');
    expect(draw({ ...state, readonly: true })).not.toContain('raise the selected budget');
  });

  test('shows a new key in full on the narrowest terminal', () => {
    const secret = `sk-gw-${'0123456789'.repeat(4)}abc`;
    const state = reduce(sampleState(40, 12), {
      type: 'done',
      result: { message: 'Created key 3 for project ci:', secret },
    });
    expect(draw(state).replaceAll(/\s/g, '')).toContain(secret);
  });
});
