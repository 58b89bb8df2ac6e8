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
