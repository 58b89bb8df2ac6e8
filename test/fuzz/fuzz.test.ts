import { describe, expect, onTestFinished, test } from 'vitest';
import { fuzzClients } from './clients.ts';
import { diceOf } from './dice.ts';
import { fuzzProviders } from './providers.ts';
import { startRound } from './round.ts';

const SEED = Number(process.env.GW_SEED ?? 21);
/** Cases of each side. A client's case has one to four requests. */
const RUNS = Number(process.env.GW_FUZZ_CASES ?? (process.env.GW_LONG ? 500_000 : 200));
/** The first case, to repeat a round. */
const FROM = Number(process.env.GW_FUZZ_FROM ?? 0);
const A_ROUND = 600;
const LOGS = RUNS > 10 * A_ROUND;

describe.each([
  ['clients', fuzzClients, 60_000],
  ['providers', fuzzProviders, 300],
] as const)('%s that break every rule', (side, fuzz, timeoutMs) => {
  test(`${RUNS} cases: no crash, no open hold, no lost record, no cap passed, no secret told`, async () => {
    const found: string[] = [];
    const startedMs = performance.now();
    for (let from = FROM; from < FROM + RUNS; from += A_ROUND) {
      const undos: (() => Promise<void>)[] = [];
      const capUsd = diceOf(SEED, -from - 2).pick([0.05, 1_000_000, 1_000_000]);
      const round = await startRound({ capUsd, timeoutMs, whenDone: (undo) => void undos.push(undo) });
      const cases = Array.from({ length: Math.min(A_ROUND, FROM + RUNS - from) }, (_, i) => from + i);
      const problems = await fuzz(round, SEED, cases);
      for (const undo of undos.reverse()) await undo().catch((error) => problems.push(String(error)));
      if (process.env.GW_FZ)
        process.stderr.write(`at ${from} ${problems.length} ${Math.round(performance.now())}\n`);
      found.push(...problems.map((problem) => `round from case ${from}: ${problem}`));
      const seconds = Math.round((performance.now() - startedMs) / 1000);
      if (LOGS && (found.length > 20 || (from - FROM) % (50 * A_ROUND) === 0))
        console.log(`${side}: ${from - FROM + cases.length} cases in ${seconds} s, ${found.length} problems`);
      if (found.length > 20) break;
    }
    expect(found.slice(0, 20), `GW_SEED=${SEED}`).toEqual([]);
  }, 7_200_000);
});

test.each([
  [
    'records are lost',
    'CREATE TRIGGER planted AFTER UPDATE ON journal BEGIN DELETE FROM journal WHERE id = NEW.id; END',
    /not on record/,
  ],
  [
    'an output token too many is booked',
    'CREATE TRIGGER planted AFTER UPDATE OF output_tokens ON journal WHEN NEW.output_tokens = 5 BEGIN UPDATE journal SET output_tokens = 6 WHERE id = NEW.id; END',
    /was booked at 7\/6/,
  ],
])('the campaign notices when %s', async (_what, planted, expected) => {
  const round = await startRound({ capUsd: 1_000_000, whenDone: onTestFinished });
  round.gateway.db.exec(planted);
  const problems = await fuzzClients(
    round,
    SEED,
    Array.from({ length: 40 }, (_, i) => i),
  );
  expect(problems.join('\n')).toMatch(expected);
});
