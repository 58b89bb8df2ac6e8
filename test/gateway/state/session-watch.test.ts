import { describe, expect, test } from 'vitest';
import { createSessionWatch, type Runaway, type Turn } from '../../../src/gateway/state/session-watch.ts';
import type { Usual } from '../../../src/store/runaways/runaways.ts';
import { type Played, playOrdinary, playRunaway } from '../../support/played-sessions.ts';

const NOTHING: Usual = { repeats: 0, failures: 0, hours: { count: 0, median: 0, most: 0 } };
/** Seeds that the limits were not fitted on: those were 1 to 20,000. */
const SEED = 1_000_000;
const BEFORE = 2_000_000;
const HOUR_MS = 3_600_000;

const series = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);
const shareOf = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;

/** What the ledger knows of sessions that were played before. */
function usualOf(sessions: Played[]): Usual {
  const hours = sessions.flatMap(({ turns }) => {
    const byHour = new Map<number, number>();
    for (const { at, costNanoUsd } of turns) {
      const hour = Math.floor(at / HOUR_MS);
      byHour.set(hour, (byHour.get(hour) ?? 0) + costNanoUsd);
    }
    return [...byHour.values()];
  });
  const peaks = sessions.map(({ turns }) => {
    const watch = createSessionWatch();
    for (const turn of turns) watch.note('', turn, () => NOTHING);
    return watch.peaks('') ?? { repeats: 0, failures: 0 };
  });
  return {
    repeats: shareOf(
      peaks.map(({ repeats }) => repeats),
      0.99,
    ),
    failures: shareOf(
      peaks.map(({ failures }) => failures),
      0.99,
    ),
    hours: { count: hours.length, median: shareOf(hours, 0.5), most: shareOf(hours, 0.99) },
  };
}

/** The turn in which a session is found, and why. */
function found(turns: readonly Turn[], usual: Usual): { turn: number; runaway: Runaway } | undefined {
  const watch = createSessionWatch();
  for (const [turn, each] of turns.entries()) {
    const runaway = watch.note('', each, () => usual);
    if (runaway) return { turn, runaway };
  }
  return undefined;
}

describe('of played sessions', () => {
  const usual = usualOf(series(BEFORE, 400).map(playOrdinary));

  test.each([
    ['with a month of sessions before', usual],
    ['on its first day', NOTHING],
  ])('of 1,000 ordinary ones at most one is taken for a runaway, %s', (_when, known) => {
    const wrong = series(SEED, 1_000)
      .map(playOrdinary)
      .flatMap(({ kind, turns }) => {
        const alarm = found(turns, known);
        return alarm ? [`${kind}: ${alarm.runaway.message}`] : [];
      });
    expect(wrong.length, wrong.join('\n')).toBeLessThanOrEqual(1);
  });

  test('of 270 that run away, of nine kinds, 95 % are found, and none before', () => {
    const missed = series(SEED, 270)
      .map(playRunaway)
      .flatMap(({ kind, turns, from }) => {
        const alarm = found(turns, usual);
        return alarm && alarm.turn >= from ? [] : [`${kind}: ${alarm?.turn ?? 'never'} of ${from}`];
      });
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(13);
  });
});

describe('of public reports', () => {
  const SECOND = 1_000;
  /** Turns of one session, `every` seconds apart, each with 200,000 cached tokens at $0.10. */
  const turns = (count: number, turn: (i: number) => Partial<Turn>, every = 8): Turn[] =>
    Array.from({ length: count }, (_, i) => ({
      startedAt: i * every * SECOND,
      at: (i * every + 6) * SECOND,
      inputTokens: 200_000 + i,
      costNanoUsd: 100_000_000,
      hash: `turn ${i}`,
      tool: 'ok' as const,
      ...turn(i),
    }));
  const foundIn = (played: Turn[], usual = NOTHING) => found(played, usual)?.turn;

  test('220 calls that do nothing, 8 s apart, are found within four minutes (earendil-works/pi#9637)', () => {
    expect(foundIn(turns(220, () => ({ hash: 'noop' })))).toBe(28);
  });

  test('an edit that fails as before is found (anthropics/claude-code#30150)', () => {
    expect(foundIn(turns(60, () => ({ hash: 'not found', tool: 'failed' })))).toBeLessThan(30);
  });

  test('a few looks at the same folder are not a loop (earendil-works/pi#6158)', () => {
    expect(foundIn(turns(40, (i) => (i % 20 < 11 ? { hash: 'the folder' } : {})))).toBeUndefined();
  });

  test('the same calls for file after file are work (google-gemini/gemini-cli#5873, #8234)', () => {
    const moved = (i: number) => (i % 3 === 1 ? { hash: 'moved' } : {});
    expect(foundIn(turns(300, moved))).toBeUndefined();
  });

  test('steps of a debugger, and polls whose results go on, are work (google-gemini/gemini-cli#9276, fastclaw-ai/fastclaw#80)', () => {
    expect(foundIn(turns(400, (i) => ({ hash: `line ${i}` })))).toBeUndefined();
  });

  test('a program that waits for the same result is no loop', () => {
    expect(foundIn(turns(100, () => ({ hash: 'still running' }), 60))).toBeUndefined();
  });

  test('a session of $124 an hour is found where others cost $9 (littlebearapps/untether#702)', () => {
    const usual = { ...NOTHING, hours: { count: 200, median: 9e9, most: 20e9 } };
    expect(
      foundIn(
        turns(400, () => ({ costNanoUsd: 300_000_000 })),
        usual,
      ),
    ).toBeLessThan(300);
  });
});
