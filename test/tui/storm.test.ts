import { EventEmitter } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DashboardReading } from '../../src/operations/reader.ts';
import { COLOURED } from '../../src/terminal/palette.ts';
import { drawDashboard } from '../../src/tui/dashboard.ts';
import { textRows } from '../../src/tui/frame.ts';
import { enterScreen, type Tty } from '../../src/tui/run.tsx';
import { drillInto } from '../../src/tui/state/drill.ts';
import type { Size } from '../../src/tui/state/layout.ts';
import { reduce } from '../../src/tui/state/reduce.ts';
import { budgetsOf, type State } from '../../src/tui/state/state.ts';
import { createEmulator } from './support/emulator.ts';
import { ASK, LOOK, rowAt, sampleData, sampleState } from './support/sample.ts';

const pressing = (state: State, ...keys: string[]) =>
  keys.reduce((current, key) => reduce(current, { type: 'press', key }), state);

const frameOf = (state: State, palette = LOOK.palette) =>
  drawDashboard({ state, version: '0.1.0', baseUrl: 'http://localhost:4747/v1', look: { ...LOOK, palette } });

const NAMES = ['模型-強い', '🚀🧪-model', 'e\u0301tude', 'ｆｕｌｌ', 'a'.repeat(90), '한국어 이름'];

/** Names in scripts of all widths, everywhere. */
function worldOf(i: number): DashboardReading {
  const data = sampleData();
  const name = (at: number) => NAMES[(i + at) % NAMES.length] ?? '';
  return {
    ...data,
    asks: [ASK],
    budgets: data.budgets.map((budget, at) => ({ ...budget, id: `${name(at)}/daily` })),
    requests: NAMES.map((model, at) => rowAt(at, { model, project: name(at + 1) })),
    running: data.running.map((row, at) => ({ ...row, model: name(at), project: name(at + 2) })),
    models: data.models.map((row, at) => ({ ...row, provider: name(at), model: name(at + 1) })),
    callers: data.callers.map((row, at) => ({ ...row, process: name(at), repo: name(at + 3) })),
    providers: data.providers.map((row, at) => ({ ...row, provider: name(at) })),
    parts: data.parts.map((part, at) => ({ ...part, name: name(at) })),
    webhooks: data.webhooks.map((row, at) => ({ ...row, project: name(at), host: name(at + 1) })),
  };
}

type Step = { size: Size; key: string; world: number };
const step: fc.Arbitrary<Step> = fc.record({
  size: fc.record({ columns: fc.integer({ min: 1, max: 260 }), rows: fc.integer({ min: 1, max: 75 }) }),
  key: fc.constantFrom('?', '/', 'z', 'tab', 'b', 'j', 'enter', 'escape', 'w', 'm', 'o', 'd', 'S', 'f'),
  world: fc.nat(NAMES.length),
});

/** Plays resizes, keys and readings on a terminal through `damage`; throws where its screen is not the last frame. */
function play(steps: readonly Step[], damage = (text: string) => text): void {
  const start = { columns: 80, rows: 24 };
  const terminal = createEmulator(start);
  const tty = Object.assign(new EventEmitter(), {
    ...start,
    write: (text: string) => terminal.write(damage(text)),
  });
  // Only these parts of a terminal are used.
  const screen = enterScreen(tty as unknown as Tty);
  let state = sampleState(start.columns, start.rows);
  for (const { size, key, world } of steps) {
    if (size.columns % 3 > 0) {
      terminal.resize(size);
      Object.assign(tty, size).emit('resize');
      state = reduce(state, { type: 'resize', size });
    }
    state = pressing(reduce(state, { type: 'data', data: worldOf(world) }), key);
    const frame = frameOf(state, COLOURED);
    screen.paint(frame);
    const rows = textRows(frame).map((row) => stripVTControlCharacters(row).trimEnd());
    expect(terminal.lines()).toEqual(Array.from({ length: tty.rows }, (_, i) => rows[i] ?? ''));
  }
}

describe('whatever happens, the terminal shows the last frame and nothing else', () => {
  const storms = fc.array(step, { minLength: 1, maxLength: 8 });

  test('through resizes, keys and names of all widths', () => {
    fc.assert(
      fc.property(storms, (steps) => play(steps)),
      { numRuns: 60 },
    );
  });

  test.each([
    ['does not clear a line before it is written', '\u001b[0m\u001b[K'],
    ['does not clear the screen after a resize', '\u001b[2J'],
  ])('which fails if it %s', (_what, sequence) => {
    expect(() =>
      fc.assert(
        fc.property(storms, (steps) => play(steps, (text) => text.replaceAll(sequence, ''))),
        { numRuns: 60 },
      ),
    ).toThrow();
  });
});

test('at 10x3 the screen says that it is too small, and q quits', () => {
  expect(pressing(sampleState(10, 3), 'q').quit).toBe(0);
  expect(textRows(frameOf(sampleState(10, 3)))).toEqual(['terminal …']);
});

test('10,000 sessions are moved through, searched and ordered', () => {
  const start = sampleState(120, 36);
  const [budget] = budgetsOf(start);
  if (!budget) throw new Error('no budget');
  const sessions = Array.from({ length: 10_000 }, (_, i) => ({
    session: `thread-${i}`,
    requests: i % 7,
    cost_nano_usd: (10_000 - i) * 1_000_000,
  })) as never;
  const drilled = reduce({ ...start, drill: drillInto(budget) }, { type: 'drill', sessions });
  const shown = (state: State) => textRows(frameOf(state)).join('\n');
  expect(shown(drilled)).toMatch(/>\$10\.00 +0 requests +thread-0\n/);
  expect(shown(pressing(drilled, 'G'))).toMatch(/>\$0\.0010 +3 requests +thread-9999$/m);
  const found = pressing(drilled, '/', ...'D-4321', 'enter');
  expect(shown(found)).toMatch(/SESSIONS "D-4321" of [\s\S]*>\$5\.68 +2 requests +thread-4321\n/);
  expect(shown(pressing(found, 'escape', 'o'))).toMatch(
    /SESSIONS by requests of [\s\S]*>\$9\.99 +6 requests/,
  );
  expect(pressing(found, 'escape', 'escape').drill).toBeNull();
});
